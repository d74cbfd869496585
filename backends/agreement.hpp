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
  std::int64_t choice = 0;  // an all_reduce's reduction; the fingerprint of a split's groups
};

/// The summary of `collective` for rank `to`.
CallSummary summary_for(const Collective& collective, int to);

/// The summary of a collective in which the receiver is not: of another kind than its own, whatever rows it has.
CallSummary kind_summary(const Collective& collective);

/// How the collective `own` of rank `self` disagrees with the one that rank `peer` has entered, naming both as ranks of
/// the launch, or "". `members` are the communicator's.
std::string disagreement(const Collective& own, int self, const CallSummary& theirs, int peer,
                         const MemberRanks& members);

/// The name of a collective for messages; ranks that split meet in a barrier.
std::string_view call_name(CollectiveKind kind, bool splits);

/// Stands for groups; never 0. Other groups have another one, but for a chance of about 2^-64.
std::uint64_t fingerprint(const RankGroups& groups);

}  // namespace strobe
