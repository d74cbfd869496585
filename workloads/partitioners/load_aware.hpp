// Loads of vertices, and vertices shared out by them (DynaHB, VLDB'24, section 4.2, Definition 2 and Algorithm 1;
// readings D1, D2, D3 and D19 of the project's decisions).
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// The loads by which vertices were assigned, and the groups that follow from the parts.
struct VertexLoads {
  Column<double> load;         // [N]
  Column<std::int32_t> group;  // [N] balanced_groups within its part
};

/// Groups of similar load in each part by default, as in DynaHB's implementation.
inline constexpr int default_load_groups = 10;

/// The load of every vertex [N] in a network of `hops` products with A, summed over all steps: sum over l in [1, hops]
/// of (hops - l + 1) times the walks of l steps that end at the vertex. Edges are the graph's entries, from column to
/// row. Edges of a vertex to itself, which A + I has for every vertex, do not count. Counts walks, as in Algorithm 1,
/// and not distinct neighbours, as in Definition 2. The two are the same where no two walks come from one vertex. Exact
/// below 2^53, and the same at every number of threads. Cost O(hops nnz + hops T N), on up to workload_threads()
/// threads.
std::vector<double> walk_loads(const PreparedGraph& graph, int hops);

/// One part in [0, parts) per vertex: vertices in descending order of load, ties in order of id, go to parts in turn;
/// with `snake` every other turn goes backwards. Cost O(N log N).
std::vector<Rank> deal_by_load(const std::vector<double>& load, int parts, bool snake);

/// The group, in [0, groups), of every vertex within its part. A part's vertices in descending order of load are cut
/// into `groups` runs of even length; the first runs are one longer where they do not divide. Cost O(N log N).
std::vector<std::int32_t> balanced_groups(const std::vector<double>& load, const std::vector<Rank>& part, int parts,
                                          int groups);

}  // namespace strobe
