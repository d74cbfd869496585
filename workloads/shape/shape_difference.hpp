// How snapshots of a shape differ from one step to the next: what graph differences cost where there is no graph.
#pragma once

#include <string>
#include <vector>

#include "workloads/preparation/graph_difference.hpp"
#include "workloads/shape/shape.hpp"

namespace strobe {

/// Entries of step t - 1 that step t lacks, after uniting the last `window` snapshots: [n]. `counts` [n], n <= T, are
/// the entries of the united steps. They include the diagonal when `diagonal` says that a Laplacian adds it; the
/// diagonal stays. Where the shape knows how long edges live, sums over steps are exact: an edge leaves `window` steps
/// after its last occurrence. Otherwise, for window 1, the shape's overlap is used. Otherwise a note says that no edge
/// is assumed to appear again, which bounds differences from above (decisions section 2.4). Cost O(T).
std::vector<std::int64_t> removed_entries(const GraphStatistics& shape, std::int64_t window, bool diagonal,
                                          const std::vector<std::int64_t>& counts, std::vector<std::string>& notes);

/// The counts of each pair of steps of a graph that is known by its counts; `removed` [T] of its entries leave.
/// `changed` is 0, since no values are known. Throws InvalidRequest("/transfer") when a pair does not follow step by
/// step.
std::vector<DifferenceSizes> counted_differences(const PreparedGraph& graph, const std::vector<std::int64_t>& removed,
                                                 const std::vector<StepPair>& pairs);

}  // namespace strobe
