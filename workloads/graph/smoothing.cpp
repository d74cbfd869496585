// Returns: graphs whose rows are sums of the same row over the last w steps.
// Invariants: columns of a row are sorted and distinct; sums run from the oldest step to the newest, in double; the
// result is rounded once. A row's merge touches only that row of w snapshots. Cost: O(w nnz) for the merge (sorted
// runs, one after the other, no maps). Source: ESDG equation 1; readings E6, E7 of the project's decisions.
#include "workloads/graph/smoothing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/errors.hpp"
#include "workloads/graph/exact_values.hpp"
#include "workloads/graph/step_shelf.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

struct MergedEntry {
  VertexId column;
  double value;
};

/// Sums row v of consecutive snapshots by merging their sorted columns one snapshot at a time.
class RowMerger {
 public:
  /// `exact`: of exact values, where a snapshot has them.
  RowMerger(const SnapshotGraph& graph, bool exact) : graph_(graph), exact_(exact) {}

  /// The row summed over the steps of `span`, valid until the next call.
  std::vector<MergedEntry>& sum(std::size_t v, const SmoothingSpan& span) {
    sum_.clear();
    for (std::int64_t s = span.first; s <= span.last; ++s) {
      const Snapshot& snapshot = *graph_.snapshots[s];
      const std::size_t begin = snapshot.row_offsets[v];
      const std::size_t end = snapshot.row_offsets[v + 1];
      if (begin == end) continue;
      const VertexId* const columns = snapshot.columns.data() + begin;
      if (exact_ && !snapshot.exact_values.empty())
        add(columns, snapshot.exact_values.data() + begin, end - begin, span.weight(s));
      else
        add(columns, snapshot.values.data() + begin, end - begin, span.weight(s));
    }
    return sum_;
  }

 private:
  template <class T>
  void add(const VertexId* columns, const T* values, std::size_t count, double weight) {
    next_.resize(sum_.size() + count);
    const MergedEntry* left = sum_.data();
    const MergedEntry* const left_end = left + sum_.size();
    MergedEntry* out = next_.data();
    for (std::size_t j = 0; j < count; ++j, ++out) {
      while (left != left_end && left->column < columns[j]) *out++ = *left++;
      *out = {columns[j], weight * static_cast<double>(values[j])};
      if (left != left_end && left->column == columns[j]) out->value += (left++)->value;
    }
    while (left != left_end) *out++ = *left++;
    next_.resize(out - next_.data());
    sum_.swap(next_);
  }

  const SnapshotGraph& graph_;
  bool exact_;
  std::vector<MergedEntry> sum_, next_;
};

/// Appends row v, which is not closed yet: sums over `divisor`, and with a self-loop one on the diagonal.
void append_row(const std::vector<MergedEntry>& sum, std::size_t v, double divisor, bool self_loop, SmoothStep& step) {
  const auto diagonal = static_cast<VertexId>(v);
  bool missing = self_loop;
  for (const MergedEntry& entry : sum) {
    if (missing && entry.column > diagonal) {
      step.columns.push_back(diagonal);
      step.values.push_back(1.0);
      missing = false;
    }
    const bool on_diagonal = missing && entry.column == diagonal;
    step.columns.push_back(entry.column);
    step.values.push_back(entry.value / divisor + (on_diagonal ? 1.0 : 0.0));
    missing = missing && !on_diagonal;
  }
  if (missing) {
    step.columns.push_back(diagonal);
    step.values.push_back(1.0);
  }
}

}  // namespace

SmoothingSpan smoothing_span(const std::string& smooth, std::int64_t window, std::int64_t t, const std::string& m) {
  if (smooth == "none") return {t, t, 1};
  const std::int64_t first = std::max<std::int64_t>(0, t - window + 1);
  const bool mean = smooth == "m_product" && m == "row_mean";
  const bool m_product = smooth == "m_product";
  return {first, t, mean ? static_cast<double>(t - first + 1) : 1.0, m_product && !mean, m_product};
}

void check_smoothing(const std::string& smooth, std::int64_t window) {
  if (smooth != "none" && smooth != "m_product" && smooth != "edge_life")
    throw InvalidRequest("smooth", unknown_name_message("smoothing", smooth, {"none", "m_product", "edge_life"}));
  if (window < 1)
    throw InvalidRequest("window", fmt::format("a smoothing window of {} steps; it must be at least 1", window));
}

SmoothStep smooth_adjacency(const SnapshotGraph& graph, SmoothingSpan span, bool self_loops, bool exact,
                            const Presence* presence) {
  const std::size_t vertices = graph.vertices;
  std::size_t bound = self_loops ? vertices : 0;
  for (std::int64_t s = span.first; s <= span.last; ++s) {
    bound += static_cast<std::size_t>(graph.snapshots[s]->nonzeros());
  }
  SmoothStep step;
  step.row_offsets.resize(vertices + 1);
  step.columns.reserve(bound);
  step.values.reserve(bound);
  RowMerger merger(graph, exact);
  const auto t = static_cast<Step>(span.last);
  const auto absent = [&](const MergedEntry& entry) { return !presence->exists(entry.column, t); };
  for (std::size_t v = 0; v < vertices; ++v) {
    const std::int32_t begin = presence == nullptr ? 0 : presence->begin(static_cast<VertexId>(v), t);
    if (begin >= 0) {
      const SmoothingSpan own = presence == nullptr ? span : span.since(begin);
      std::vector<MergedEntry>& sum = merger.sum(v, own);
      if (presence != nullptr) std::erase_if(sum, absent);
      append_row(sum, v, own.divisor, self_loops, step);
    }
    step.row_offsets[v + 1] = static_cast<std::int64_t>(step.columns.size());
  }
  return step;
}

namespace {

/// The sums of the steps of `span`, without self-loops. Large arrays lie in files under a bound of memory.
struct SummedStep {
  SummedStep(const SnapshotGraph& graph, const SmoothingSpan& span, bool exact) {
    RowMerger merger(graph, exact);
    row_offsets.reserve(static_cast<std::size_t>(graph.vertices) + 1);
    std::size_t most = 0, count = 0;
    for (std::int64_t s = span.first; s <= span.last; ++s)
      most += static_cast<std::size_t>(graph.snapshots[s]->nonzeros());
    columns.resize(most), values.resize(most);
    for (std::size_t v = 0; v < static_cast<std::size_t>(graph.vertices); ++v) {
      for (const MergedEntry& entry : merger.sum(v, span)) {
        columns[count] = entry.column;
        values[count++] = entry.value / span.divisor;
      }
      row_offsets.push_back(static_cast<std::int64_t>(count));
    }
    columns.shrink(count), values.shrink(count);
  }

  std::vector<std::int64_t> row_offsets{0};
  GrowingColumn<VertexId> columns{};
  GrowingColumn<double> values{};
};

}  // namespace

SnapshotGraph smooth_snapshots(const SnapshotGraph& graph, const std::string& smooth, std::int64_t window) {
  check_smoothing(smooth, window);
  if (graph.steps() < 1) throw InvalidRequest("steps", "a graph without steps cannot be smoothed");
  SnapshotGraph result = graph;
  StepShelf shelf;
  const bool exact = std::any_of(graph.snapshots.begin(), graph.snapshots.end(),
                                 [](const auto& snapshot) { return !snapshot->exact_values.empty(); });
  for (std::int64_t t = 0; t < graph.steps(); ++t) {
    const SmoothingSpan span = smoothing_span(smooth, window, t);
    SummedStep step(graph, span, false);
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->row_offsets = std::move(step.row_offsets);
    snapshot->columns = step.columns.finish();
    snapshot->values = in_single({step.values.data(), step.values.size()});
    if (exact) step.values = std::move(SummedStep(graph, span, true).values);
    snapshot->exact_values = where_rounded(step.values.finish(), snapshot->values);
    result.snapshots[t] = shelf.keep(snapshot);
  }
  return result;
}

SnapshotGraph edge_life(const SnapshotGraph& graph, std::int64_t life) {
  return smooth_snapshots(graph, "edge_life", life);
}

}  // namespace strobe
