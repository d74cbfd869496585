// Measures a GraphStatistics and predicts from it. Rows are visited one vertex at a time across all steps. The
// occurrences of a pair (u, v), sorted by step, show how long an edge would live under any smoothing window. Lives cut
// at w, added up per step, give the degree of a cell of the union over w steps. In-degrees come from the snapshots as
// stored, out-degrees from their transposes. Invariants: the union of w steps has sum over lives of min(life, w)
// non-zeros, exactly.
#include <algorithm>
#include <cmath>

#include "workloads/shape/shape.hpp"

namespace strobe {
namespace {

Snapshot transpose(const Snapshot& a) {
  std::vector<std::int64_t> offsets(a.row_offsets.size(), 0);
  for (const VertexId u : a.columns) ++offsets[static_cast<std::size_t>(u) + 1];
  for (std::size_t v = 1; v < offsets.size(); ++v) offsets[v] += offsets[v - 1];
  std::vector<VertexId> columns(a.columns.size());
  std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
  for (std::size_t v = 0; v + 1 < a.row_offsets.size(); ++v) {
    for (std::int64_t i = a.row_offsets[v]; i < a.row_offsets[v + 1]; ++i) {
      const std::size_t u = a.columns[i];
      columns[next[u]++] = static_cast<VertexId>(v);
    }
  }
  return {std::move(offsets), std::move(columns), {}, {}};
}

/// Degrees of cells per smoothing window, edges per vertex, and lives, from one direction of the graph.
class LifeCounter {
 public:
  LifeCounter(std::int64_t steps, const std::vector<std::int64_t>& windows)
      : steps_(steps),
        windows_(windows),
        degrees_(windows.size()),
        lives_(static_cast<std::size_t>(steps), 0),
        change_(windows.size(), std::vector<std::int64_t>(static_cast<std::size_t>(steps) + 1, 0)) {}

  /// One vertex with its (neighbour, step) occurrences, in any order.
  void add_vertex(std::vector<std::pair<VertexId, Step>>& occurrences) {
    per_vertex_.add(static_cast<std::int64_t>(occurrences.size()));
    if (occurrences.empty()) {
      for (HistogramBuilder& degrees : degrees_) degrees.add(0, steps_);
      return;
    }
    std::sort(occurrences.begin(), occurrences.end());
    for (std::size_t i = 0; i < occurrences.size(); ++i) {
      const bool again = i + 1 < occurrences.size() && occurrences[i + 1].first == occurrences[i].first;
      const std::int64_t from = occurrences[i].second, until = again ? occurrences[i + 1].second : steps_;
      ++lives_[until - from - 1];
      for (std::size_t w = 0; w < windows_.size(); ++w) {
        ++change_[w][from];
        --change_[w][std::min(until, from + windows_[w])];
      }
    }
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      std::int64_t degree = 0;
      for (std::int64_t t = 0; t < steps_; ++t) {
        degree += change_[w][t];
        degrees_[w].add(degree);
      }
      std::fill(change_[w].begin(), change_[w].end(), 0);
    }
  }

  Histogram degrees(std::size_t window) const { return degrees_[window].finish(); }
  Histogram per_vertex() const { return per_vertex_.finish(); }
  const std::vector<std::int64_t>& lives() const { return lives_; }

 private:
  std::int64_t steps_;
  std::vector<std::int64_t> windows_;
  std::vector<HistogramBuilder> degrees_;
  HistogramBuilder per_vertex_;
  std::vector<std::int64_t> lives_;                // [T]
  std::vector<std::vector<std::int64_t>> change_;  // [windows][T + 1] of the degree, from step to step
};

LifeCounter count_lives(const std::vector<std::shared_ptr<const Snapshot>>& snapshots, std::int64_t vertices,
                        const std::vector<std::int64_t>& windows) {
  LifeCounter counter(static_cast<std::int64_t>(snapshots.size()), windows);
  std::vector<std::pair<VertexId, Step>> occurrences;
  for (std::size_t v = 0; v < static_cast<std::size_t>(vertices); ++v) {
    occurrences.clear();
    for (std::size_t t = 0; t < snapshots.size(); ++t) {
      const Snapshot& snapshot = *snapshots[t];
      for (std::int64_t i = snapshot.row_offsets[v]; i < snapshot.row_offsets[v + 1]; ++i)
        occurrences.emplace_back(snapshot.columns[i], static_cast<Step>(t));
    }
    counter.add_vertex(occurrences);
  }
  return counter;
}

/// Edges, active vertices and self loops of each step, and in how many steps each vertex has an edge.
void count_steps(const SnapshotGraph& graph, GraphStatistics& shape) {
  const std::size_t vertices = graph.vertices;
  std::vector<std::int64_t> length(vertices, 0);
  std::vector<std::int64_t> last_seen(vertices, -1);
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const Snapshot& snapshot = *graph.snapshots[t];
    std::int64_t active = 0, loops = 0;
    const auto see = [&](std::size_t v) {
      if (last_seen[v] == static_cast<std::int64_t>(t)) return;
      last_seen[v] = static_cast<std::int64_t>(t);
      ++length[v], ++active;
    };
    for (std::size_t v = 0; v < vertices; ++v) {
      for (std::int64_t i = snapshot.row_offsets[v]; i < snapshot.row_offsets[v + 1]; ++i) {
        const std::size_t u = snapshot.columns[i];
        see(v), see(u);
        loops += u == v;
      }
    }
    shape.edges_per_step.push_back(snapshot.nonzeros());
    shape.active_vertices_per_step.push_back(active);
    shape.self_loops_per_step.push_back(loops);
  }
  HistogramBuilder lengths;
  for (const std::int64_t steps : length) lengths.add(steps);
  shape.sequence_length = lengths.finish();
}

}  // namespace

GraphStatistics measure_statistics(const SnapshotGraph& graph, const std::string& name,
                                   const std::vector<std::int64_t>& windows) {
  GraphStatistics shape;
  shape.name = name;
  shape.description = "measured by strobe inspect";
  shape.vertices = graph.vertices, shape.steps = graph.steps(), shape.feature_width = graph.feature_width;
  shape.edges = graph.edges();
  count_steps(graph, shape);
  shape.active_cells = 0;
  for (const std::int64_t active : shape.active_vertices_per_step) *shape.active_cells += active;
  shape.overlap_per_step = overlap_per_step(graph);
  const double overlap = mean_overlap(graph);
  if (std::isfinite(overlap)) shape.overlap_mean = overlap;
  std::vector<std::int64_t> chosen{1};
  for (const std::int64_t window : windows)
    if (window > chosen.back() && window <= graph.steps()) chosen.push_back(window);
  const LifeCounter in = count_lives(graph.snapshots, graph.vertices, chosen);
  shape.edge_lives = in.lives();
  shape.vertex_in_degree = in.per_vertex();
  std::vector<std::shared_ptr<const Snapshot>> transposed;
  for (const auto& snapshot : graph.snapshots) transposed.push_back(std::make_shared<Snapshot>(transpose(*snapshot)));
  const LifeCounter out = count_lives(transposed, graph.vertices, chosen);
  shape.vertex_out_degree = out.per_vertex();
  for (std::size_t w = 0; w < chosen.size(); ++w)
    shape.smoothed.push_back({"union", chosen[w], *smoothed_edges(shape, chosen[w]), in.degrees(w), out.degrees(w)});
  shape.sources["*"] =
      "counted by strobe inspect in " + (graph.provenance.source.empty() ? name : graph.provenance.source);
  const std::string events = "a graph of steps does not keep its events";
  for (const char* key : {"events", "edge_feature_width", "time_span_seconds"}) shape.unknown[key] = events;
  if (!shape.overlap_mean) shape.unknown["overlap_mean"] = "no two steps with edges follow each other";
  return shape;
}

std::vector<std::int64_t> step_edges(const GraphStatistics& shape) {
  if (!shape.edges_per_step.empty() || !shape.edges || !shape.steps) return shape.edges_per_step;
  std::vector<std::int64_t> even;
  for (std::int64_t t = 0; t < *shape.steps; ++t) even.push_back(even_share(*shape.edges, *shape.steps, t).count);
  return even;
}

std::optional<std::int64_t> smoothed_edges(const GraphStatistics& shape, std::int64_t window) {
  if (shape.edge_lives.empty()) return std::nullopt;
  std::int64_t edges = 0;
  for (std::size_t i = 0; i < shape.edge_lives.size(); ++i)
    edges += shape.edge_lives[i] * std::min(static_cast<std::int64_t>(i) + 1, window);
  return edges;
}

double expected_halo_rows(const Histogram& out_degree, int ranks) {
  const double others = ranks - 1, stays_away = 1.0 - 1.0 / ranks;
  double rows = 0;
  for (const Histogram::Bin& bin : out_degree.bins) {
    const double degree = static_cast<double>(bin.sum) / static_cast<double>(bin.count);
    rows += static_cast<double>(bin.count) * others * (1.0 - std::pow(stays_away, degree));
  }
  return rows;
}

}  // namespace strobe
