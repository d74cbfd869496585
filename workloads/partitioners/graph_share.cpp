#include "workloads/partitioners/graph_share.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "workloads/partitioners/partitioning.hpp"
#include "workloads/partitioners/row_share.hpp"

namespace strobe {

GraphShare share_of(const PreparedGraph& graph, const ShareHolders& holders) {
  const auto rows = std::make_shared<const RowShare>(row_share(graph, holders));
  const Run own = rows->own;
  const std::vector<std::int64_t> work = vertex_work(graph, own);
  GraphShare share{graph.vertices, own, std::accumulate(work.begin(), work.end(), std::int64_t{0}), 0, {}, {}, holders};
  share.edges = share.work - graph.steps * own.count;
  for (std::int64_t t = 0; t < graph.steps; ++t) {
    const std::int64_t* row = graph.row_offsets.data() + t * graph.vertices + own.first;
    for (auto v = static_cast<VertexId>(own.first); v < own.first + own.count; ++v, ++row) {
      const VertexId* columns = graph.columns.data();
      share.edges -= std::binary_search(columns + row[0], columns + row[1], v) ? 1 : 0;
    }
  }
  share.lists = [rows](Run vertices) { return merged_lists(*rows, vertices); };
  share.nets = [rows] { return communication_hypergraph(*rows); };
  return share;
}

}  // namespace strobe
