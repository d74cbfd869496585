// DistTGL's rule for i x j x k (Zhou et al., SC'23, section 3.2.4, read as in decisions 7.1). It is a pure function of
// the batches' losses, the saturation of a GPU, and the memory of machines.
//
// One GPU's batch saturates it. i GPUs share a batch, as large as the loss limit allows. There are as many copies k of
// the memory as machines hold, because memory parallelism converges best; j is the rest. Ranks that share a copy are on
// one machine, and machines hold equally many copies, so i j divides q and p divides k. If a number does not divide,
// the rule takes the next smaller number that does: first for i, then for k.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/event_batches/batches/batch_order.hpp"

namespace strobe {

/// Inputs of the rule; batches are in events.
struct GroupLimits {
  std::int64_t largest_batch = 1;      // with a loss within the limit (bs_max)
  std::int64_t saturating_batch = 1;   // a larger one hardly speeds up a GPU (bs_local)
  std::int64_t machines = 1;           // p
  std::int64_t gpus = 1;               // in a machine (q)
  std::optional<std::int64_t> copies;  // of the memory in a machine (c); nothing: any number
};

struct GroupChoice {
  std::optional<TrainingGroups> groups;  // nothing if not even one copy fits a machine
  std::int64_t local_batch = 1;          // events per rank and iteration
  std::vector<std::string> why;          // one sentence each for the batch, i, k and j
};

/// Events per rank and iteration: the smaller of the saturating and the largest batch.
std::int64_t local_batch_of(const GroupLimits& limits);

/// i: the largest divisor of q with i x local batch <= largest batch; at least 1.
std::int64_t ranks_of_batch(const GroupLimits& limits);

/// Applies the rule. All of `limits` are at least 1, except that `copies` may be 0. Cost: O(gpus).
GroupChoice choose_groups(const GroupLimits& limits);

}  // namespace strobe
