// Halos of a graph that is known by its shape only: how many cells cross, not which.
#pragma once

#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "harness/full_batch/exchange/placed_samples.hpp"

namespace strobe {

/// Expected halo rows per rank and step. Model: at each step the vertices are dealt evenly, and independently of the
/// edges, to the G ranks that own some. So (G - 1) (1 - (1 - 1/G)^k) other ranks need a cell with k readers. These
/// needs fall on ranks in proportion to the vertices that they own. The model is right for a hash partition, and for
/// ranges of ids that say nothing about edges. Step t of the placement is the graph's step first_step + t. Cost
/// O(owners of each step + bins).
HaloNeeds counted_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step);

/// The exchange that brings `needs.counted`: every other owner sends in proportion to its vertices. Time O(P^2) for
/// every map with needs. Memory O(P) for each, because no pair is stored.
ExchangePlan counted_halo(const Placement& placement, const HaloNeeds& needs);

/// Places the counted samples that read one of `steps` (ascending). Step i of `placement` is steps[i]. A sample lives
/// with the owner of its first vertex. That rank needs the other vertex of a pair once per step. Take a vertex with k
/// incoming edges, each drawn with probability s, and n uniform pairs over N vertices: (G - 1) (1 - (1 - s/G)^k (1 -
/// 1/(G N))^n) ranks need it. `in_degree` has one value per cell. Cost O(T P + bins).
PlacedSamples place_counted_samples(const CountedSamples& samples, const Histogram& in_degree,
                                    const Placement& placement, const std::vector<Step>& steps);

}  // namespace strobe
