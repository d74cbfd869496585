#include "harness/batches/batch_graph.hpp"

#include <algorithm>

namespace strobe {
namespace {

/// How many rows ahead memory is asked for: rows of the whole graph lie
/// anywhere.
constexpr std::int64_t ahead = 16;

/// One matrix of the whole graph, cut to a batch.
class Cut {
 public:
  Cut(const PreparedGraph& whole, const Frontier& frontier, Run steps, const BatchScratch& scratch)
      : whole_(whole), frontier_(frontier), steps_(steps), scratch_(scratch) {}

  /// The rows that the batch has of matrix `matrix` (StepFrontier::with_row).
  PreparedGraph entries(std::size_t matrix) {
    PreparedGraph cut;
    cut.vertices = static_cast<std::int64_t>(frontier_.field.size());
    cut.steps = steps_.count;
    list_rows(matrix, cut);
    cut.columns.resize(static_cast<std::size_t>(cut.row_offsets.back()));
    if (whole_.values32.empty()) {
      copy_rows(whole_.values64, cut, cut.values64);
    } else {
      copy_rows(whole_.values32, cut, cut.values32);
    }
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
  /// A row that has entries: its number in the batch, and where its entries lie
  /// in the whole graph.
  struct CutRow {
    std::int64_t row = 0, first = 0;
  };

  /// Lists the rows that have entries, and counts these in the batch's row
  /// offsets.
  void list_rows(std::size_t matrix, PreparedGraph& cut) {
    rows_.clear();
    cut.row_offsets.assign(static_cast<std::size_t>(cut.steps * cut.vertices) + 1, 0);
    for (std::int64_t t = 0; t < steps_.count; ++t) {
      const StepFrontier& step = frontier_.steps[static_cast<std::size_t>(t)];
      const std::int64_t* offsets = whole_.row_offsets.data() + (steps_.first + t) * whole_.vertices;
      const VertexId* field = frontier_.field.data();
      const std::int64_t count = step.with_row[matrix];
      for (std::int64_t i = 0; i < count; ++i) {
        if (i + ahead < count) __builtin_prefetch(offsets + field[step.rows[static_cast<std::size_t>(i + ahead)]]);
        const std::int32_t place = step.rows[static_cast<std::size_t>(i)];
        const std::int64_t first = offsets[field[place]], row = t * cut.vertices + place;
        cut.row_offsets[static_cast<std::size_t>(row) + 1] = offsets[field[place] + 1] - first;
        rows_.push_back({row, first});
      }
    }
    for (std::size_t row = 1; row < cut.row_offsets.size(); ++row) cut.row_offsets[row] += cut.row_offsets[row - 1];
  }

  template <class Value>
  void copy_rows(const std::vector<Value>& values, PreparedGraph& cut, std::vector<Value>& cut_values) const {
    cut_values.resize(cut.columns.size());
    const VertexId* columns = whole_.columns.data();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i + ahead < rows_.size()) {
        __builtin_prefetch(columns + rows_[i + ahead].first);
        __builtin_prefetch(values.data() + rows_[i + ahead].first);
      }
      const std::int64_t to = cut.row_offsets[static_cast<std::size_t>(rows_[i].row)];
      const std::int64_t count = cut.row_offsets[static_cast<std::size_t>(rows_[i].row) + 1] - to;
      for (std::int64_t e = 0; e < count; ++e) {
        cut.columns[static_cast<std::size_t>(to + e)] = scratch_.place(columns[rows_[i].first + e]);
        cut_values[static_cast<std::size_t>(to + e)] = values[static_cast<std::size_t>(rows_[i].first + e)];
      }
    }
  }

  template <class Value>
  void gather(const std::vector<Value>& whole, std::vector<Value>& cut) const {
    if (whole.empty()) return;
    const std::int64_t width = whole_.feature_width;
    const std::vector<VertexId>& field = frontier_.field;
    cut.resize(static_cast<std::size_t>(steps_.count * width) * field.size());
    Value* to = cut.data();
    for (std::int64_t t = 0; t < steps_.count; ++t) {
      const Value* step = whole.data() + (steps_.first + t) * whole_.vertices * width;
      for (std::size_t i = 0; i < field.size(); ++i) {
        if (i + ahead < field.size()) __builtin_prefetch(step + field[i + ahead] * width);
        const Value* from = step + field[i] * width;
        for (std::int64_t f = 0; f < width; ++f) *to++ = from[f];
      }
    }
  }

  const PreparedGraph& whole_;
  const Frontier& frontier_;
  Run steps_;
  const BatchScratch& scratch_;
  std::vector<CutRow> rows_;
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
  Cut inputs(*source.inputs, batch.frontier, cells.steps, scratch);
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
