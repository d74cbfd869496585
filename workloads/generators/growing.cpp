// Snapshots of a graph that grows: vertices arrive one after the other, and each has an edge in the step of its
// arrival. Returns T snapshots of distinct edges u != v over N vertices, numbered in the order of arrival: round(first
// N) of them at step 0, the others at an even rate. The number of cells under `presence=seen` is therefore exact: N
// (first T + (1 - first) T / 2), to one vertex a step.
// Invariants: edges of a step are normal counts (`normal_counts`) whose sum is `edges` T, in random order. Each vertex
// that arrives draws a partner among those already there. The other edges of the step draw both ends among them: vertex
// alive u^(1 + skew) for u uniform in [0, 1), so early vertices have more edges. `like` takes steps, cells and edges of
// DGC's Table 1. DGC prints sums alone: rate of arrival, share of the first step, spread of edges and skew are
// assumptions, and DGC's own sets may be less even.
// Cost: O(T (N + m log m)) time, shared among the cores.
// Source: DGC (SIGMOD'23) Table 1.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "workloads/generators/generation.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

enum GrowingChannel : std::uint32_t { growing_order = 48, growing_partners = 49, growing_edges = 50 };

struct GrowingParameters {
  std::string like = "none";
  double scale = 1;
  std::int64_t steps = 0;
  std::int64_t vertices = 0;
  double edges = 0;
  double spread = 0.2;
  double first = 0;
  double skew = 1;

  /// Number of vertices that have arrived by step t, itself included.
  std::int64_t alive(std::int64_t t) const {
    const auto begin = std::max<std::int64_t>(2, std::llround(first * static_cast<double>(vertices)));
    if (begin >= vertices) return vertices;
    return steps == 1 ? vertices : begin + (vertices - begin) * t / (steps - 1);
  }
};

const FieldTable& growing_fields() {
  using Growing = GrowingParameters;
  static const FieldTable table =
      make_fields<Growing>()
          .choice("like", &Growing::like, {"none", "amazon", "epinion", "movie", "stack"},
                  "sizes of DGC's Table 1 for what is left open: steps, cells under presence=seen, edges")
          .real("scale", &Growing::scale, "", "with like: share of its cells and edges that is made, steps stay", 1e-6,
                1)
          .integer("steps", &Growing::steps, "", "number of snapshots T; 0 = those of like, or 100", 0,
                   most_generated_steps)
          .integer("vertices", &Growing::vertices, "",
                   "number of vertices N that arrive in all; 0 = the number that gives the cells of like, or 10,000", 0,
                   2147483647)
          .real("edges", &Growing::edges, "", "edges of a step, mean over steps; 0 = those of like, or 5,000", 0, 1e12)
          .real("spread", &Growing::spread, "", "edges of a step, standard deviation over mean", 0, 1)
          .real("first", &Growing::first, "",
                "share of the vertices that are there at the first step; 0 = that of like, or 0.05", 0, 1)
          .real("skew", &Growing::skew, "", "early vertices have more edges; 0 = all the same", 0, 10);
  return table;
}

/// Sizes of a data set: DGC, Table 1.
struct GrowingPreset {
  std::int64_t steps;
  double cells, edges, first;
};

const std::map<std::string, GrowingPreset>& growing_presets() {
  static const std::map<std::string, GrowingPreset> all = {{"amazon", {121, 103e6, 5.7e6, 0.01}},
                                                           {"epinion", {500, 72e6, 13e6, 0.04}},
                                                           {"movie", {289, 43e6, 27e6, 0.1}},
                                                           {"stack", {93, 83e6, 47e6, 0.05}}};
  return all;
}

/// The parameters with open ones (0) filled in. The number of vertices is chosen to give the cells of `like`.
GrowingParameters growing_settled(const Json& json) {
  auto p = from_json<GrowingParameters>(growing_fields(), json, "");
  if (p.like == "none" && p.scale != 1)
    throw InvalidRequest("/scale", "scale shrinks the sizes of like; give like, or vertices and edges");
  const GrowingPreset sizes =
      p.like == "none" ? GrowingPreset{100, 525000, 500000, 0.05} : growing_presets().at(p.like);
  if (p.steps == 0) p.steps = sizes.steps;
  if (p.first == 0) p.first = sizes.first;
  const double steps = p.steps;
  if (p.vertices == 0)
    p.vertices = std::max<std::int64_t>(2, std::llround(2 * sizes.cells * p.scale / (steps * (1 + p.first))));
  if (p.edges == 0) p.edges = sizes.edges * p.scale / steps;
  return p;
}

/// Edges of each step, in random order: [T].
std::vector<std::int64_t> growing_counts(const GrowingParameters& p, std::uint64_t seed) {
  const auto counts = normal_counts(p.steps, p.edges, std::pow(p.spread * p.edges, 2), 0,
                                    std::numeric_limits<double>::infinity(), "/spread");
  const KeyedPermutation order(counts.size(), generator_stream(seed, growing_order));
  std::vector<std::int64_t> mixed;
  for (std::uint64_t i = 0; i < counts.size(); ++i) mixed.push_back(counts[order(i)]);
  return mixed;
}

/// Refuses steps with fewer edges than arriving vertices, or with more than half of all pairs.
void check_growing(const GrowingParameters& p, const std::vector<std::int64_t>& edges) {
  for (std::int64_t t = 0; t < p.steps; ++t) {
    const std::int64_t alive = p.alive(t), come = alive - (t == 0 ? 0 : p.alive(t - 1));
    const std::int64_t wanted = edges[t];
    if (wanted < come) {
      throw InvalidRequest("/edges", fmt::format("{} vertices come at step {} and need an edge each; it has {}. Give "
                                                 "more edges, fewer vertices, or less spread",
                                                 come, t, wanted));
    }
    if (static_cast<double>(wanted) > static_cast<double>(alive) * static_cast<double>(alive - 1) / 2) {
      throw InvalidRequest("/edges", fmt::format("{} edges of step {} are more than half of the pairs of its {} "
                                                 "vertices; give fewer edges, or more vertices at first",
                                                 wanted, t, alive));
    }
  }
}

/// A vertex among the first `alive`, the earlier the more likely.
std::uint64_t popular(std::int64_t alive, double skew, double u) {
  const auto v = static_cast<std::int64_t>(static_cast<double>(alive) * std::pow(u, 1 + skew));
  return static_cast<std::uint64_t>(std::min(v, alive - 1));
}

/// One edge of each vertex that arrives at step t, from or to an earlier one; ascending and distinct.
std::vector<std::uint64_t> first_edges(const GrowingParameters& p, std::int64_t t, std::uint64_t seed) {
  const std::int64_t alive = p.alive(t);
  const RandomStream random = generator_stream(seed, growing_partners, t);
  std::vector<std::uint64_t> codes;
  for (std::int64_t v = t == 0 ? 0 : p.alive(t - 1); v < alive; ++v) {
    const std::uint64_t self = v;
    std::uint64_t partner = popular(alive, p.skew, random.uniform(2 * self));
    if (partner == self) partner = (self + 1) % static_cast<std::uint64_t>(alive);
    codes.push_back(random.below(2 * self + 1, 2) == 0 ? edge_code(self, partner) : edge_code(partner, self));
  }
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

SnapshotGraph generate_growing(const Json& json, std::uint64_t seed) {
  const GrowingParameters p = growing_settled(json);
  const int threads = generator_threads();
  check_generated_size(p.vertices, p.steps, p.edges * static_cast<double>(p.steps), 24 * p.edges * threads, "/edges");
  const std::vector<std::int64_t> edges = growing_counts(p, seed);
  check_growing(p, edges);
  SnapshotGraph graph = start_graph("growing", growing_fields(), json, seed, p.vertices, p.steps);
  Workers workers(threads);
  workers.run(p.steps, [&](std::int64_t t) {
    std::vector<std::uint64_t> chosen = first_edges(p, t, seed);
    const std::int64_t alive = p.alive(t);
    const RandomStream random = generator_stream(seed, growing_edges, t);
    draw_distinct(
        chosen, static_cast<std::size_t>(edges[t]), {},
        [&](std::uint64_t i) {
          const std::uint64_t target = popular(alive, p.skew, random.uniform(2 * i));
          const std::uint64_t source = popular(alive, p.skew, random.uniform(2 * i + 1));
          return target == source ? no_edge : edge_code(target, source);
        },
        nullptr, "/edges");
    set_step(graph, t, chosen);
  });
  return graph;
}

const Register<GeneratorTag> growing_registered{
    {"growing",
     "vertices that come at an even rate and stay; sizes of DGC's data sets",
     "DGC (SIGMOD'23) Table 1",
     growing_fields(),
     generate_growing,
     {}}};

}  // namespace
}  // namespace strobe
