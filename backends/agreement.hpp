// Checks that ranks which meet in a collective have called the same one.
#pragma once

#include <string>

#include "backends/communicator.hpp"

namespace strobe {

/// A rank's summary of the collective that it has entered, for another rank. Plain bytes.
struct CallSummary {
  std::int64_t rows = 0;  // rows that the sender of the summary has for its receiver; for a message, its bytes
  std::int64_t columns = 0;
  std::int32_t kind = 0;
  std::int32_t type = 0;
  std::int32_t root = 0;
  std::int32_t tag = 0;
  std::int64_t choice = 0;  // an all_reduce's reduction; the fingerprint of a split's groups
};

/// The summary of `collective` for rank `to`.
CallSummary summary_for(const Collective& collective, int to);

/// The summary that a receiver outside the collective gets: always of another kind than its own, whatever rows it has.
CallSummary kind_summary(const Collective& collective);

/// Describes how the collective `own` of rank `self` disagrees with the one that rank `peer` has entered, or returns
/// "". It names both as ranks of the launch. `members` are the communicator's.
std::string disagreement(const Collective& own, int self, const CallSummary& theirs, int peer,
                         const MemberRanks& members);

/// The name of a collective for messages; ranks that split meet in a barrier.
std::string_view call_name(CollectiveKind kind, bool splits);

/// A number that identifies groups; never 0. Two sets of groups get the same number with a chance of about 2^-64.
std::uint64_t fingerprint(const RankGroups& groups);

}  // namespace strobe
