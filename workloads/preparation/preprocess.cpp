// Smoothing, normalised Laplacian and first-layer product.
// Returns: graphs whose rows are sums of the same row over the last w steps (M-transform: averaged, or added with the
// weights 1 / distance; edge life: added), optionally as D^-1/2 (A + I) D^-1/2 and multiplied with X.
// Invariants: columns of a row are sorted and distinct; sums run from the oldest step to the newest, in double; the
// result is rounded once. For fp64 the graph's exact values and features take the place of those that fp32 rounded. A
// row's merge touches only that row of w snapshots, so steps are computed side by side and the result does not depend
// on the number of threads. Cost: O(w nnz) for the merge (sorted runs, one after the other, no maps) + O(w N F) +
// O(nnz~ F) for the product. Source: ESDG equation 1 and sections 5.3, 5.4; readings E6, E7, E11, E12, E13 of the
// project's decisions.
#include "workloads/preparation/preprocess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.hpp"
#include "core/machine_limits.hpp"
#include "core/parallel.hpp"
#include "workloads/graph/exact_values.hpp"
#include "workloads/preparation/feature_scale.hpp"
#include "workloads/preparation/step_matrix.hpp"

namespace strobe {
namespace {

struct MergedEntry {
  VertexId column;
  double value;
};

/// The steps whose rows are summed for step t, and what the sum is divided by. When it fades, step s of the last t
/// counts 1 / (t - s + 1).
struct Span {
  std::int64_t first = 0, last = 0;
  double divisor = 1;
  bool fades = false;
  double weight(std::int64_t s) const { return fades ? 1.0 / static_cast<double>(last - s + 1) : 1.0; }
};

Span smoothing_span(const std::string& smooth, std::int64_t window, std::int64_t t, const std::string& m = "row_mean") {
  if (smooth == "none") return {t, t, 1};
  const std::int64_t first = std::max<std::int64_t>(0, t - window + 1);
  const bool mean = smooth == "m_product" && m == "row_mean";
  return {first, t, mean ? static_cast<double>(t - first + 1) : 1.0, smooth == "m_product" && !mean};
}

/// Sums row v of consecutive snapshots by merging their sorted columns one snapshot at a time.
class RowMerger {
 public:
  /// `exact`: of exact values, where a snapshot has them.
  RowMerger(const SnapshotGraph& graph, Span span, bool exact) : graph_(graph), span_(span), exact_(exact) {}

  /// The summed row, valid until the next call.
  const std::vector<MergedEntry>& sum(std::size_t v) {
    sum_.clear();
    for (std::int64_t s = span_.first; s <= span_.last; ++s) {
      const Snapshot& snapshot = *graph_.snapshots[static_cast<std::size_t>(s)];
      const auto begin = static_cast<std::size_t>(snapshot.row_offsets[v]);
      const auto end = static_cast<std::size_t>(snapshot.row_offsets[v + 1]);
      if (begin == end) continue;
      const VertexId* const columns = snapshot.columns.data() + begin;
      if (exact_ && !snapshot.exact_values.empty())
        add(columns, snapshot.exact_values.data() + begin, end - begin, span_.weight(s));
      else
        add(columns, snapshot.values.data() + begin, end - begin, span_.weight(s));
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
    next_.resize(static_cast<std::size_t>(out - next_.data()));
    sum_.swap(next_);
  }

  const SnapshotGraph& graph_;
  Span span_;
  bool exact_;
  std::vector<MergedEntry> sum_, next_;
};

/// The smoothed A_t; with `self_loops`, A_t + I (an existing diagonal entry grows by one).
SmoothStep smooth_adjacency(const SnapshotGraph& graph, Span span, bool self_loops, bool exact) {
  const auto vertices = static_cast<std::size_t>(graph.vertices);
  std::size_t bound = self_loops ? vertices : 0;
  for (std::int64_t s = span.first; s <= span.last; ++s) {
    bound += static_cast<std::size_t>(graph.snapshots[static_cast<std::size_t>(s)]->nonzeros());
  }
  SmoothStep step;
  step.row_offsets.resize(vertices + 1);
  step.columns.reserve(bound);
  step.values.reserve(bound);
  RowMerger merger(graph, span, exact);
  for (std::size_t v = 0; v < vertices; ++v) {
    const auto diagonal = static_cast<VertexId>(v);
    bool missing = self_loops;
    for (const MergedEntry& entry : merger.sum(v)) {
      if (missing && entry.column > diagonal) {
        step.columns.push_back(diagonal);
        step.values.push_back(1.0);
        missing = false;
      }
      const bool on_diagonal = missing && entry.column == diagonal;
      step.columns.push_back(entry.column);
      step.values.push_back(entry.value / span.divisor + (on_diagonal ? 1.0 : 0.0));
      missing = missing && !on_diagonal;
    }
    if (missing) {
      step.columns.push_back(diagonal);
      step.values.push_back(1.0);
    }
    step.row_offsets[v + 1] = static_cast<std::int64_t>(step.columns.size());
  }
  return step;
}

/// Scales A + I by D^-1/2 on both sides; D is the row sum of A + I.
void normalise(SmoothStep& step, std::int64_t t) {
  const std::size_t vertices = step.row_offsets.size() - 1;
  std::vector<double> scale(vertices);
  for (std::size_t v = 0; v < vertices; ++v) {
    double degree = 0;
    for (std::int64_t i = step.row_offsets[v]; i < step.row_offsets[v + 1]; ++i)
      degree += step.values[static_cast<std::size_t>(i)];
    if (!(degree > 0)) {
      throw InvalidRequest("laplacian",
                           fmt::format("the edges of vertex {} at step {} sum to {}; the normalised Laplacian "
                                       "needs a sum above -1 (use weights=count or binary)",
                                       v, t, degree - 1));
    }
    scale[v] = 1 / std::sqrt(degree);
  }
  for (std::size_t v = 0; v < vertices; ++v) {
    for (std::int64_t i = step.row_offsets[v]; i < step.row_offsets[v + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      step.values[at] *= scale[v] * scale[static_cast<std::size_t>(step.columns[at])];
    }
  }
}

/// Mean or fading sum of scaled X over the steps of `span` (a span of one step gives X itself). [N * F]
std::vector<double> smooth_features(const SnapshotGraph& graph, const FeatureScale& scale, Span span) {
  const auto size = static_cast<std::size_t>(graph.vertices * graph.feature_width);
  std::vector<double> sum(size, 0.0);
  for (std::int64_t s = span.first; s <= span.last; ++s) {
    const std::size_t first = static_cast<std::size_t>(s) * size;
    const std::vector<double> scaled = scale.changes() ? scale.step(s) : std::vector<double>();
    const double weight = span.weight(s);
    for (std::size_t i = 0; i < size; ++i) sum[i] += weight * (scaled.empty() ? scale.raw(first + i) : scaled[i]);
  }
  for (double& value : sum) value /= span.divisor;
  return sum;
}

/// The same matrix with zeros where only its transpose has an entry.
SmoothStep with_symmetric_pattern(const SmoothStep& step) {
  const SmoothStep other = transposed(step);
  SmoothStep result;
  result.row_offsets.push_back(0);
  for (std::size_t v = 0; v + 1 < step.row_offsets.size(); ++v) {
    auto i = static_cast<std::size_t>(step.row_offsets[v]), j = static_cast<std::size_t>(other.row_offsets[v]);
    const auto end = static_cast<std::size_t>(step.row_offsets[v + 1]);
    const auto other_end = static_cast<std::size_t>(other.row_offsets[v + 1]);
    while (i < end || j < other_end) {
      const bool own = i < end && (j == other_end || step.columns[i] <= other.columns[j]);
      const VertexId column = own ? step.columns[i] : other.columns[j];
      result.columns.push_back(column);
      result.values.push_back(own ? step.values[i++] : 0.0);
      if (j < other_end && other.columns[j] == column) ++j;
    }
    result.row_offsets.push_back(static_cast<std::int64_t>(result.columns.size()));
  }
  return result;
}

SmoothStep prepare_step(const SnapshotGraph& graph, const Preprocessing& what, const FeatureScale& scale,
                        std::int64_t t, bool fp64) {
  SmoothStep step = smooth_adjacency(graph, smoothing_span(what.smooth, what.window, t, what.m), what.laplacian, fp64);
  if (what.laplacian) normalise(step, t);
  if (what.symmetric_pattern) step = with_symmetric_pattern(step);
  if (what.walk != "none") step = walk_matrix(step, what.walk, t);
  const char* const smooth = what.smooth_features ? "m_product" : "none";
  step.features = smooth_features(graph, scale, smoothing_span(smooth, what.window, t, what.m));
  const auto width = static_cast<std::size_t>(graph.feature_width);
  if (what.precompute_first_product) {
    std::vector<double> product = multiply(step, step.features, width);
    (what.keep_features ? step.product : step.features) = std::move(product);
  }
  if (what.feature_terms.count() > 1) step.features = feature_terms(step, step.features, width, what.feature_terms, t);
  return step;
}

/// The value as fp32. What was finite may not be, once it is a sum: a smoothed weight, or a product with features.
float rounded(double value, const char* what, std::int64_t t) {
  const auto result = static_cast<float>(value);
  if (std::isfinite(result) || !std::isfinite(value)) return result;
  throw InvalidRequest("/workload/weights", fmt::format("{} of step {} is {:.4g}, beyond what fp32 holds; take "
                                                        "precision=fp64, or weights=count or binary",
                                                        what, t, value));
}

void append(const SmoothStep& step, std::int64_t t, bool fp64, PreparedGraph& graph) {
  const std::int64_t base = graph.row_offsets.back();
  for (std::size_t v = 1; v < step.row_offsets.size(); ++v) graph.row_offsets.push_back(base + step.row_offsets[v]);
  graph.columns.insert(graph.columns.end(), step.columns.begin(), step.columns.end());
  if (fp64) {
    graph.values64.insert(graph.values64.end(), step.values.begin(), step.values.end());
    graph.features64.insert(graph.features64.end(), step.features.begin(), step.features.end());
    graph.products64.insert(graph.products64.end(), step.product.begin(), step.product.end());
    return;
  }
  for (const double value : step.values) graph.values32.push_back(rounded(value, "an entry of the matrix", t));
  for (const double value : step.features) graph.features32.push_back(rounded(value, "a feature", t));
  for (const double value : step.product) graph.products32.push_back(rounded(value, "a product with features", t));
}

void check(const SnapshotGraph& graph, const Preprocessing& what, std::int64_t steps) {
  if (what.smooth != "none" && what.smooth != "m_product" && what.smooth != "edge_life") {
    throw InvalidRequest("smooth", unknown_name_message("smoothing", what.smooth, {"none", "m_product", "edge_life"}));
  }
  if (what.m != "row_mean" && what.m != "inverse_distance")
    throw InvalidRequest("m", unknown_name_message("M-transform", what.m, {"row_mean", "inverse_distance"}));
  std::vector<std::string> walks = what.feature_terms.walks;
  walks.push_back(what.walk);
  for (const std::string& walk : walks) {
    if (std::find(known_walks().begin(), known_walks().end(), walk) == known_walks().end())
      throw InvalidRequest("walk", unknown_name_message("walk", walk, known_walks()));
    if (walk != "none" && what.laplacian) throw InvalidRequest("walk", "a walk has no Laplacian; choose one of them");
  }
  const std::vector<std::string> kinds = {"powers", "chebyshev", "carried"};
  if (std::find(kinds.begin(), kinds.end(), what.feature_terms.kind) == kinds.end())
    throw InvalidRequest("terms", unknown_name_message("kind of terms", what.feature_terms.kind, kinds));
  if (what.feature_terms.hops < 0)
    throw InvalidRequest("hops", fmt::format("{} hops; it must be at least 0", what.feature_terms.hops));
  if (what.window < 1)
    throw InvalidRequest("window", fmt::format("a smoothing window of {} steps; it must be at least 1", what.window));
  if (steps < 1 || steps > graph.steps()) {
    throw InvalidRequest("steps", fmt::format("{} of {} steps cannot be prepared", steps, graph.steps()));
  }
}

/// Edge life sums steps; steps that already repeat each other's events would count these again. The M-transform weighs
/// steps, whatever they hold: TM-GCN's public code applies it to steps under edge life.
void check_repeats(const SnapshotGraph& graph, const Preprocessing& what) {
  if (what.smooth != "edge_life" || what.window == 1 || graph.repeats.empty()) return;
  throw InvalidRequest("/model/edge_life",
                       fmt::format("the workload's steps already repeat events ({}), and the model's edge life of {} "
                                   "steps would count them again; set edge_life=1, or take other steps",
                                   graph.repeats, what.window));
}

/// An upper bound of the prepared graph's non-zeros; untouched capacity costs address space only.
std::size_t nonzero_bound(const SnapshotGraph& graph, const Preprocessing& what, std::int64_t steps) {
  std::int64_t bound = what.laplacian ? steps * graph.vertices : 0;
  for (std::int64_t t = 0; t < steps; ++t) {
    const Span span = smoothing_span(what.smooth, what.window, t);
    for (std::int64_t s = span.first; s <= span.last; ++s)
      bound += graph.snapshots[static_cast<std::size_t>(s)]->nonzeros();
  }
  return static_cast<std::size_t>(what.symmetric_pattern ? 2 * bound : bound);
}

SnapshotGraph smooth_snapshots(const SnapshotGraph& graph, const std::string& smooth, std::int64_t window) {
  check(graph, {.smooth = smooth, .window = window}, graph.steps());
  SnapshotGraph result = graph;
  const bool exact = std::any_of(graph.snapshots.begin(), graph.snapshots.end(),
                                 [](const auto& snapshot) { return !snapshot->exact_values.empty(); });
  for (std::int64_t t = 0; t < graph.steps(); ++t) {
    const Span span = smoothing_span(smooth, window, t);
    SmoothStep step = smooth_adjacency(graph, span, false, false);
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->row_offsets = std::move(step.row_offsets);
    snapshot->columns.assign(step.columns.begin(), step.columns.end());
    for (const double value : step.values) snapshot->values.push_back(static_cast<float>(value));
    if (exact) step.values = smooth_adjacency(graph, span, false, true).values;
    snapshot->exact_values = where_rounded(std::move(step.values), snapshot->values);
    result.snapshots[static_cast<std::size_t>(t)] = snapshot;
  }
  return result;
}

}  // namespace

SnapshotGraph edge_life(const SnapshotGraph& graph, std::int64_t life) {
  return smooth_snapshots(graph, "edge_life", life);
}

SnapshotGraph m_product(const SnapshotGraph& graph, std::int64_t window, bool features) {
  SnapshotGraph result = smooth_snapshots(graph, "m_product", window);
  if (!features) return result;
  const FeatureScale rounded(graph, "none", 0, false), exact(graph, "none", 0, true);
  result.features.clear();
  result.exact_features.clear();
  for (std::int64_t t = 0; t < graph.steps(); ++t) {
    const Span span = smoothing_span("m_product", window, t);
    for (const double value : smooth_features(graph, rounded, span))
      result.features.push_back(static_cast<float>(value));
    const std::vector<double> mean = smooth_features(graph, exact, span);
    result.exact_features.insert(result.exact_features.end(), mean.begin(), mean.end());
  }
  result.exact_features = where_rounded(std::move(result.exact_features), result.features);
  return result;
}

PreparedGraph prepare(const SnapshotGraph& graph, const Preprocessing& what, std::int64_t steps, bool fp64) {
  return prepare_scaled(FeatureScale(graph, what.feature_scale, steps, fp64), what, steps, fp64);
}

PreparedGraph prepare_scaled(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps, bool fp64) {
  const SnapshotGraph& graph = scale.graph();
  check(graph, what, steps);
  check_repeats(graph, what);
  PreparedGraph result;
  result.vertices = graph.vertices;
  result.steps = steps;
  result.feature_width = graph.feature_width * what.feature_terms.count();
  result.first_product_done = what.precompute_first_product;
  result.features_kept = what.precompute_first_product && what.keep_features;
  const std::size_t bound = nonzero_bound(graph, what, steps);
  const auto cells = static_cast<std::size_t>(steps * graph.vertices),
             width = static_cast<std::size_t>(result.feature_width);
  result.row_offsets.reserve(cells + 1);
  result.row_offsets.push_back(0);
  result.columns.reserve(bound);
  fp64 ? result.values64.reserve(bound) : result.values32.reserve(bound);
  fp64 ? result.features64.reserve(cells * width) : result.features32.reserve(cells * width);
  const std::size_t products = result.features_kept ? cells * width : 0;
  fp64 ? result.products64.reserve(products) : result.products32.reserve(products);
  // Blocks of steps: enough to share among threads, few enough that their doubles stay small beside the result.
  const int threads = usable_cores();
  Workers workers(threads);
  const std::int64_t block = 2 * threads;
  for (std::int64_t first = 0; first < steps; first += block) {
    std::vector<SmoothStep> ready(static_cast<std::size_t>(std::min(block, steps - first)));
    workers.run(static_cast<std::int64_t>(ready.size()), [&](std::int64_t i) {
      ready[static_cast<std::size_t>(i)] = prepare_step(graph, what, scale, first + i, fp64);
    });
    for (std::size_t i = 0; i < ready.size(); ++i) append(ready[i], first + static_cast<std::int64_t>(i), fp64, result);
  }
  return result;
}

}  // namespace strobe
