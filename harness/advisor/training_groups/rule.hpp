// DistTGL's rule for i x j x k (Zhou et al., SC'23, section 3.2.4, as decisions 7.1 read it): a pure function of what
// batches lose, where a GPU saturates, and what machines hold.
//
// One GPU's batch is as large as saturates it, i GPUs share a batch no larger than may be lost by, k copies of the
// memory are as many as machines hold, because memory parallelism converges best, and j is what is left. Ranks that
// share a copy lie within a machine and machines hold equally many copies, so i j divides q and p divides k. Where a
// number does not divide, the largest one below that does is taken: first for i, then for k.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/event_batches/batches/batch_order.hpp"

namespace strobe {

/// Inputs of the rule; batches are in events.
struct GroupLimits {
  std::int64_t largest_batch = 1;      // that loses no more than is allowed (bs_max)
  std::int64_t saturating_batch = 1;   // from which a larger one makes a GPU hardly faster (bs_local)
  std::int64_t machines = 1;           // p
  std::int64_t gpus = 1;               // of a machine (q)
  std::optional<std::int64_t> copies;  // of the memory that a machine holds (c); nothing: any number
};

struct GroupChoice {
  std::optional<TrainingGroups> groups;  // nothing where not even one copy fits a machine
  std::int64_t local_batch = 1;          // events of a rank and iteration
  std::vector<std::string> why;          // one sentence for the batch, i, k and j each
};

/// Events of a rank and iteration: the saturating batch, or the largest one where that is smaller.
std::int64_t local_batch_of(const GroupLimits& limits);

/// i: the largest divisor of q with i x local batch <= largest batch; at least 1.
std::int64_t ranks_of_batch(const GroupLimits& limits);

/// The rule. All of `limits` are at least 1, but `copies` may be 0. Cost: O(gpus).
GroupChoice choose_groups(const GroupLimits& limits);

}  // namespace strobe
