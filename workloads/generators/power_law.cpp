// Power-law snapshots with temporal churn of a chosen overlap, to sweep the graph-difference ratio. Returns T snapshots
// of exactly m distinct edges u != v. Step t + 1 keeps a random part of the edges of step t and replaces the others by
// edges that step t does not have, so `mean_overlap` equals the parameter to 1 / (2 m (T - 1)). Both ends of new edges
// are drawn in proportion to (i + i0)^(-1 / (gamma - 1)), i = the rank of a vertex: degrees then have the density
// d^-gamma. i0 sets the largest expected degree (of in and of out, per step). Ranks are given to vertices at random; a
// vertex has one rank, so who receives much sends much.
// Invariants: distinct edges and the refusal of u = v reduce the very largest degrees. Edges kept are a uniform choice,
// so the distribution does not drift. The graph depends on (parameters, seed) alone.
// Cost: O(T (N + m log m)) time; drawing is shared among the cores.
// Source: the expected-degree model of Chung and Lu, "Connected components in random graphs with given expected degree
// sequences", 2002; overlap o and its meaning: ESDG (SC'21) section 3.2, graph difference.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "workloads/generators/generation.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

enum PowerLawChannel : std::uint32_t { ranks = 16, draws = 17, keeping = 18 };

struct PowerLawParameters {
  std::int64_t steps = 64;
  std::int64_t vertices = 10000;
  std::int64_t edges = 30000;
  double overlap = 0.8;
  double exponent = 2.5;
  double largest_degree = 0;
};

const FieldTable& power_law_fields() {
  static const FieldTable table =
      make_fields<PowerLawParameters>()
          .integer("steps", &PowerLawParameters::steps, "", "number of snapshots T", 1, most_generated_steps)
          .integer("vertices", &PowerLawParameters::vertices, "", "number of vertices N", 2, 2147483647)
          .integer("edges", &PowerLawParameters::edges, "", "edges of every step m", 0, 1e12)
          .real("overlap", &PowerLawParameters::overlap, "",
                "share of a step's edges that the step before has, mean over steps", 0, 1)
          .real("exponent", &PowerLawParameters::exponent, "", "exponent gamma of the degree density d^-gamma", 2.01,
                10)
          .real("largest_degree", &PowerLawParameters::largest_degree, "",
                "largest expected in-degree and out-degree of a step; 0 = the square root of the edges", 0, 1e9);
  return table;
}

/// Random ranks with expected degrees of a power law: rank i in proportion to the integral of (x + i0)^-beta over
/// [i, i + 1].
class PowerLawRank {
 public:
  PowerLawRank(const PowerLawParameters& parameters, double largest) : vertices_(parameters.vertices) {
    const double beta = 1 / (parameters.exponent - 1), n = static_cast<double>(parameters.vertices);
    const double mean = static_cast<double>(parameters.edges) / n;
    // Chung and Lu's i0; at least a little above 0 so that the first rank stays finite.
    const double offset = n * std::pow(mean * (1 - beta) / std::max(largest, mean), 1 / beta);
    power_ = 1 - beta;
    offset_ = std::max(offset, 1e-9);
    begin_ = std::pow(offset_, power_);
    length_ = std::pow(offset_ + n, power_) - begin_;
  }

  std::uint64_t operator()(double uniform) const {
    const double rank = std::pow(begin_ + uniform * length_, 1 / power_) - offset_;
    return static_cast<std::uint64_t>(std::clamp<std::int64_t>(static_cast<std::int64_t>(rank), 0, vertices_ - 1));
  }

 private:
  std::int64_t vertices_;
  double power_, offset_, begin_, length_;
};

void check_power_law(const PowerLawParameters& parameters) {
  const double n = static_cast<double>(parameters.vertices), pairs = n * (n - 1);
  const double edges = parameters.edges;
  if (edges > pairs / 4) {
    throw InvalidRequest("/edges", fmt::format("{} edges are more than a quarter of the {:.0f} pairs; a power law of "
                                               "distinct edges needs a sparser step",
                                               parameters.edges, pairs));
  }
  if (parameters.largest_degree > n - 1) {
    throw InvalidRequest("/largest_degree", fmt::format("{} vertices have degrees below that", parameters.vertices));
  }
  if (parameters.largest_degree > 0 && parameters.largest_degree * n < edges) {
    throw InvalidRequest("/largest_degree", fmt::format("the mean degree is {:.4g}, no less", edges / n));
  }
  if (parameters.largest_degree * parameters.largest_degree > 16 * edges) {
    throw InvalidRequest("/largest_degree", fmt::format("must be at most {:.4g}, four times the square root of the "
                                                        "edges: beyond, hubs run out of distinct pairs",
                                                        4 * std::sqrt(edges)));
  }
  check_generated_size(parameters.vertices, parameters.steps, edges * static_cast<double>(parameters.steps),
                       40 * edges + 4 * n, "/edges");
}

/// `count` of the ascending `edges`, chosen at random, ascending.
std::vector<std::uint64_t> choose(const std::vector<std::uint64_t>& edges, std::size_t count,
                                  const RandomStream& random) {
  const KeyedPermutation order(edges.size(), random);
  std::vector<std::uint64_t> chosen(count);
  for (std::size_t i = 0; i < count; ++i) chosen[i] = edges[order(i)];
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

SnapshotGraph generate_power_law(const Json& json, std::uint64_t seed) {
  const auto parameters = from_json<PowerLawParameters>(power_law_fields(), json, "");
  check_power_law(parameters);
  const std::size_t edges = parameters.edges;
  const std::vector<std::int64_t> kept =
      edges_to_keep(std::vector<std::int64_t>(parameters.steps, parameters.edges), parameters.overlap, "/overlap");
  const double largest =
      parameters.largest_degree > 0 ? parameters.largest_degree : std::sqrt(static_cast<double>(parameters.edges));
  const PowerLawRank rank(parameters, largest);
  const KeyedPermutation vertex(static_cast<std::uint64_t>(parameters.vertices), generator_stream(seed, ranks));
  SnapshotGraph graph = start_graph("power-law", power_law_fields(), json, seed, parameters.vertices, parameters.steps);
  Workers workers(generator_threads());
  std::vector<std::uint64_t> before, now;
  for (std::int64_t t = 0; t < parameters.steps; ++t) {
    const RandomStream random = generator_stream(seed, draws, t);
    now = choose(before, static_cast<std::size_t>(kept[t]), generator_stream(seed, keeping, t));
    draw_distinct(
        now, edges, before,
        [&](std::uint64_t i) {
          const std::uint64_t target = vertex(rank(random.uniform(2 * i))),
                              source = vertex(rank(random.uniform(2 * i + 1)));
          return target == source ? no_edge : edge_code(target, source);
        },
        &workers, "/edges");
    set_step(graph, t, now);
    before.swap(now);
  }
  return graph;
}

const Register<GeneratorTag> registered{{"power-law",
                                         "power-law degrees, m edges a step; a chosen share of them stays for the next",
                                         "Chung and Lu, Annals of Combinatorics 6 (2002); ESDG (SC'21) section 3.2",
                                         power_law_fields(),
                                         generate_power_law,
                                         {}}};

}  // namespace
}  // namespace strobe
