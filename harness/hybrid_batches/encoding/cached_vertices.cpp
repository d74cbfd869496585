// Follows hops back from the last layer to the first, each through the rows of all steps. A state or a window passes
// values from step to step, so a path may continue at any of them (reading D20 of the project's decisions).
#include "harness/hybrid_batches/encoding/cached_vertices.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace strobe {
namespace {

class UnionReach {
 public:
  UnionReach(const BatchSource& source, const std::vector<Rank>& owner, Rank rank, std::int64_t steps)
      : source_(source), steps_(steps), reached_(owner.size()), with_row_(1 + source.supports.size()) {
    for (std::size_t v = 0; v < owner.size(); ++v)
      if (owner[v] == rank) add(static_cast<VertexId>(v));
    owned_ = vertices_.size();
  }

  void add_wanted(const std::vector<VertexId>& vertices) {
    for (const VertexId v : vertices) add(v);
  }

  /// Goes back over all layers, from the last to the first. A layer whose state passes through its own products repeats
  /// its hops, up to once for each step of a batch.
  void go_back(std::int64_t window) {
    for (std::size_t l = source_.layers.size(); l-- > 0;) {
      const LayerReads& layer = source_.layers[l];
      const bool through_steps =
          source_.frontier == FrontierKind::exact && layer.earlier > 0 && !layer.products.empty();
      std::size_t before = vertices_.size() + 1;
      for (std::int64_t i = 0; i < (through_steps ? window : 1) && before != vertices_.size(); ++i) {
        before = vertices_.size();
        for (std::size_t p = layer.products.size(); p-- > 0;) {
          const std::size_t rows = vertices_.size();
          for (const int support : layer.products[p]) hop(1 + static_cast<std::size_t>(support), rows);
        }
      }
      if (layer.neighbours) hop(0, vertices_.size());
    }
  }

  CachedVertices result() const {
    CachedVertices result;
    result.owned.assign(vertices_.begin(), vertices_.begin() + static_cast<std::ptrdiff_t>(owned_));
    result.cached.assign(vertices_.begin() + static_cast<std::ptrdiff_t>(owned_), vertices_.end());
    std::sort(result.cached.begin(), result.cached.end());
    for (const VertexId v : result.owned) result.owned_feature_bytes += feature_bytes(v);
    for (const VertexId v : result.cached) result.cached_feature_bytes += feature_bytes(v);
    for (std::size_t m = 0; m < with_row_.size(); ++m) {
      for (std::size_t i = 0; i < with_row_[m]; ++i)
        (i < owned_ ? result.owned_structure_bytes : result.cached_structure_bytes) += row_bytes(m, vertices_[i]);
    }
    return result;
  }

 private:
  const PreparedGraph& matrix(std::size_t m) const { return m == 0 ? *source_.inputs : *source_.supports[m - 1]; }

  void add(VertexId v) {
    if (reached_[v]) return;
    reached_[v] = true;
    vertices_.push_back(v);
  }

  /// Adds the columns of the rows of the first `count` vertices, at all steps.
  void hop(std::size_t m, std::size_t count) {
    const PreparedGraph& graph = matrix(m);
    for (std::size_t i = with_row_[m]; i < count; ++i) {
      const VertexId v = vertices_[i];
      for (std::int64_t t = 0; t < steps_; ++t) {
        const std::int64_t* row = graph.row_offsets.data() + t * graph.vertices + v;
        for (std::int64_t e = row[0]; e < row[1]; ++e) add(graph.columns[e]);
      }
    }
    with_row_[m] = std::max(with_row_[m], count);
  }

  std::uint64_t value_bytes(const PreparedGraph& graph) const {
    return graph.values64.empty() ? sizeof(float) : sizeof(double);
  }
  /// Bytes of one vertex at all steps at which it exists.
  std::uint64_t feature_bytes(VertexId v) const {
    const PreparedGraph& graph = *source_.inputs;
    const std::uint64_t value = graph.features64.empty() ? sizeof(float) : sizeof(double);
    std::int64_t cells = steps_;
    for (Step t = 0; graph.presence != nullptr && t < steps_; ++t) cells -= graph.presence->exists(v, t) ? 0 : 1;
    return static_cast<std::uint64_t>(cells * graph.cell_width()) * value;
  }
  std::uint64_t row_bytes(std::size_t m, VertexId v) const {
    const PreparedGraph& graph = matrix(m);
    std::int64_t entries = 0;
    for (std::int64_t t = 0; t < steps_; ++t) {
      const std::int64_t* row = graph.row_offsets.data() + t * graph.vertices + v;
      entries += row[1] - row[0];
    }
    return static_cast<std::uint64_t>(steps_) * sizeof(std::int64_t) +
           static_cast<std::uint64_t>(entries) * (sizeof(VertexId) + value_bytes(graph));
  }

  const BatchSource& source_;
  std::int64_t steps_;
  std::vector<bool> reached_;
  std::vector<VertexId> vertices_;  // in the order in which they were reached, owned ones first
  std::size_t owned_ = 0;
  std::vector<std::size_t> with_row_;  // for each matrix, the number of first vertices whose columns have been added
};

}  // namespace

CachedVertices cached_vertices(const BatchSource& source, const std::vector<Rank>& owner, Rank rank,
                               const std::vector<VertexId>& others, std::int64_t steps, std::int64_t window) {
  if (!source.inputs->has_structure()) {
    throw InvalidRequest(
        "/workload",
        "vertices that ranks keep of each other follow from edges, and this workload is known by its shape "
        "only; take a data set or a generator");
  }
  if (static_cast<std::int64_t>(owner.size()) != source.inputs->vertices || steps > source.inputs->steps)
    throw Error("the owners are not those of the graph's vertices, or there are more steps than it has");
  UnionReach reach(source, owner, rank, steps);
  reach.add_wanted(others);
  reach.go_back(window);
  return reach.result();
}

std::vector<VertexId> others_of(const Samples& samples, const std::vector<Rank>& owner, Rank rank) {
  const auto owner_of = [&](std::size_t sample, std::size_t k) {
    return owner[samples.vertices[sample * static_cast<std::size_t>(samples.arity) + k]];
  };
  std::vector<VertexId> others;
  for (std::size_t i = 0; i < samples.step.size(); ++i) {
    const std::int32_t edge = samples.candidate_of.empty() ? -1 : samples.candidate_of[i];
    if (owner_of(edge < 0 ? i : static_cast<std::size_t>(edge), 0) != rank) continue;
    for (std::size_t k = 0; k < static_cast<std::size_t>(samples.arity); ++k)
      if (owner_of(i, k) != rank) others.push_back(samples.vertices[i * static_cast<std::size_t>(samples.arity) + k]);
  }
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  return others;
}

double duplication(const std::vector<CachedVertices>& ranks, std::int64_t vertices) {
  std::size_t held = 0;
  for (const CachedVertices& rank : ranks) held += rank.owned.size() + rank.cached.size();
  return static_cast<double>(held) / static_cast<double>(vertices);
}

}  // namespace strobe
