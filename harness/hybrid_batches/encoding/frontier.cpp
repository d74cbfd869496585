// Walks steps from the last to the first, and layers from the last to the first within a step. So the cells that layer
// l reads at t or later are known when layer l - 1 is walked at t. The sets of a step only grow on the way down, so a
// vertex is visited once per step and matrix.
#include "harness/hybrid_batches/encoding/frontier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "core/errors.hpp"

namespace strobe {
namespace {

std::size_t words_for(std::size_t bits) { return (bits + 63) / 64; }

/// Sets bit v, and the bit of its word in `filled`.
void set_bit(VertexId v, std::vector<std::uint64_t>& bits, std::vector<std::uint64_t>& filled) {
  const std::size_t word = static_cast<std::size_t>(v) / 64;
  bits[word] |= std::uint64_t{1} << (static_cast<std::size_t>(v) % 64);
  filled[word / 64] |= std::uint64_t{1} << (word % 64);
}

/// Calls visit(v) for the bits that are set, ascending, and clears them. Cost O(bits set + N / 4096).
template <class Visit>
void take_bits(std::vector<std::uint64_t>& bits, std::vector<std::uint64_t>& filled, const Visit& visit) {
  for (std::size_t block = 0; block < filled.size(); ++block) {
    for (; filled[block] != 0; filled[block] &= filled[block] - 1) {
      const std::size_t word = block * 64 + static_cast<std::size_t>(std::countr_zero(filled[block]));
      for (std::uint64_t& left = bits[word]; left != 0; left &= left - 1)
        visit(static_cast<VertexId>(word * 64 + static_cast<std::size_t>(std::countr_zero(left))));
    }
  }
}

/// The state of a step while earlier ones are walked. Vertices have their numbers in the whole graph.
struct ReachedStep {
  std::vector<VertexId> vertices;      // filled at the end of the step
  std::vector<std::int64_t> computed;  // [L] StepFrontier::computed
  std::vector<std::int64_t> inner;     // [L] vertices that layer l's temporal stage, or its products, read
  std::vector<std::int64_t> with_row;  // [1 + supports]
};

class FrontierWalk {
 public:
  FrontierWalk(const BatchSource& source, const BatchCells& cells, BatchScratch& scratch)
      : source_(source), cells_(cells), scratch_(scratch), presence_(source.inputs->presence.get()) {
    matrices_.push_back(source.inputs);
    matrices_.insert(matrices_.end(), source.supports.begin(), source.supports.end());
  }

  std::vector<ReachedStep> walk() {
    reached_.resize(cells_.steps.count);
    for (std::int64_t t = cells_.steps.count; t-- > 0;) {
      reach(t);
      reached_[t].vertices = scratch_.end_step();
    }
    return std::move(reached_);
  }

 private:
  void reach(std::int64_t t) {
    ReachedStep& step = reached_[t];
    const std::size_t layers = source_.layers.size();
    step.computed.resize(layers);
    step.inner.resize(layers);
    step.with_row.assign(matrices_.size(), 0);
    add_wanted(cells_.targets, t);
    if (!cells_.others.empty()) add_wanted(cells_.others[t], t);
    for (std::size_t l = layers; l-- > 0;) {
      const LayerReads& layer = source_.layers[l];
      scratch_.order_new();
      step.computed[l] = scratch_.step_count();
      if (source_.frontier == FrontierKind::exact && layer.earlier > 0) add_read_later(l, t);
      for (std::size_t i = layer.products.size(); i-- > 0;) {
        scratch_.order_new();
        const std::int64_t rows = scratch_.step_count();
        for (const int support : layer.products[i]) add_columns(1 + static_cast<std::size_t>(support), rows, t, step);
      }
      scratch_.order_new();
      step.inner[l] = scratch_.step_count();
      if (layer.neighbours) add_columns(0, step.inner[l], t, step);
    }
  }

  Step in_graph(std::int64_t t) const { return static_cast<Step>(cells_.steps.first + t); }

  void add_wanted(const std::vector<VertexId>& vertices, std::int64_t t) {
    scratch_.make_room(static_cast<std::int64_t>(vertices.size()));
    if (presence_ == nullptr) return scratch_.add_to_step(vertices.data(), vertices.data() + vertices.size());
    for (const VertexId& v : vertices)
      if (presence_->exists(v, in_graph(t))) scratch_.add_to_step(&v, &v + 1);
  }

  /// Adds vertices whose own cell at t is read by layer l at a later step. A window reads those of the steps that it
  /// spans. A state reads those of the next step, because it comes from t or passes through it.
  void add_read_later(std::size_t l, std::int64_t t) {
    const LayerReads& layer = source_.layers[l];
    const bool whole = layer.earlier == LayerReads::all_earlier;
    const std::int64_t last = whole ? t + 1 : t + layer.earlier;
    for (std::int64_t s = t + 1; s <= last && s < cells_.steps.count; ++s) {
      if (layer.reset_every > 0 && s % layer.reset_every == 0) break;
      const ReachedStep& later = reached_[s];
      add_going_on(later.vertices.data(), whole ? later.inner[l] : later.computed[l], s, t);
    }
  }
  /// Adds those of the `count` vertices at `from` whose sequence at step s began at t or before.
  void add_going_on(const VertexId* from, std::int64_t count, std::int64_t s, std::int64_t t) {
    scratch_.make_room(count);
    if (presence_ == nullptr) return scratch_.add_to_step(from, from + count);
    for (const VertexId* v = from; v != from + count; ++v)
      if (presence_->begin(*v, in_graph(s)) <= in_graph(t)) scratch_.add_to_step(v, v + 1);
  }

  /// Adds the columns of the rows of the first `rows` vertices, which are in order. Rows that were added before for
  /// this matrix are skipped. Rows are scattered in memory, so later ones are prefetched.
  void add_columns(std::size_t matrix, std::int64_t rows, std::int64_t t, ReachedStep& step) {
    constexpr std::int64_t rows_ahead = 8;
    const PreparedGraph& graph = *matrices_[matrix];
    const std::int64_t* offsets = graph.row_offsets.data() + in_graph(t) * graph.vertices;
    const VertexId* columns = graph.columns.data();
    for (std::int64_t i = step.with_row[matrix]; i < rows; ++i) {
      if (i + 2 * rows_ahead < rows) __builtin_prefetch(offsets + scratch_.step()[i + 2 * rows_ahead]);
      if (i + rows_ahead < rows) __builtin_prefetch(columns + offsets[scratch_.step()[i + rows_ahead]]);
      const VertexId v = scratch_.step()[i];
      scratch_.make_room(offsets[v + 1] - offsets[v]);
      scratch_.add_to_step(columns + offsets[v], columns + offsets[v + 1]);
    }
    step.with_row[matrix] = std::max(step.with_row[matrix], rows);
  }

  const BatchSource& source_;
  const BatchCells& cells_;
  BatchScratch& scratch_;
  const Presence* presence_;
  std::vector<const PreparedGraph*> matrices_;
  std::vector<ReachedStep> reached_;
};

void check_vertices(const std::vector<VertexId>& vertices, const PreparedGraph& graph) {
  for (const VertexId v : vertices) {
    if (v < 0 || v >= graph.vertices)
      throw Error(fmt::format("vertex {} of a batch is none of the graph's {}", v, graph.vertices));
  }
}

void check(const BatchSource& source, const BatchCells& cells, const BatchScratch& scratch) {
  const PreparedGraph& graph = *source.inputs;
  if (!graph.has_structure()) {
    throw InvalidRequest(
        "/workload",
        "batches of vertices need a graph, and this workload is known by its shape only; take a data set or "
        "a generator");
  }
  if (cells.steps.first < 0 || cells.steps.count < 1 || cells.steps.first + cells.steps.count > graph.steps) {
    throw InvalidRequest("/strategy", fmt::format("a batch of {} steps from step {} on "
                                                  "reaches outside the graph, which "
                                                  "has {} steps; take fewer steps",
                                                  cells.steps.count, cells.steps.first, graph.steps));
  }
  for (const PreparedGraph* support : source.supports) {
    if (support->vertices != graph.vertices || support->steps < cells.steps.first + cells.steps.count)
      throw Error(
          "a support has other vertices or fewer steps than the graph "
          "of its batch");
  }
  if (scratch.places().vertices() != graph.vertices) throw Error("a batch's scratch is of a graph of other vertices");
  if (!cells.others.empty() && cells.others.size() != static_cast<std::size_t>(cells.steps.count))
    throw Error("a batch's other vertices are of other steps");
  check_vertices(cells.targets, graph);
  for (const auto& others : cells.others) check_vertices(others, graph);
}

}  // namespace

std::vector<std::int32_t> StepFrontier::computed_rows(int layer) const {
  const std::size_t count = layer < 0 ? rows.size() : static_cast<std::size_t>(computed.at(layer));
  std::vector<std::int32_t> result(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::int32_t> StepFrontier::inner_rows(int layer) const {
  std::vector<std::int32_t> result(rows.begin(), rows.begin() + inner.at(layer));
  std::sort(result.begin(), result.end());
  return result;
}

std::int64_t Frontier::cells() const {
  std::int64_t count = 0;
  for (const StepFrontier& step : steps) count += static_cast<std::int64_t>(step.rows.size());
  return count;
}

BatchScratch::BatchScratch(std::int64_t vertices)
    : step_(words_for(static_cast<std::size_t>(vertices))),
      field_(step_.size()),
      filled_(words_for(step_.size())),
      new_(step_.size()),
      new_filled_(filled_.size()),
      places_(vertices) {}

void BatchScratch::order_new() {
  constexpr std::int64_t few = 256;
  const std::int64_t first = std::exchange(ordered_, count_);
  if (count_ - first < few) return std::sort(list_.begin() + first, list_.begin() + count_);
  for (std::int64_t i = first; i < count_; ++i) set_bit(list_[i], new_, new_filled_);
  VertexId* to = list_.data() + first;
  take_bits(new_, new_filled_, [&](VertexId v) { *to++ = v; });
}

std::vector<VertexId> BatchScratch::end_step() {
  order_new();
  std::vector<VertexId> members(list_.begin(), list_.begin() + count_);
  count_ = ordered_ = 0;
  for (const VertexId v : members) {
    const std::size_t word = static_cast<std::size_t>(v) / 64;
    field_[word] |= step_[word];
    filled_[word / 64] |= std::uint64_t{step_[word] != 0} << (word % 64);
    step_[word] = 0;
  }
  return members;
}

const VertexPlaces& BatchScratch::take_field() {
  std::vector<VertexId> field;
  take_bits(field_, filled_, [&](VertexId v) { field.push_back(v); });
  places_.take(std::move(field));
  return places_;
}

Frontier batch_frontier(const BatchSource& source, const BatchCells& cells, BatchScratch& scratch) {
  check(source, cells, scratch);
  std::vector<ReachedStep> reached = FrontierWalk(source, cells, scratch).walk();
  Frontier frontier;
  const VertexPlaces& places = scratch.take_field();
  frontier.field = places.list();
  for (ReachedStep& step : reached) {
    StepFrontier& made = frontier.steps.emplace_back();
    for (VertexId& v : step.vertices) v = places.of(v);
    made.rows = std::move(step.vertices);
    made.computed = std::move(step.computed);
    made.inner = std::move(step.inner);
    made.with_row = std::move(step.with_row);
  }
  return frontier;
}

}  // namespace strobe
