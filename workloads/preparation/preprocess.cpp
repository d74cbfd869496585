// Smoothing, normalised Laplacian and first-layer product. Returns: graphs whose rows are sums of the same row over the
// last w steps (M-transform: averaged, or added with the weights 1 / distance; edge life: added). Optionally these are
// normalised as D^-1/2 (A + I) D^-1/2 and multiplied with X.
// Invariants: columns of a row are sorted and distinct. Sums run from the oldest step to the newest, in double, and the
// result is rounded once. For fp64 the graph's exact values and features replace those that fp32 rounded. A row's merge
// touches only that row of w snapshots, so steps are computed in parallel and the result does not depend on the number
// of threads.
// Cost: O(w nnz) for the merge (sorted runs, one after the other, no maps) + O(w N F) + O(nnz~ F) for the product.
// Source: ESDG equation 1 and sections 5.3, 5.4; readings E6, E7, E11, E12, E13 of the project's decisions.
#include "workloads/preparation/preprocess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.hpp"
#include "core/system/machine_limits.hpp"
#include "core/system/parallel.hpp"
#include "workloads/graph/exact_values.hpp"
#include "workloads/graph/smoothing.hpp"
#include "workloads/preparation/feature_scale.hpp"
#include "workloads/preparation/prepared_arrays.hpp"
#include "workloads/preparation/step_matrix.hpp"

namespace strobe {
namespace {

/// Scales A + I by D^-1/2 on both sides; D is the row sum of A + I.
void normalise(SmoothStep& step, std::int64_t t) {
  const std::size_t vertices = step.row_offsets.size() - 1;
  std::vector<double> scale(vertices);
  for (std::size_t v = 0; v < vertices; ++v) {
    if (step.row_offsets[v] == step.row_offsets[v + 1]) continue;  // it does not exist, or its self-loop were here
    double degree = 0;
    for (std::int64_t i = step.row_offsets[v]; i < step.row_offsets[v + 1]; ++i) degree += step.values[i];
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
      const std::size_t at = i;
      step.values[at] *= scale[v] * scale[step.columns[at]];
    }
  }
}

/// Mean or fading sum of scaled X over the steps of `span` (a span of one step gives X itself). [N * F]
std::vector<double> smooth_features(const SnapshotGraph& graph, const FeatureScale& scale, SmoothingSpan span) {
  const std::size_t size = graph.vertices * graph.feature_width;
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

/// The same of cells that exist, each over the steps of its sequence; 0 elsewhere. [N * F]
std::vector<double> smooth_sequences(const SnapshotGraph& graph, const FeatureScale& scale, SmoothingSpan span) {
  const std::size_t width = graph.feature_width;
  const std::size_t size = static_cast<std::size_t>(graph.vertices) * width;
  std::vector<double> sum(size, 0.0);
  for (std::int64_t s = span.first; s <= span.last; ++s) {
    const std::vector<double> scaled = scale.changes() ? scale.step(s) : std::vector<double>();
    for (VertexId v = 0; v < graph.vertices; ++v) {
      const std::int32_t begin = scale.presence()->begin(v, static_cast<Step>(span.last));
      if (begin < 0 || span.since(begin).first > s) continue;
      for (std::size_t i = static_cast<std::size_t>(v) * width; i < static_cast<std::size_t>(v + 1) * width; ++i) {
        sum[i] += span.weight(s) * (scaled.empty() ? scale.raw(static_cast<std::size_t>(s) * size + i) : scaled[i]);
        if (s == span.last) sum[i] /= span.since(begin).divisor;
      }
    }
  }
  return sum;
}

/// The same matrix with zeros where only its transpose has an entry.
SmoothStep with_symmetric_pattern(const SmoothStep& step) {
  const SmoothStep other = transposed(step);
  SmoothStep result;
  result.row_offsets.push_back(0);
  for (std::size_t v = 0; v + 1 < step.row_offsets.size(); ++v) {
    auto i = static_cast<std::size_t>(step.row_offsets[v]), j = static_cast<std::size_t>(other.row_offsets[v]);
    const std::size_t end = step.row_offsets[v + 1];
    const std::size_t other_end = other.row_offsets[v + 1];
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

/// `announce` hears the number of non-zeros as soon as it is known; a walk does not change it.
SmoothStep prepare_step(const Preprocessing& what, const FeatureScale& scale, std::int64_t t, bool fp64,
                        const std::function<void(std::int64_t)>& announce) {
  const SnapshotGraph& graph = scale.graph();
  SmoothStep step = smooth_adjacency(graph, smoothing_span(what.smooth, what.window, t, what.m), what.laplacian, fp64,
                                     scale.presence().get());
  if (what.laplacian) normalise(step, t);
  if (what.symmetric_pattern) step = with_symmetric_pattern(step);
  announce(static_cast<std::int64_t>(step.columns.size()));
  if (what.walk != "none") step = walk_matrix(step, what.walk, t);
  const char* const smooth = what.smooth_features ? "m_product" : "none";
  const auto smoothed = scale.presence() == nullptr ? smooth_features : smooth_sequences;
  step.features = smoothed(graph, scale, smoothing_span(smooth, what.window, t, what.m));
  const std::size_t width = graph.feature_width;
  if (what.precompute_first_product) {
    std::vector<double> product = multiply(step, step.features, width);
    (what.keep_features ? step.product : step.features) = std::move(product);
  }
  if (what.feature_terms.count() > 1) step.features = feature_terms(step, step.features, width, what.feature_terms, t);
  return step;
}

/// The value as fp32. A sum of finite numbers may not be finite: a smoothed weight, or a product with features.
float rounded(double value, const char* what, std::int64_t t) {
  const auto result = static_cast<float>(value);
  if (std::isfinite(result) || !std::isfinite(value)) return result;
  throw InvalidRequest(
      "/workload/weights",
      fmt::format(
          "{} of step {} is {:.4g}, which is too large for fp32; set precision=fp64, or weights=count or binary", what,
          t, value));
}

void append(const SmoothStep& step, std::int64_t t, bool fp64, PreparedArrays& graph) {
  for (std::size_t v = 1; v < step.row_offsets.size(); ++v)
    graph.row_offsets.push_back(graph.nonzeros + step.row_offsets[v]);
  graph.nonzeros += step.row_offsets.back();
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

/// Appends all steps, a block at a time: enough steps to share among threads, and few enough that their doubles stay
/// small compared with the result.
void append_blocks(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps, bool fp64,
                   PreparedArrays& result) {
  result.row_offsets.push_back(0);
  const int threads = usable_cores();
  Workers workers(threads);
  const std::int64_t block = 2 * threads;
  for (std::int64_t first = 0; first < steps; first += block) {
    std::vector<SmoothStep> ready(std::min(block, steps - first));
    workers.run(static_cast<std::int64_t>(ready.size()),
                [&](std::int64_t i) { ready[i] = prepare_step(what, scale, first + i, fp64, [](std::int64_t) {}); });
    for (std::size_t i = 0; i < ready.size(); ++i) append(ready[i], first + static_cast<std::int64_t>(i), fp64, result);
  }
}

void check(const SnapshotGraph& graph, const Preprocessing& what, std::int64_t steps) {
  check_smoothing(what.smooth, what.window);
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
    throw InvalidRequest("hops", fmt::format("hops must be at least 0, found {}", what.feature_terms.hops));
  if (steps < 1 || steps > graph.steps()) {
    throw InvalidRequest("steps", fmt::format("cannot prepare {} steps of a graph with {}", steps, graph.steps()));
  }
}

/// Edge life sums steps; steps that already repeat each other's events would count these again. The M-transform weighs
/// any steps: TM-GCN's public code applies it to steps under edge life.
void check_repeats(const SnapshotGraph& graph, const Preprocessing& what) {
  if (what.smooth != "edge_life" || what.window == 1 || graph.repeats.empty()) return;
  throw InvalidRequest("/model/edge_life",
                       fmt::format("the workload's steps already repeat events ({}), so the model's edge life of {} "
                                   "steps would count them again; set edge_life=1, or choose other steps",
                                   graph.repeats, what.window));
}

void check_presence(const SnapshotGraph& graph, const Presence* presence, std::int64_t steps) {
  if (presence == nullptr || (presence->vertices() == graph.vertices && presence->steps() >= steps)) return;
  throw Error(fmt::format("the presence table has {} vertices at {} steps, but the graph has {} vertices at {} steps",
                          presence->vertices(), presence->steps(), graph.vertices, steps));
}

/// An upper bound of the prepared graph's non-zeros; untouched capacity costs address space only.
std::size_t nonzero_bound(const SnapshotGraph& graph, const Preprocessing& what, std::int64_t steps) {
  std::int64_t bound = what.laplacian ? steps * graph.vertices : 0;
  for (std::int64_t t = 0; t < steps; ++t) {
    const SmoothingSpan span = smoothing_span(what.smooth, what.window, t);
    for (std::int64_t s = span.first; s <= span.last; ++s) bound += graph.snapshots[s]->nonzeros();
  }
  return static_cast<std::size_t>(what.symmetric_pattern ? 2 * bound : bound);
}

}  // namespace

SnapshotGraph m_product(const SnapshotGraph& graph, std::int64_t window, bool features) {
  SnapshotGraph result = smooth_snapshots(graph, "m_product", window);
  if (!features) return result;
  const FeatureScale rounded(graph, "none", 0, false), exact(graph, "none", 0, true);
  std::vector<float> smoothed;
  std::vector<double> smoothed_exact;
  for (std::int64_t t = 0; t < graph.steps(); ++t) {
    const SmoothingSpan span = smoothing_span("m_product", window, t);
    for (const double value : smooth_features(graph, rounded, span)) smoothed.push_back(static_cast<float>(value));
    const std::vector<double> mean = smooth_features(graph, exact, span);
    smoothed_exact.insert(smoothed_exact.end(), mean.begin(), mean.end());
  }
  result.exact_features = where_rounded(std::move(smoothed_exact), smoothed);
  result.features = std::move(smoothed);
  return result;
}

PreparedGraph prepare(const SnapshotGraph& graph, const Preprocessing& what, std::int64_t steps, bool fp64,
                      std::shared_ptr<const Presence> presence) {
  return prepare_scaled(FeatureScale(graph, what.feature_scale, steps, fp64, std::move(presence)), what, steps, fp64);
}

PreparedSizes prepared_sizes(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps) {
  const SnapshotGraph& graph = scale.graph();
  check(graph, what, steps);
  check_repeats(graph, what);
  check_presence(graph, scale.presence().get(), steps);
  PreparedGraph result;
  result.presence = scale.presence();
  result.vertices = graph.vertices;
  result.steps = steps;
  result.feature_width = graph.feature_width * what.feature_terms.count();
  result.first_product_done = what.precompute_first_product;
  result.features_kept = what.precompute_first_product && what.keep_features;
  return {std::move(result), nonzero_bound(graph, what, steps)};
}

PreparedArrays prepare_alone(const FeatureScale& scale, const Preprocessing& what, std::int64_t t, bool fp64,
                             const std::function<void(std::int64_t)>& announce) {
  PreparedArrays arrays;
  append(prepare_step(what, scale, t, fp64, announce), t, fp64, arrays);
  return arrays;
}

PreparedGraph prepare_scaled(const FeatureScale& scale, const Preprocessing& what, std::int64_t steps, bool fp64) {
  auto [result, bound] = prepared_sizes(scale, what, steps);
  PreparedArrays arrays;
  const auto cells = static_cast<std::size_t>(steps * result.vertices),
             width = static_cast<std::size_t>(result.feature_width);
  arrays.row_offsets.reserve(cells + 1);
  arrays.columns.reserve(bound);
  fp64 ? arrays.values64.reserve(bound) : arrays.values32.reserve(bound);
  fp64 ? arrays.features64.reserve(cells * width) : arrays.features32.reserve(cells * width);
  const std::size_t products = result.features_kept ? cells * width : 0;
  fp64 ? arrays.products64.reserve(products) : arrays.products32.reserve(products);
  append_blocks(scale, what, steps, fp64, arrays);
  result.row_offsets = std::move(arrays.row_offsets);
  result.columns = std::move(arrays.columns);
  result.values64 = std::move(arrays.values64), result.values32 = std::move(arrays.values32);
  result.features64 = std::move(arrays.features64), result.features32 = std::move(arrays.features32);
  result.products64 = std::move(arrays.products64), result.products32 = std::move(arrays.products32);
  return std::move(result);
}

}  // namespace strobe
