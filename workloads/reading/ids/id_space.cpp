// Separates the two sides of a bipartite graph whose file numbers each side from its own beginning.
// Returns vertices with the sources first, each side by ascending id; an id that occurs on both sides becomes two
// vertices (both get its label). Original ids of targets are the file's plus (largest source id + 1), so they stay
// distinct. Vertex features of a file with two sides are its targets'. Invariant: no event joins a vertex to itself
// afterwards. Cost: O(E + V).
#include "workloads/reading/ids/id_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "core/errors.hpp"
#include "workloads/reading/ids/vertex_names.hpp"
#include "workloads/storage/growing_column.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {
namespace {

/// The vertices of one side and their numbers after separation.
struct IdSide {
  std::vector<VertexId> number;   // [vertices], -1 where a vertex is not on this side
  std::vector<VertexId> members;  // ascending
};

IdSide find_side(std::span<const VertexId> ends, std::int64_t vertices, VertexId first) {
  IdSide side;
  side.number.assign(vertices, -1);
  for (const VertexId v : ends) side.number[v] = 0;
  for (std::size_t v = 0; v < side.number.size(); ++v) {
    if (side.number[v] != 0) continue;
    side.number[v] = first + static_cast<VertexId>(side.members.size());
    side.members.push_back(static_cast<VertexId>(v));
  }
  return side;
}

/// `first_name` is where the names of this side begin in `from.vertex_name` (workloads/graph/graph.hpp).
void add_side(const IdSide& side, std::int64_t offset, std::size_t first_name, const EventGraph& from, EventGraph& to,
              NameWriter& names) {
  for (const VertexId v : side.members) {
    if (!from.vertex_name.empty()) names.add(from.vertex_name[first_name + static_cast<std::size_t>(v)]);
    to.original_id.push_back(from.original_id[v] + offset);
    if (!from.vertex_label.empty()) to.vertex_label.push_back(from.vertex_label[v]);
  }
}

/// Timed labels stay with the source where a vertex is on both sides: users have them, in files with two sides.
void move_labels(const IdSide& sources, const IdSide& targets, TimedLabels& labels) {
  GrowingColumn<VertexId> moved;
  moved.reserve(labels.vertex.size());
  for (const VertexId v : labels.vertex) {
    const VertexId source = sources.number[v];
    moved.push_back(source >= 0 ? source : targets.number[v]);
  }
  labels.vertex = moved.finish();
}

/// Vertex features of the separated sides. A file with two sides describes its targets: its sources get zeros.
Column<float> separate_features(const EventGraph& graph, const IdSide& sources, const IdSide& targets) {
  const std::size_t width = graph.vertex_feature_width;
  GrowingColumn<float> features;
  features.reserve((sources.members.size() + targets.members.size()) * width);
  for (const IdSide* side : {&sources, &targets}) {
    for (const VertexId v : side->members) {
      const float* row = graph.vertex_features.data() + static_cast<std::size_t>(v) * width;
      if (side == &sources && graph.two_sided)
        features.resize(features.size() + width);
      else
        features.append(row, width);
    }
  }
  return features.finish();
}

void separate_sides(EventGraph& graph, const std::string& path) {
  if (graph.events() == 0) return;
  constexpr std::int64_t largest_vertex = std::numeric_limits<VertexId>::max();
  const std::int64_t separate = graph.vertices + ids_on_both_sides(graph);
  if (separate > largest_vertex)
    throw InvalidInput(path, 0, 0, "the two sides have more than 2^31 - 1 vertices together");
  const IdSide sources = find_side(graph.source, graph.vertices, 0);
  const IdSide targets = find_side(graph.target, graph.vertices, static_cast<VertexId>(sources.members.size()));
  const std::int64_t on_a_side = sources.members.size() + targets.members.size();
  if (on_a_side != separate)
    throw InvalidRequest(
        "ids",
        fmt::format(
            "ids=offset separates sources from targets, and {} vertices of {} are neither, because no event has them",
            separate - on_a_side, path));
  const auto id_of = [&](VertexId v) { return graph.original_id[v]; };
  const std::int64_t largest_source = id_of(sources.members.back()), largest_target = id_of(targets.members.back());
  if (largest_target > std::numeric_limits<std::int64_t>::max() - 1 - largest_source)
    throw InvalidInput(path, 0, 0, "the vertex ids of the two sides do not fit 63 bits together");
  EventGraph sides;
  NameWriter names;
  add_side(sources, 0, 0, graph, sides, names);
  add_side(targets, largest_source + 1, names_by_side(graph) ? static_cast<std::size_t>(graph.vertices) : 0, graph,
           sides, names);
  renumber_ends(graph.source, sources.number);
  renumber_ends(graph.target, targets.number);
  move_labels(sources, targets, graph.timed_labels);
  if (graph.vertex_feature_width > 0) graph.vertex_features = separate_features(graph, sources, targets);
  graph.original_id = std::move(sides.original_id);
  graph.vertex_label = std::move(sides.vertex_label);
  graph.vertex_name = names.finish();
  graph.vertices = separate;
  graph.provenance.self_loops = 0;
}

}  // namespace

std::int64_t ids_on_both_sides(const EventGraph& graph) {
  std::vector<bool> is_source(graph.vertices, false), counted = is_source;
  for (const VertexId v : graph.source) is_source[v] = true;
  std::int64_t both = 0;
  for (const VertexId v : graph.target) {
    const std::size_t at = v;
    both += is_source[at] && !counted[at];
    counted[at] = true;
  }
  return both;
}

void settle_ids(EventGraph& graph, const std::string& ids, const std::string& path) {
  if (ids != "auto" && ids != "shared" && ids != "offset")
    throw InvalidRequest("ids", unknown_name_message("id space", ids, {"auto", "shared", "offset"}));
  if (graph.provenance.ids == "offset") {
    if (ids == "shared")
      throw InvalidRequest("ids", path + " was written with the two sides separated; read its source again");
    return;
  }
  const bool offset = ids == "offset" || (ids == "auto" && graph.two_sided);
  if (graph.two_sided || offset) {
    graph.provenance.notes.push_back(
        fmt::format("ids={}: {}; {} ids occur on both sides", offset ? "offset" : "shared",
                    offset ? "the target ids were moved after the source ids" : "equal ids are one vertex",
                    ids_on_both_sides(graph)));
  }
  if (!offset) join_names_of_sides(graph);
  if (!offset) return;
  separate_sides(graph, path);
  graph.provenance.ids = "offset";
}

}  // namespace strobe
