// Whether ranks that meet in a collective mean the same one.
#pragma once

#include <string>

#include "backends/communicator.hpp"

namespace strobe {

/// What one rank tells another about the collective that it has entered. Plain bytes.
struct CallSummary {
  std::int64_t rows = 0;  // that the sender of the summary has for its receiver; bytes of a message
  std::int64_t columns = 0;
  std::int32_t kind = 0;
  std::int32_t type = 0;
  std::int32_t root = 0;
  std::int32_t tag = 0;
  std::int64_t reduction = 0;  // of an all_reduce
};

/// The summary of `collective` for rank `to`.
CallSummary summary_for(const Collective& collective, int to);

/// How the collective `own` of rank `self` disagrees with the one that rank `peer` has entered, naming both, or "".
std::string disagreement(const Collective& own, int self, const CallSummary& theirs, int peer);

}  // namespace strobe
