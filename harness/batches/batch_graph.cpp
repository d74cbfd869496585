#include "harness/batches/batch_graph.hpp"

#include <algorithm>

namespace strobe {
namespace {

/// One matrix of the whole graph, cut to a batch.
class Cut {
 public:
  Cut(const PreparedGraph& whole, const Frontier& frontier, Run steps, const BatchScratch& scratch)
      : whole_(whole), frontier_(frontier), steps_(steps), scratch_(scratch) {}

  /// The rows that the batch has of matrix `matrix` (StepFrontier::with_row).
  PreparedGraph entries(std::size_t matrix) const {
    PreparedGraph cut;
    cut.vertices = static_cast<std::int64_t>(frontier_.field.size());
    cut.steps = steps_.count;
    count_entries(matrix, cut);
    cut.columns.resize(static_cast<std::size_t>(cut.row_offsets.back()));
    for (std::int64_t t = 0; t < steps_.count; ++t) copy_columns(matrix, t, cut);
    copy_values(matrix, whole_.values32, cut.row_offsets, cut.values32);
    copy_values(matrix, whole_.values64, cut.row_offsets, cut.values64);
    return cut;
  }

  /// Adds X and A~ X of the field's cells.
  void add_features(PreparedGraph& cut) const {
    cut.feature_width = whole_.feature_width;
    cut.first_product_done = whole_.first_product_done;
    cut.features_kept = whole_.features_kept;
    gather(whole_.features32, cut.features32);
    gather(whole_.features64, cut.features64);
    gather(whole_.products32, cut.products32);
    gather(whole_.products64, cut.products64);
  }

  /// Sequences go on where they began before the batch's first step.
  void add_presence(PreparedGraph& cut) const {
    if (whole_.presence == nullptr) return;
    std::vector<std::int32_t> begins;
    begins.reserve(static_cast<std::size_t>(steps_.count) * frontier_.field.size());
    for (std::int64_t t = 0; t < steps_.count; ++t) {
      for (const VertexId v : frontier_.field) {
        const std::int32_t begin = whole_.presence->begin(v, static_cast<Step>(steps_.first + t));
        begins.push_back(begin < 0 ? -1 : std::max(0, begin - static_cast<std::int32_t>(steps_.first)));
      }
    }
    cut.presence = std::make_shared<const Presence>(cut.vertices, std::move(begins));
  }

 private:
  /// Row offsets of the whole graph's step that is the batch's t.
  const std::int64_t* whole_offsets(std::int64_t t) const {
    return whole_.row_offsets.data() + (steps_.first + t) * whole_.vertices;
  }

  /// visit(vertex, row of the batch at its step t) for the rows that have entries.
  template <class Visit>
  void for_rows(std::size_t matrix, std::int64_t t, const Visit& visit) const {
    const StepFrontier& step = frontier_.steps[static_cast<std::size_t>(t)];
    const std::int32_t* rows = step.rows.data();
    for (std::int64_t i = 0; i < step.with_row[matrix]; ++i)
      visit(frontier_.field[static_cast<std::size_t>(rows[i])], static_cast<std::size_t>(rows[i]));
  }

  void count_entries(std::size_t matrix, PreparedGraph& cut) const {
    cut.row_offsets.assign(static_cast<std::size_t>(cut.steps * cut.vertices) + 1, 0);
    for (std::int64_t t = 0; t < steps_.count; ++t) {
      const std::int64_t* offsets = whole_offsets(t);
      std::int64_t* counts = cut.row_offsets.data() + t * cut.vertices + 1;
      for_rows(matrix, t, [&](VertexId v, std::size_t row) { counts[row] = offsets[v + 1] - offsets[v]; });
    }
    for (std::size_t row = 1; row < cut.row_offsets.size(); ++row) cut.row_offsets[row] += cut.row_offsets[row - 1];
  }

  void copy_columns(std::size_t matrix, std::int64_t t, PreparedGraph& cut) const {
    const std::int64_t *offsets = whole_offsets(t), *rows = cut.row_offsets.data() + t * cut.vertices;
    const VertexId* from = whole_.columns.data();
    for_rows(matrix, t, [&](VertexId v, std::size_t row) {
      VertexId* to = cut.columns.data() + rows[row];
      for (std::int64_t e = offsets[v]; e < offsets[v + 1]; ++e) *to++ = scratch_.place(from[e]);
    });
  }

  template <class Value>
  void copy_values(std::size_t matrix, const std::vector<Value>& whole, const std::vector<std::int64_t>& row_offsets,
                   std::vector<Value>& cut) const {
    if (whole.empty()) return;
    cut.resize(static_cast<std::size_t>(row_offsets.back()));
    const auto vertices = static_cast<std::int64_t>(frontier_.field.size());
    for (std::int64_t t = 0; t < steps_.count; ++t) {
      const std::int64_t *offsets = whole_offsets(t), *rows = row_offsets.data() + t * vertices;
      for_rows(matrix, t, [&](VertexId v, std::size_t row) {
        std::copy(whole.data() + offsets[v], whole.data() + offsets[v + 1], cut.data() + rows[row]);
      });
    }
  }

  template <class Value>
  void gather(const std::vector<Value>& whole, std::vector<Value>& cut) const {
    if (whole.empty()) return;
    const std::int64_t width = whole_.feature_width;
    cut.reserve(static_cast<std::size_t>(steps_.count * width) * frontier_.field.size());
    for (std::int64_t t = 0; t < steps_.count; ++t) {
      const Value* step = whole.data() + (steps_.first + t) * whole_.vertices * width;
      for (const VertexId v : frontier_.field) cut.insert(cut.end(), step + v * width, step + (v + 1) * width);
    }
  }

  const PreparedGraph& whole_;
  const Frontier& frontier_;
  Run steps_;
  const BatchScratch& scratch_;
};

std::uint64_t matrix_bytes(const PreparedGraph& graph) {
  return graph.row_offsets.size() * sizeof(std::int64_t) + graph.columns.size() * sizeof(VertexId) +
         graph.values32.size() * sizeof(float) + graph.values64.size() * sizeof(double);
}

std::uint64_t feature_bytes(const PreparedGraph& graph) {
  return (graph.features32.size() + graph.products32.size()) * sizeof(float) +
         (graph.features64.size() + graph.products64.size()) * sizeof(double);
}

}  // namespace

std::int64_t BatchGraph::entries() const {
  std::int64_t count = inputs->nonzeros();
  for (const auto& support : supports) count += support->nonzeros();
  return count;
}

std::uint64_t BatchGraph::bytes() const {
  std::uint64_t bytes = matrix_bytes(*inputs) + feature_bytes(*inputs) + frontier.field.size() * sizeof(VertexId);
  for (const auto& support : supports) bytes += matrix_bytes(*support);
  return bytes;
}

BatchGraph build_batch_graph(const BatchSource& source, const BatchCells& cells, BatchScratch& scratch) {
  BatchGraph batch;
  batch.steps = cells.steps;
  batch.frontier = batch_frontier(source, cells, scratch);
  const Cut inputs(*source.inputs, batch.frontier, cells.steps, scratch);
  PreparedGraph graph = inputs.entries(0);
  inputs.add_features(graph);
  inputs.add_presence(graph);
  for (std::size_t s = 0; s < source.supports.size(); ++s) {
    PreparedGraph support = Cut(*source.supports[s], batch.frontier, cells.steps, scratch).entries(1 + s);
    support.presence = graph.presence;
    batch.supports.push_back(std::make_shared<const PreparedGraph>(std::move(support)));
  }
  batch.inputs = std::make_shared<const PreparedGraph>(std::move(graph));
  return batch;
}

}  // namespace strobe
