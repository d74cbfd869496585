// Uniform random snapshots for weak scaling: T snapshots over N vertices, each with m = round(N f) edges. Returns
// snapshots whose m edges are distinct ordered pairs u != v. Every such set is equally likely, independent from step to
// step. Values are 1 and features are (in, out) degrees. ESDG says "randomly selecting m = N f pairs"; pairs are made
// distinct here so that every snapshot has exactly m edges.
// Invariants: step t depends on (seed, t, N, m) alone: its edges are the first m distinct values of the stream (seed,
// generator, t). When more than half of all pairs are requested, the pairs left out are drawn instead.
// Cost: O(T (N + m log m)) time, shared among the cores.
// Source: ESDG section 6.3, weak scaling.
#include <fmt/format.h>

#include <cmath>

#include "workloads/generators/generation.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

struct UniformParameters {
  std::int64_t steps = 64;
  std::int64_t vertices = 1024;
  double density = 3;
};

const FieldTable& uniform_fields() {
  static const FieldTable table =
      make_fields<UniformParameters>()
          .integer("steps", &UniformParameters::steps, "", "number of snapshots T", 1, most_generated_steps)
          .integer("vertices", &UniformParameters::vertices, "", "number of vertices N", 2, 2147483647)
          .real("density", &UniformParameters::density, "", "edges per vertex and step f", 0, 1e6);
  return table;
}

/// All values below `range` that are not in the ascending list `without`.
std::vector<std::uint64_t> complement(const std::vector<std::uint64_t>& without, std::uint64_t range) {
  std::vector<std::uint64_t> values;
  values.reserve(static_cast<std::size_t>(range) - without.size());
  std::size_t next = 0;
  for (std::uint64_t value = 0; value < range; ++value) {
    if (next < without.size() && without[next] == value)
      ++next;
    else
      values.push_back(value);
  }
  return values;
}

/// Edges numbered row-major over the N x (N - 1) pairs of different vertices become edge codes, order kept.
void number_to_code(std::vector<std::uint64_t>& edges, std::uint64_t vertices) {
  for (std::uint64_t& edge : edges) {
    const std::uint64_t row = edge / (vertices - 1), rest = edge % (vertices - 1);
    edge = edge_code(row, rest + (rest >= row ? 1 : 0));
  }
}

SnapshotGraph generate_uniform(const Json& json, std::uint64_t seed) {
  const auto parameters = from_json<UniformParameters>(uniform_fields(), json, "");
  const std::int64_t vertices = parameters.vertices;
  const auto pairs = static_cast<std::uint64_t>(vertices) * static_cast<std::uint64_t>(vertices - 1);
  const double wanted = std::round(static_cast<double>(vertices) * parameters.density);
  if (wanted > static_cast<double>(pairs)) {
    throw InvalidRequest("/density",
                         fmt::format("{:.0f} distinct edges do not exist between {} vertices", wanted, vertices));
  }
  const int threads = generator_threads();
  check_generated_size(vertices, parameters.steps, wanted * static_cast<double>(parameters.steps),
                       24 * wanted * threads, "/density");
  const auto edges = static_cast<std::size_t>(wanted);
  const bool dense = edges > pairs / 2;
  SnapshotGraph graph = start_graph("uniform", uniform_fields(), json, seed, vertices, parameters.steps);
  Workers workers(threads);
  workers.run(parameters.steps, [&](std::int64_t t) {
    const RandomStream random = generator_stream(seed, 0, t);
    std::vector<std::uint64_t> chosen;
    draw_distinct(
        chosen, dense ? static_cast<std::size_t>(pairs) - edges : edges, {},
        [&](std::uint64_t i) { return random.below(i, pairs); }, nullptr, "/density");
    if (dense) chosen = complement(chosen, pairs);
    number_to_code(chosen, static_cast<std::uint64_t>(vertices));
    set_step(graph, t, chosen);
  });
  return graph;
}

const Register<GeneratorTag> uniform_registered{{"uniform",
                                                 "T independent snapshots of N vertices with N f random distinct edges",
                                                 "ESDG (SC'21) section 6.3, weak scaling",
                                                 uniform_fields(),
                                                 generate_uniform,
                                                 {}}};

}  // namespace
}  // namespace strobe
