// Sums over ranks for models, on a communicator.
#pragma once

#include "backends/communicator.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

class CommunicatorSums final : public RankSums {
 public:
  explicit CommunicatorSums(Communicator& communicator) : communicator_(communicator) {}
  int ranks() const override { return communicator_.size(); }
  int rank() const override { return communicator_.rank(); }
  Var sum(Tape& tape, const Var& part) const override;

 private:
  Communicator& communicator_;
};

}  // namespace strobe
