// What hybrid batches take of a rank's memory, known before it trains: the graph that it keeps for them, and an update.
#pragma once

#include <cstdint>
#include <vector>

#include "core/errors.hpp"
#include "harness/hybrid_batches/hybrid_plan.hpp"

namespace strobe {

/// A rank's memory has no room for what the plan asks of it.
class NoRoom : public InvalidRequest {
 public:
  using InvalidRequest::InvalidRequest;
};

/// What each rank keeps, so that all batches of its own vertices find what they read. Cost O(P entries).
CacheSizes count_caches(const HybridPlan& plan);

/// About what one update with batches of a size takes on a rank's device, bytes: weights, the optimiser's vectors, the
/// batch, and all that its forward and backward pass keep, of the larger of two batches drawn on each of at most 4
/// ranks. Storage habits of devices are left out.
std::uint64_t update_bytes(const HybridPlan& plan, std::size_t action);

/// Refuses a plan whose ranks have no room: for an update with the largest size to choose from, or for what they keep
/// where that lies in the same memory or in that of a simulated cluster's nodes. Throws NoRoom.
void check_memory(const HybridPlan& plan);

}  // namespace strobe
