// Marks each vertex as source or target, and gives up at the first one that is both.
#include "workloads/graph/sides.hpp"

namespace strobe {
namespace {

constexpr std::int8_t unseen = -1, source_side = 0, target_side = 1;

class Sides {
 public:
  explicit Sides(std::int64_t vertices) : side_(static_cast<std::size_t>(vertices), unseen) {}

  /// False when a vertex is found to be both.
  bool add(VertexId source, VertexId target) { return mark(source, source_side) && mark(target, target_side); }
  std::vector<std::int8_t> take() { return std::move(side_); }

 private:
  bool mark(VertexId vertex, std::int8_t side) {
    std::int8_t& known = side_[vertex];
    if (known == unseen) known = side;
    return known == side;
  }

  std::vector<std::int8_t> side_;
};

}  // namespace

EventSides sides_of(const EventGraph& events) {
  Sides sides(events.vertices);
  for (std::size_t e = 0; e < events.source.size(); ++e) {
    if (!sides.add(events.source[e], events.target[e])) return {};
  }
  return sides.take();
}

EventSides sides_of_steps(const SnapshotGraph& graph) {
  if (graph.orientation == "both") return {};
  const bool rows_are_targets = graph.orientation == "in";
  Sides sides(graph.vertices);
  const Snapshot* seen = nullptr;  // steps of a static graph share one snapshot
  for (const auto& snapshot : graph.snapshots) {
    if (snapshot.get() == seen) continue;
    seen = snapshot.get();
    for (std::size_t v = 0; v < static_cast<std::size_t>(graph.vertices); ++v) {
      for (std::int64_t i = snapshot->row_offsets[v]; i < snapshot->row_offsets[v + 1]; ++i) {
        const VertexId row = static_cast<VertexId>(v), column = snapshot->columns[i];
        if (!(rows_are_targets ? sides.add(column, row) : sides.add(row, column))) return {};
      }
    }
  }
  return sides.take();
}

}  // namespace strobe
