// Uniform random snapshots for weak scaling: T snapshots over N vertices, each with m = round(N f) edges.
// Returns snapshots whose m edges are distinct ordered pairs u != v, every such set equally likely, independent from
// step to step, with value 1 and (in, out) degrees as features. ESDG says "randomly selecting m = N f pairs"; pairs
// are made distinct here so that every snapshot has exactly m edges.
// Invariants: step t depends on (seed, t, N, m) alone: its edges are the first m distinct values of the stream
// (seed, generator, t). When more than half of all pairs are wanted, the pairs left out are drawn instead.
// Cost: O(T (N + m log m)) time, shared among the cores. Source: ESDG section 6.3, weak scaling.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

struct Parameters {
  std::int64_t steps = 64;
  std::int64_t vertices = 1024;
  double density = 3;
};

const FieldTable& fields() {
  static const FieldTable table =
      make_fields<Parameters>()
          .integer("steps", &Parameters::steps, "", "number of snapshots T", 1, 1e6)
          .integer("vertices", &Parameters::vertices, "", "number of vertices N", 2, 2147483647)
          .real("density", &Parameters::density, "", "edges per vertex and step f", 0, 1e6);
  return table;
}

/// `count` distinct values below `range`, ascending: the first distinct ones of the stream.
std::vector<std::uint64_t> draw_distinct(const RandomStream& random, std::uint64_t range, std::size_t count) {
  std::vector<std::uint64_t> values;
  values.reserve(count);
  std::uint64_t drawn = 0;
  while (values.size() < count) {
    // Drawing exactly the shortfall keeps the result independent of batching.
    for (std::size_t missing = count - values.size(); missing > 0; --missing)
      values.push_back(random.below(drawn++, range));
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
  return values;
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

/// One snapshot from its edges, numbered row-major over the N x (N - 1) pairs of different vertices.
std::shared_ptr<const Snapshot> make_snapshot(std::int64_t vertices, const std::vector<std::uint64_t>& edges,
                                              float* features) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->row_offsets.assign(static_cast<std::size_t>(vertices) + 1, 0);
  snapshot->columns.reserve(edges.size());
  snapshot->values.assign(edges.size(), 1.0f);
  const auto others = static_cast<std::uint64_t>(vertices - 1);
  for (const std::uint64_t edge : edges) {
    const std::uint64_t row = edge / others, rest = edge % others;
    const std::uint64_t column = rest + (rest >= row ? 1 : 0);
    ++snapshot->row_offsets[row + 1];
    snapshot->columns.push_back(static_cast<VertexId>(column));
    features[2 * row] += 1.0f;
    features[2 * column + 1] += 1.0f;
  }
  for (std::size_t v = 0; v < static_cast<std::size_t>(vertices); ++v)
    snapshot->row_offsets[v + 1] += snapshot->row_offsets[v];
  return snapshot;
}

SnapshotGraph generate(const Json& json, std::uint64_t seed) {
  const auto parameters = from_json<Parameters>(fields(), json, "");
  const std::int64_t vertices = parameters.vertices;
  const auto pairs = static_cast<std::uint64_t>(vertices) * static_cast<std::uint64_t>(vertices - 1);
  const double wanted = std::round(static_cast<double>(vertices) * parameters.density);
  if (wanted > static_cast<double>(pairs)) {
    throw InvalidRequest("/density",
                         fmt::format("{:.0f} distinct edges do not exist between {} vertices", wanted, vertices));
  }
  const auto edges = static_cast<std::size_t>(wanted);
  SnapshotGraph graph;
  graph.vertices = vertices;
  graph.feature_width = 2;
  graph.provenance.name = "uniform";
  graph.provenance.format = "generated";
  graph.provenance.source = fmt::format("uniform {} seed {}", fields().complete(json, "").dump(), seed);
  graph.snapshots.resize(static_cast<std::size_t>(parameters.steps));
  const std::size_t step_features = static_cast<std::size_t>(vertices) * 2;
  graph.features.assign(graph.snapshots.size() * step_features, 0.0f);
  const bool dense = edges > pairs / 2;
  Workers workers(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  workers.run(parameters.steps, [&](std::int64_t t) {
    const RandomStream random(seed, random_purpose::generator, static_cast<std::uint32_t>(t));
    auto chosen = draw_distinct(random, pairs, dense ? static_cast<std::size_t>(pairs) - edges : edges);
    if (dense) chosen = complement(chosen, pairs);
    graph.snapshots[static_cast<std::size_t>(t)] =
        make_snapshot(vertices, chosen, graph.features.data() + static_cast<std::size_t>(t) * step_features);
  });
  return graph;
}

const Register<GeneratorTag> registered{{"uniform",
                                         "T independent snapshots of N vertices with N f random distinct edges",
                                         "ESDG (SC'21) section 6.3, weak scaling",
                                         fields(),
                                         generate,
                                         {}}};

}  // namespace
}  // namespace strobe
