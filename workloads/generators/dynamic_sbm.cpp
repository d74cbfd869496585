// Dynamic stochastic block model: communities with denser edges inside, and vertices that move between them. The label
// is the community, so the task has a known answer. Returns T snapshots over N vertices in C communities, which begin
// with equal sizes (to 1). At every later step a vertex moves with probability `moving`, to any other community with
// equal probability. Given communities, each ordered pair u != v is an edge independent of all others. Its probability
// is inside / (N / C - 1) when both are in one community, otherwise outside / (N - N / C). So a vertex expects `inside`
// in-neighbours in its own community and `outside` others while communities have their first sizes. cell_label[t * N +
// v] is the community of v at step t; vertex_label holds it as well when nobody moves.
// Invariants: the edges into v at step t are a function of (seed, v, t) and of the communities at t.
// Cost: O(T N + edges log d) expected, d = edges of a row; steps shared among the cores. Edges are found by geometric
// skips (Batagelj and Brandes, "Efficient generation of large random networks", 2005).
// Source: Yang, Chi, Zhu, Gong and Jin, "Detecting communities and their evolutions in dynamic social networks",
// Machine Learning 82 (2011).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "workloads/generators/generation.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

enum DynamicSbmChannel : std::uint32_t { first_community = 48, moves = 49, skips = 50 };

struct DynamicSbmParameters {
  std::int64_t steps = 32;
  std::int64_t vertices = 1000;
  std::int64_t communities = 4;
  double inside = 8;
  double outside = 2;
  double moving = 0.02;
};

const FieldTable& dynamic_sbm_fields() {
  static const FieldTable table =
      make_fields<DynamicSbmParameters>()
          .integer("steps", &DynamicSbmParameters::steps, "", "number of snapshots T", 1, most_generated_steps)
          .integer("vertices", &DynamicSbmParameters::vertices, "", "number of vertices N", 2, 2147483647)
          .integer("communities", &DynamicSbmParameters::communities, "",
                   "number of communities C, the classes of the labels", 1, 127)
          .real("inside", &DynamicSbmParameters::inside, "",
                "expected in-neighbours of a vertex from its own community, per step", 0, 1e9)
          .real("outside", &DynamicSbmParameters::outside, "",
                "expected in-neighbours from all other communities, per step", 0, 1e9)
          .real("moving", &DynamicSbmParameters::moving, "",
                "probability that a vertex changes its community between two steps", 0, 1);
  return table;
}

struct Probabilities {
  double inside = 0, outside = 0;
};

Probabilities probabilities(const DynamicSbmParameters& parameters) {
  const auto n = static_cast<double>(parameters.vertices), own = n / static_cast<double>(parameters.communities);
  if (parameters.communities * 2 > parameters.vertices) {
    throw InvalidRequest("/communities", fmt::format("{} vertices make at most {} communities of two",
                                                     parameters.vertices, parameters.vertices / 2));
  }
  if (parameters.inside > own - 1) {
    throw InvalidRequest("/inside",
                         fmt::format("a community of {:.6g} has no {:.6g} neighbours inside", own, parameters.inside));
  }
  if (parameters.outside > n - own) {
    throw InvalidRequest("/outside", fmt::format("there are {:.6g} vertices outside a community, not {:.6g}", n - own,
                                                 parameters.outside));
  }
  if (parameters.moving > 0 && parameters.communities == 1)
    throw InvalidRequest("/moving", "there is no other community to move to");
  return {parameters.inside / (own - 1), n > own ? parameters.outside / (n - own) : 0};
}

/// Communities of all vertices at all steps, [T * N].
std::vector<std::int8_t> draw_communities(const DynamicSbmParameters& parameters, std::uint64_t seed) {
  const auto vertices = static_cast<std::size_t>(parameters.vertices),
             steps = static_cast<std::size_t>(parameters.steps);
  const std::uint64_t communities = parameters.communities;
  std::vector<std::int8_t> label(steps * vertices);
  const KeyedPermutation order(vertices, generator_stream(seed, first_community));
  for (std::size_t v = 0; v < vertices; ++v) label[v] = static_cast<std::int8_t>(order(v) % communities);
  for (std::size_t t = 1; t < steps; ++t) {
    const RandomStream random = generator_stream(seed, moves, static_cast<std::int64_t>(t));
    for (std::size_t v = 0; v < vertices; ++v) {
      std::uint64_t now = label[(t - 1) * vertices + v];
      if (parameters.moving > 0 && random.uniform(2 * v) < parameters.moving)
        now = (now + 1 + random.below(2 * v + 1, communities - 1)) % communities;
      label[t * vertices + v] = static_cast<std::int8_t>(now);
    }
  }
  return label;
}

/// Positions in [0, count), each there with `probability` by itself: calls visit(position) for those that are.
/// `next` counts the random numbers used.
template <class Visit>
void visit_chosen(std::uint64_t count, double probability, const RandomStream& random, std::uint64_t& next,
                  Visit&& visit) {
  if (!(probability > 0)) return;
  const double scale = probability < 1 ? 1 / std::log1p(-probability) : 0;
  // A gap is geometric: the logarithm of a uniform number in (0, 1] over log(1 - p).
  const auto gap = [&] { return std::floor(std::log(1 - random.uniform(next++)) * scale); };
  for (double position = gap(); position < static_cast<double>(count); position += 1 + gap())
    visit(static_cast<std::uint64_t>(position));
}

/// The edges of one step, ascending. Vertices sorted by community make a community a range of positions.
std::vector<std::uint64_t> draw_step(const std::int8_t* label, const DynamicSbmParameters& parameters,
                                     const Probabilities& p, const RandomStream& random) {
  const std::size_t vertices = parameters.vertices;
  std::vector<std::size_t> first(static_cast<std::size_t>(parameters.communities) + 1, 0);
  for (std::size_t v = 0; v < vertices; ++v) ++first[static_cast<std::size_t>(label[v]) + 1];
  for (std::size_t c = 1; c < first.size(); ++c) first[c] += first[c - 1];
  std::vector<std::size_t> next_place(first.begin(), first.end() - 1);
  std::vector<std::uint32_t> member(vertices);
  for (std::size_t v = 0; v < vertices; ++v) member[next_place[label[v]]++] = static_cast<std::uint32_t>(v);
  std::vector<std::uint64_t> codes;
  for (std::size_t v = 0; v < vertices; ++v) {
    const std::size_t own = label[v];
    const std::size_t begin = first[own], size = first[own + 1] - begin;
    std::uint64_t next = static_cast<std::uint64_t>(v) << 32;
    const std::size_t row_begin = codes.size();
    visit_chosen(size, p.inside, random, next, [&](std::uint64_t i) {
      if (member[begin + i] != v) codes.push_back(edge_code(v, member[begin + i]));
    });
    visit_chosen(vertices - size, p.outside, random, next,
                 [&](std::uint64_t i) { codes.push_back(edge_code(v, member[i < begin ? i : i + size])); });
    std::sort(codes.begin() + static_cast<std::ptrdiff_t>(row_begin), codes.end());
  }
  return codes;
}

SnapshotGraph generate_dynamic_sbm(const Json& json, std::uint64_t seed) {
  const auto parameters = from_json<DynamicSbmParameters>(dynamic_sbm_fields(), json, "");
  const Probabilities p = probabilities(parameters);
  const double n = parameters.vertices;
  const double step_edges = n * (parameters.inside + parameters.outside);
  const int threads = generator_threads();
  check_generated_size(parameters.vertices, parameters.steps, step_edges * static_cast<double>(parameters.steps),
                       threads * (16 * step_edges + 4 * n), "/inside");
  SnapshotGraph graph =
      start_graph("dynamic-sbm", dynamic_sbm_fields(), json, seed, parameters.vertices, parameters.steps);
  graph.cell_label = draw_communities(parameters, seed);
  const std::ptrdiff_t vertices = parameters.vertices;
  if (parameters.moving == 0) graph.vertex_label.assign(graph.cell_label.begin(), graph.cell_label.begin() + vertices);
  Workers workers(threads);
  workers.run(parameters.steps, [&](std::int64_t t) {
    set_step(graph, t,
             draw_step(graph.cell_label.data() + t * vertices, parameters, p, generator_stream(seed, skips, t)));
  });
  return graph;
}

const Register<GeneratorTag> dynamic_sbm_registered{
    {"dynamic-sbm",
     "stochastic blocks that vertices move between, with the block as label",
     "Yang et al., Machine Learning 82 (2011), dynamic stochastic block model",
     dynamic_sbm_fields(),
     generate_dynamic_sbm,
     {}}};

}  // namespace
}  // namespace strobe
