// Spatio-temporally non-uniform snapshots: edges per step and lengths of vertex sequences follow normal distributions
// of chosen mean and variance. Returns T snapshots of distinct edges u != v. Every vertex lives for L consecutive steps
// and has edges only then. It has an edge in its first and in its last step, so the edges show its life. The counts'
// own mean and variance are the parameters' (see `normal_counts`: cut off at 0 edges, and at 1 and T steps).
// Invariants: a life is placed at random over a range that extends past both ends, and is then pushed inside, so that
// first and last steps have living vertices too. It moves to another step where first and last appearances already take
// half of the step's edge ends. The other edges of a step are a uniform choice among the pairs that live there. DGC
// draws edges per step ("a normal distribution with a fixed mean value (i.e., 20K), and variable variances") and
// changes the vertices of a step to get sequences of different lengths. It prints 5M vertices summed over 100 steps and
// 2M edges, which the defaults give. Unbroken lives and normal lengths are choices made here.
// Cost: O(N + T (N + m log m)) time, steps shared among the cores.
// Source: DGC (SIGMOD'23) section 7.3.1.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.hpp"
#include "workloads/generators/generation.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

enum NonuniformChannel : std::uint32_t { step_order = 32, vertex_order = 33, beginnings = 34, ends = 35, draws = 36 };

struct NonuniformParameters {
  std::int64_t steps = 100;
  std::int64_t vertices = 100000;
  double edges_mean = 20000;
  double edges_variance = 2.5e7;
  double length_mean = 50;
  double length_variance = 100;
};

const FieldTable& nonuniform_fields() {
  static const FieldTable table =
      make_fields<NonuniformParameters>()
          .integer("steps", &NonuniformParameters::steps, "", "number of snapshots T", 1, most_generated_steps)
          .integer("vertices", &NonuniformParameters::vertices, "", "number of vertices N that live at some time", 2,
                   2147483647)
          .real("edges_mean", &NonuniformParameters::edges_mean, "", "edges of a step, mean over steps", 0, 1e12)
          .real("edges_variance", &NonuniformParameters::edges_variance, "", "edges of a step, variance over steps", 0,
                1e24)
          .real("length_mean", &NonuniformParameters::length_mean, "steps",
                "length of a vertex's life, mean over vertices", 1, most_generated_steps)
          .real("length_variance", &NonuniformParameters::length_variance, "steps^2",
                "length of a vertex's life, variance over vertices", 0, 1e12);
  return table;
}

/// Lives [begin, end) of vertices, and for each step how many begin or end there.
struct Lives {
  std::vector<Step> begin, end;        // [N]
  std::vector<std::int64_t> marginal;  // [T] vertices whose first or last step it is
  std::vector<std::int64_t> alive;     // [T]
};

/// Values in the order of a random permutation.
std::vector<std::int64_t> shuffled(const std::vector<std::int64_t>& values, const RandomStream& random) {
  const KeyedPermutation order(values.size(), random);
  std::vector<std::int64_t> result;
  result.reserve(values.size());
  for (std::uint64_t i = 0; i < values.size(); ++i) result.push_back(values[order(i)]);
  return result;
}

/// The first step from `wanted` on (cyclically; away from the nearer end) at which a life of `length` steps can begin.
/// It can when half of the edge ends of its first and of its last step are still free. Returns -1 when there is no such
/// step.
std::int64_t place_life(const Lives& lives, const std::vector<std::int64_t>& edges, std::int64_t length,
                        std::int64_t wanted) {
  const auto steps = static_cast<std::int64_t>(edges.size()), places = steps - length + 1;
  const auto has_room = [&](std::int64_t t) { return lives.marginal[t] < edges[t]; };
  const std::int64_t stride = 2 * wanted < places ? 1 : places - 1;
  for (std::int64_t tried = 0, begin = wanted; tried < places; ++tried, begin = (begin + stride) % places) {
    if (has_room(begin) && has_room(begin + length - 1)) return begin;
  }
  return -1;
}

/// Gives every vertex its life. Long lives choose first, as they have the fewest places.
Lives draw_lives(const NonuniformParameters& parameters, const std::vector<std::int64_t>& edges, std::uint64_t seed) {
  const auto vertices = static_cast<std::size_t>(parameters.vertices), steps = edges.size();
  const auto lengths = normal_counts(parameters.vertices, parameters.length_mean, parameters.length_variance, 1,
                                     static_cast<double>(steps), "/length_variance");
  const KeyedPermutation vertex_of(vertices, generator_stream(seed, vertex_order));
  const RandomStream random = generator_stream(seed, beginnings);
  Lives lives{std::vector<Step>(vertices), std::vector<Step>(vertices), std::vector<std::int64_t>(steps, 0),
              std::vector<std::int64_t>(steps + 1, 0)};
  for (std::size_t i = vertices; i-- > 0;) {
    const std::size_t v = vertex_of(i);
    // Drawn as if steps went on at both ends, then pushed inside: else few vertices would live at the first and last.
    const auto last_place = static_cast<std::int64_t>(steps) - lengths[i];
    const std::uint64_t around = static_cast<std::int64_t>(steps) + lengths[i] - 1;
    const auto drawn = static_cast<std::int64_t>(random.below(i, around)) - (lengths[i] - 1);
    const std::int64_t begin = place_life(lives, edges, lengths[i], std::clamp<std::int64_t>(drawn, 0, last_place));
    if (begin < 0) {
      throw InvalidRequest("/edges_mean", fmt::format("{} vertices need an edge in their first and in their last step; "
                                                      "there are too few edges at the steps where they fit",
                                                      parameters.vertices));
    }
    const auto first = static_cast<std::size_t>(begin), last = static_cast<std::size_t>(begin + lengths[i] - 1);
    lives.begin[v] = static_cast<Step>(first);
    lives.end[v] = static_cast<Step>(last + 1);
    ++lives.marginal[first];
    if (last != first) ++lives.marginal[last];
    ++lives.alive[first];
    --lives.alive[last + 1];
  }
  for (std::size_t t = 1; t <= steps; ++t) lives.alive[t] += lives.alive[t - 1];
  return lives;
}

/// Refuses steps whose edges do not fit between the vertices that live there.
void check_steps(const Lives& lives, const std::vector<std::int64_t>& edges) {
  for (std::size_t t = 0; t < edges.size(); ++t) {
    const double alive = lives.alive[t];
    if (static_cast<double>(edges[t]) > alive * (alive - 1) / 2) {
      throw InvalidRequest("/edges_mean", fmt::format("step {} has {} living vertices; {} edges are more than half of "
                                                      "their pairs",
                                                      t, lives.alive[t], edges[t]));
    }
  }
}

/// Pairs up the vertices that begin or end at step t, in random order; a last single one meets any other living one.
std::vector<std::uint64_t> marginal_edges(const std::vector<std::uint64_t>& living, const Lives& lives, std::int64_t t,
                                          std::uint64_t seed) {
  std::vector<std::uint64_t> marginal;
  for (const std::uint64_t v : living) {
    if (lives.begin[v] == t || lives.end[v] == t + 1) marginal.push_back(v);
  }
  const RandomStream random = generator_stream(seed, ends, t);
  const KeyedPermutation order(marginal.size(), random);
  std::vector<std::uint64_t> edges;
  for (std::uint64_t i = 0; i + 1 < marginal.size(); i += 2)
    edges.push_back(edge_code(marginal[order(i)], marginal[order(i + 1)]));
  if (marginal.size() % 2 == 1) {
    const std::uint64_t single = marginal[order(marginal.size() - 1)];
    std::uint64_t other = living[random.below(4, living.size())];
    if (other == single) other = living.front() == single ? living.back() : living.front();
    edges.push_back(edge_code(single, other));
  }
  std::sort(edges.begin(), edges.end());
  return edges;
}

SnapshotGraph generate_nonuniform(const Json& json, std::uint64_t seed) {
  const auto parameters = from_json<NonuniformParameters>(nonuniform_fields(), json, "");
  const double all_edges = parameters.edges_mean * static_cast<double>(parameters.steps);
  const int threads = generator_threads();
  check_generated_size(parameters.vertices, parameters.steps, all_edges,
                       8.0 * (threads + 3) * static_cast<double>(parameters.vertices), "/edges_mean");
  const std::vector<std::int64_t> edges =
      shuffled(normal_counts(parameters.steps, parameters.edges_mean, parameters.edges_variance, 0,
                             std::numeric_limits<double>::infinity(), "/edges_variance"),
               generator_stream(seed, step_order));
  const Lives lives = draw_lives(parameters, edges, seed);
  check_steps(lives, edges);
  SnapshotGraph graph =
      start_graph("nonuniform", nonuniform_fields(), json, seed, parameters.vertices, parameters.steps);
  Workers workers(threads);
  workers.run(parameters.steps, [&](std::int64_t t) {
    std::vector<std::uint64_t> living;
    for (std::size_t v = 0; v < lives.begin.size(); ++v) {
      if (lives.begin[v] <= t && t < lives.end[v]) living.push_back(v);
    }
    std::vector<std::uint64_t> chosen = marginal_edges(living, lives, t, seed);
    const RandomStream random = generator_stream(seed, draws, t);
    draw_distinct(
        chosen, static_cast<std::size_t>(edges[t]), {},
        [&](std::uint64_t i) {
          const std::uint64_t target = living[random.below(2 * i, living.size())];
          const std::uint64_t source = living[random.below(2 * i + 1, living.size())];
          return target == source ? no_edge : edge_code(target, source);
        },
        nullptr, "/edges_mean");
    set_step(graph, t, chosen);
  });
  return graph;
}

const Register<GeneratorTag> nonuniform_registered{{"nonuniform",
                                                    "normal numbers of edges per step and lengths of vertex lives",
                                                    "DGC (SIGMOD'23) section 7.3.1",
                                                    nonuniform_fields(),
                                                    generate_nonuniform,
                                                    {}}};

}  // namespace
}  // namespace strobe
