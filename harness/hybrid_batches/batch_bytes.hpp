// Memory of hybrid batches on a rank, known before it trains: the part of the graph that it keeps, and an update.
#pragma once

#include <cstdint>
#include <vector>

#include "core/errors.hpp"
#include "harness/hybrid_batches/hybrid_plan.hpp"

namespace strobe {

/// A rank's memory has no room for the plan.
class NoRoom : public InvalidRequest {
 public:
  using InvalidRequest::InvalidRequest;
};

/// The vertices that each rank keeps, so that all batches of its own vertices find the data they read. Cost O(P
/// entries).
CacheSizes count_caches(const HybridPlan& plan);

/// Approximate bytes on a rank's device for one update with batches of a size. They hold weights, the optimizer's
/// vectors, the batch, and everything that its forward and backward pass keep. Two batches are drawn on each of at most
/// 4 ranks, and the largest counts. Overheads of devices' allocators are left out.
std::uint64_t update_bytes(const HybridPlan& plan, std::size_t action);

/// Refuses a plan whose ranks have no room for an update with the largest size. Also refuses one without room for the
/// kept graph, if that lies in the same memory, or in the memory of a simulated cluster's nodes. Throws NoRoom.
void check_memory(const HybridPlan& plan);

}  // namespace strobe
