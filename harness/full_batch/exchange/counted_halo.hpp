// Halos of a graph of which only the shape is known: how many cells cross, not which.
#pragma once

#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "harness/full_batch/exchange/placed_samples.hpp"

namespace strobe {

/// Expected halo rows per rank and step. Model: at each step the vertices are dealt evenly and independently of the
/// edges to the ranks that own some (G of them), so a cell with k readers is needed by (G - 1) (1 - (1 - 1/G)^k) other
/// ranks; these needs fall on ranks in proportion to the vertices that they own. Right for a hash partition, and for
/// ranges of ids that say nothing about edges. Step t of the placement is the graph's step first_step + t. Cost
/// O(owners of each step + bins).
HaloNeeds counted_needs(const Placement& placement, const PreparedGraph& graph, std::int64_t first_step);

/// The exchange that brings `needs.counted`: every other owner sends in proportion to what it owns. Time O(P^2) for
/// every map of which something is needed; memory O(P) for each, as no pair is stored.
ExchangePlan counted_halo(const Placement& placement, const HaloNeeds& needs);

/// Places those samples, of which the number is known, that read one of `steps` (ascending): step i of `placement` is
/// steps[i]. A sample lives with the owner of its first vertex; the other vertex of
/// a pair is needed there once per rank and step: of a vertex with k edges into it, taken with probability s each, and
/// n uniform pairs over N vertices, by (G - 1) (1 - (1 - s/G)^k (1 - 1/(G N))^n) ranks. `in_degree` is of one value per
/// cell. Cost O(T P + bins).
PlacedSamples place_counted_samples(const CountedSamples& samples, const Histogram& in_degree,
                                    const Placement& placement, const std::vector<Step>& steps);

}  // namespace strobe
