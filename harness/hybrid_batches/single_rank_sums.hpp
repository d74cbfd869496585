// Sums over the vertices of a rank's own batch, to which no other rank adds.
#pragma once

#include "models/tape/pass.hpp"

namespace strobe {

class SingleRankSums final : public RankSums {
 public:
  int ranks() const override { return 1; }
  int rank() const override { return 0; }
  Var sum(Tape&, const Var& part) const override { return part; }
};

}  // namespace strobe
