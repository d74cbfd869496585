// Turns a shape into the counts of a prepared graph.
// Returns per step the non-zeros that smoothing and the Laplacian would leave, and by how many cells cells are read.
// Invariants: with lives known, non-zeros over all steps are those of the union over the window; every option fills a
// gap and never contradicts the shape. Cost O(T w + bins).
// Source: union sizes from edge lives (workloads/shape/shape.hpp); Poisson degrees are the limit of uniform edges.
#include "workloads/shape/shape_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "workloads/catalog/catalog.hpp"
#include "workloads/graph/plugins.hpp"
#include "workloads/preparation/feature_scale.hpp"

namespace strobe {
namespace {

/// Fills an unknown field from its option.
void fill(std::optional<std::int64_t>& field, std::int64_t option, const char* name, const GraphStatistics& shape,
          const std::string& pointer) {
  if (option == 0 || field == option) return;
  if (field) {
    throw InvalidRequest(pointer + "/" + name,
                         fmt::format("the shape {} has {} {}, not {}; an option only fills what a shape does not know",
                                     shape.name, *field, name, option));
  }
  field = option;
}

[[noreturn]] void refuse_missing(const GraphStatistics& shape, const char* name, const std::string& pointer) {
  const auto own = shape.unknown.find(name), any = shape.unknown.find("*");
  const std::string why = own != shape.unknown.end()   ? own->second
                          : any != shape.unknown.end() ? any->second
                                                       : "its file does not say";
  throw InvalidRequest(pointer + "/" + name, fmt::format("the shape {} does not know its {} ({}); give them with --set "
                                                         "workload.{}=...",
                                                         shape.name, name, why, name));
}

void settle_vertices(CompleteShape& complete, const std::string& pointer) {
  GraphStatistics& shape = complete.shape;
  if (shape.vertices) return;
  if (!shape.active_cells) refuse_missing(shape, "vertices", pointer);
  shape.vertices = std::max<std::int64_t>(1, (*shape.active_cells + *shape.steps - 1) / *shape.steps);
  complete.notes.push_back(fmt::format(
      "vertices of shape {} are not published; {} = active cells / steps gives as many cells (workload.vertices sets "
      "them)",
      shape.name, format_count(*shape.vertices)));
}

/// Expected edges of each step after uniting the last `window` steps: [T]. An edge of step t - g counts when it has not
/// appeared again by step t; the share of such edges is q(g). q(g) = edges that live longer than g / edges with g steps
/// after them, so that sums over steps are those of `smoothed_edges`. Without lives, q = 1: no edge appears again.
std::vector<double> united(const GraphStatistics& shape, const std::vector<std::int64_t>& edges, std::int64_t window) {
  const std::size_t steps = edges.size();
  std::vector<double> sums(steps, 0.0);
  double living = static_cast<double>(*shape.edges), present = living;
  for (std::size_t g = 0; g < static_cast<std::size_t>(window) && g < steps; ++g) {
    const double share = shape.edge_lives.empty() || present == 0 ? 1.0 : living / present;
    for (std::size_t t = g; t < steps; ++t) sums[t] += share * static_cast<double>(edges[t - g]);
    if (!shape.edge_lives.empty()) living -= static_cast<double>(shape.edge_lives[g]);
    present -= static_cast<double>(edges[steps - 1 - g]);
  }
  return sums;
}

/// The publication's count for this smoothing, of the same window or of one that it does not print.
const SmoothedStatistics* published(const GraphStatistics& shape, const Preprocessing& what) {
  for (const SmoothedStatistics& entry : shape.smoothed) {
    if ((entry.smooth == what.smooth || entry.smooth == "union") && entry.window == what.window) return &entry;
  }
  for (const SmoothedStatistics& entry : shape.smoothed) {
    if (entry.smooth == what.smooth && !entry.window) return &entry;
  }
  return nullptr;
}

/// Non-zeros of all steps after smoothing; `bound` is their upper limit.
std::int64_t smoothed_total(const CompleteShape& complete, const Preprocessing& what, std::int64_t bound,
                            std::vector<std::string>& notes) {
  const GraphStatistics& shape = complete.shape;
  const std::optional<std::int64_t> lives = smoothed_edges(shape, what.window);
  if (lives) return *lives;
  if (complete.smoothed_edges > 0) return complete.smoothed_edges;
  const SmoothedStatistics* entry = published(shape, what);
  if (entry != nullptr && entry->edges <= bound) {
    if (!entry->window) {
      notes.push_back(
          fmt::format("smoothed edges of shape {} are those published for {} with a window that is not "
                      "printed",
                      shape.name, entry->smooth));
    }
    return entry->edges;
  }
  notes.push_back(
      fmt::format("how often edges of shape {} come again within {} steps is not known; {} smoothed edges are the most "
                  "there can be "
                  "(workload.smoothed_edges sets them)",
                  shape.name, what.window, format_count(bound)));
  return bound;
}

/// `total` in proportion to `weights`, rounded so that the sum stays.
std::vector<std::int64_t> in_proportion(std::int64_t total, const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> shares;
  double weight = 0;
  std::int64_t given = 0;
  for (const double own : weights) {
    weight += own;
    const std::int64_t until = sum == 0 ? 0 : std::llround(static_cast<double>(total) * weight / sum);
    shares.push_back(until - given);
    given = until;
  }
  return shares;
}

/// Out-degrees (of a walk along the edges: in-degrees, whose matrix is the transpose) of the smoothed cells.
Histogram readers_of(const GraphStatistics& shape, const Preprocessing& what, std::int64_t window, std::int64_t total) {
  const SmoothedStatistics* nearest = nullptr;
  const auto distance = [window](const SmoothedStatistics& entry) {
    return std::abs(std::log(static_cast<double>(*entry.window) / static_cast<double>(window)));
  };
  for (const SmoothedStatistics& entry : shape.smoothed) {
    if (!entry.window || !(what.transposes() ? entry.in_degree : entry.out_degree)) continue;
    if (nearest == nullptr || distance(entry) < distance(*nearest)) nearest = &entry;
  }
  if (nearest == nullptr) return poisson_degrees(*shape.vertices * *shape.steps, total);
  Histogram degrees = what.transposes() ? *nearest->in_degree : *nearest->out_degree;
  if (*nearest->window == window || nearest->edges == 0) return degrees;
  const double factor = static_cast<double>(total) / static_cast<double>(nearest->edges);
  for (Histogram::Bin& bin : degrees.bins) bin.sum = std::llround(static_cast<double>(bin.sum) * factor);
  return degrees;
}

void add_self_loops(const GraphStatistics& shape, const std::vector<std::int64_t>& raw,
                    std::vector<std::int64_t>& counts) {
  for (std::size_t t = 0; t < counts.size(); ++t) {
    // Self-loops of the data grow with smoothing as other edges do; the Laplacian adds the missing ones.
    const double own = shape.self_loops_per_step.empty() || raw[t] == 0
                           ? 0.0
                           : static_cast<double>(shape.self_loops_per_step[t]) * static_cast<double>(counts[t]) /
                                 static_cast<double>(raw[t]);
    counts[t] += *shape.vertices - std::min(*shape.vertices, static_cast<std::int64_t>(std::llround(own)));
  }
}

}  // namespace

const FieldTable& shape_option_fields() {
  using P = ShapeOptions;
  static const FieldTable table =
      make_fields<P>()
          .integer("vertices", &P::vertices, "", "vertices of a shape that does not know them; 0 = as it says", 0)
          .integer("steps", &P::steps, "", "steps of a shape that does not know them; 0 = as it says", 0, 1000000)
          .integer("feature_width", &P::feature_width, "features",
                   "features of a vertex, for such a shape; 0 = as it says", 0, 1000000)
          .integer("edges", &P::edges, "",
                   "distinct edges of a step, summed over steps, for such a shape; 0 = as it says", 0)
          .integer("smoothed_edges", &P::smoothed_edges, "",
                   "edges after the model's smoothing, for such a shape; 0 = as it says", 0);
  return table;
}

bool is_shape_workload(const std::string& name) {
  if (find_dataset(name) != nullptr || GeneratorRegistry::instance().contains(name)) return false;
  if (is_shape_file(name)) return true;
  const std::vector<std::string> names = shape_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

CompleteShape complete_shape(GraphStatistics shape, const ShapeOptions& options, const std::string& pointer) {
  fill(shape.vertices, options.vertices, "vertices", shape, pointer);
  fill(shape.steps, options.steps, "steps", shape, pointer);
  fill(shape.feature_width, options.feature_width, "feature_width", shape, pointer);
  fill(shape.edges, options.edges, "edges", shape, pointer);
  if (!shape.steps) refuse_missing(shape, "steps", pointer);
  if (!shape.edges) refuse_missing(shape, "edges", pointer);
  if (!shape.feature_width) refuse_missing(shape, "feature_width", pointer);
  CompleteShape complete{std::move(shape), options.smoothed_edges, {}};
  settle_vertices(complete, pointer);
  if (*complete.shape.steps == 0 || *complete.shape.edges == 0 || *complete.shape.vertices == 0) {
    throw InvalidRequest(pointer,
                         fmt::format("the shape {} is empty: it has no steps, vertices or edges", complete.shape.name));
  }
  return complete;
}

CompleteShape complete_shape(const std::string& name, const Json& options) {
  return complete_shape(load_shape(name),
                        from_json<ShapeOptions>(shape_option_fields(), without_feature_scale(options), "/workload"),
                        "/workload");
}

Histogram poisson_degrees(std::int64_t cells, std::int64_t edges) {
  const double mean = static_cast<double>(edges) / static_cast<double>(std::max<std::int64_t>(cells, 1));
  Histogram degrees;
  const auto add = [&degrees](std::int64_t degree, std::int64_t count) {
    if (count <= 0) return;
    degrees.bins.push_back({degree, count, degree * count});
    degrees.sum_of_squares += static_cast<double>(degree) * static_cast<double>(degree) * static_cast<double>(count);
    degrees.maximum = degree;
  };
  if (mean > 100) {  // a relative spread below a tenth no longer matters
    add(std::llround(mean), cells);
    degrees.minimum = degrees.maximum;
    return degrees;
  }
  double share = std::exp(-mean), below = 0;
  std::int64_t given = 0;
  for (std::int64_t degree = 0; given < cells && degree < 1000; ++degree) {
    below += share;
    const std::int64_t until =
        std::min(cells, static_cast<std::int64_t>(std::llround(below * static_cast<double>(cells))));
    add(degree, until - given);
    given = until;
    share *= mean / static_cast<double>(degree + 1);
  }
  degrees.minimum = degrees.bins.empty() ? 0 : degrees.bins.front().low;
  return degrees;
}

Histogram cell_in_degrees(const GraphStatistics& shape) {
  for (const SmoothedStatistics& entry : shape.smoothed) {
    if (entry.smooth == "union" && entry.window == 1 && entry.in_degree) return *entry.in_degree;
  }
  return poisson_degrees(*shape.vertices * *shape.steps, *shape.edges);
}

PreparedGraph prepare_shape(const CompleteShape& complete, const Preprocessing& what, std::int64_t steps,
                            std::vector<std::string>& notes) {
  const GraphStatistics& shape = complete.shape;
  if (what.symmetric_pattern) {
    throw InvalidRequest("/model", "the shape " + shape.name +
                                       " does not say how many edges run both ways, which a matrix of the edges at "
                                       "either end needs; take a graph, or leave the model's mask out");
  }
  const std::int64_t window = what.smooth == "none" ? 1 : std::min(what.window, *shape.steps);
  const std::vector<std::int64_t> raw = step_edges(shape);
  const std::vector<double> weights = united(shape, raw, window);
  const std::int64_t most = std::llround(std::accumulate(weights.begin(), weights.end(), 0.0));
  const std::int64_t total = window == 1 ? *shape.edges : smoothed_total(complete, what, most, notes);
  std::vector<std::int64_t> counts = in_proportion(total, weights);
  auto readers = std::make_shared<ReaderCounts>();
  readers->readers = readers_of(shape, what, window, total);
  for (std::int64_t t = 0; t < steps; ++t) {
    const double own = counts[t];
    readers->step_share.push_back(total == 0 ? 0.0 : own / static_cast<double>(total));
  }
  if (what.laplacian) add_self_loops(shape, raw, counts);
  counts.resize(steps);
  PreparedGraph graph;
  graph.vertices = *shape.vertices;
  graph.steps = steps;
  graph.feature_width = *shape.feature_width * what.feature_terms.count();
  graph.first_product_done = what.precompute_first_product;
  graph.features_kept = what.precompute_first_product && what.keep_features;
  graph.counted_nonzeros = std::move(counts);
  graph.counted = std::move(readers);
  return graph;
}

}  // namespace strobe
