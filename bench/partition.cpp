// Every partitioner on generated graphs of 1e5 and 1e6 vertices in 8 parts: how long it takes, the rows that
// one spatial pass must then send (lambda - 1), as a share of all cells and of what `range` sends, and its balance.
// power_law: Chung and Lu's degrees without any community, for which little can be gained; communities: a stochastic
// block model whose vertices are shuffled, so that ranges cut everything and a partition with a small cut exists.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/measure.hpp"
#include "core/random.hpp"
#include "workloads/partitioners/load_aware.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"
#include "workloads/workload.hpp"

namespace strobe::bench {
namespace {

constexpr int parts = 8;
constexpr std::int64_t steps = 2, community = 200, degree = 3;

SnapshotGraph power_law(std::int64_t vertices) {
  const Json parameters = {
      {"vertices", vertices}, {"steps", steps}, {"edges", vertices * degree / 2}, {"overlap", 0.8}};
  const auto& generator = GeneratorRegistry::instance().find("power-law");
  return generator.value(generator.parameters.complete(parameters, ""), 1);
}

/// Each vertex reads `degree` vertices at each step: nine in ten of its own community, the others anywhere.
PreparedGraph communities(std::int64_t vertices) {
  const RandomStream random(5, random_purpose::generator);
  const std::uint64_t n = vertices;
  std::vector<VertexId> id(n);
  for (std::size_t v = 0; v < n; ++v) id[v] = static_cast<VertexId>(v);
  for (std::size_t v = 0; v + 1 < n; ++v) std::swap(id[v], id[v + random.below(v, n - v)]);
  std::vector<std::size_t> place(n);
  for (std::size_t v = 0; v < n; ++v) place[id[v]] = v;
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = steps;
  graph.row_offsets = {0};
  std::uint64_t draw = n;
  for (std::int64_t row = 0; row < steps * vertices; ++row) {
    const std::size_t home = place[row % vertices] / community * community;
    std::vector<VertexId> columns = {static_cast<VertexId>(row % vertices)};
    for (std::int64_t i = 0; i < degree; ++i) {
      const bool near = random.below(draw++, 10) != 0;
      columns.push_back(id[near ? (home + random.below(draw++, community)) % n : random.below(draw++, n)]);
    }
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    graph.columns.append(columns.begin(), columns.end());
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  return graph;
}

/// The prepared graph of one kind and size; the last one asked for is kept.
const PreparedGraph& graph_of(const std::string& kind, std::int64_t vertices) {
  static std::pair<std::string, std::int64_t> kept_key;
  static PreparedGraph kept;
  if (kept_key != std::pair(kind, vertices)) {
    kept = kind == "power_law" ? prepare(power_law(vertices), Preprocessing{}, steps, false) : communities(vertices);
    kept_key = {kind, vertices};
  }
  return kept;
}

void partition(benchmark::State& state, const std::string& kind, const std::string& name) {
  if (!PartitionerRegistry::instance().contains(name)) return state.SkipWithError("built without this partitioner");
  const PreparedGraph& graph = graph_of(kind, state.range(0));
  const auto& partitioner = PartitionerRegistry::instance().find(name).value;
  std::vector<Rank> part;
  for (auto _ : state) part = partitioner(graph, parts, 1);
  const double rows = connectivity_minus_one(graph, part, parts);
  const std::vector<Rank> ranges = PartitionerRegistry::instance().find("range").value(graph, parts, 1);
  state.counters["rows"] = rows;
  state.counters["rows_per_cell"] = rows / static_cast<double>(graph.vertices * graph.steps);
  state.counters["of_range"] = rows / static_cast<double>(connectivity_minus_one(graph, ranges, parts));
  state.counters["imbalance"] = work_imbalance(vertex_work(graph), part, parts);
  state.counters["nonzeros"] = static_cast<double>(graph.nonzeros());
}

/// Edge visits a second of the loads of a network of three products, on rows of 16 drawn vertices.
void load_walks(benchmark::State& state) {
  PreparedGraph graph;
  graph.vertices = state.range(0);
  graph.steps = 1;
  const RandomStream random(3, random_purpose::generator);
  graph.row_offsets = {0};
  for (std::int64_t v = 0; v < graph.vertices; ++v) {
    for (int i = 0; i < 16; ++i) {
      graph.columns.push_back(
          static_cast<VertexId>(random.below(graph.columns.size(), static_cast<std::uint64_t>(graph.vertices))));
    }
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  constexpr int hops = 3;
  for (auto _ : state) benchmark::DoNotOptimize(walk_loads(graph, hops).data());
  const double visits = hops * graph.nonzeros() * state.iterations();
  state.counters["visits_per_s"] = benchmark::Counter(visits, benchmark::Counter::kIsRate);
}

const Registration registered{[] {
  timed(register_guarded("partition/load_walks", load_walks), benchmark::kMillisecond)
      ->ArgName("vertices")
      ->Arg(100'000)
      ->Arg(1'000'000)
      ->Arg(4'000'000);
  for (const std::int64_t vertices : {100'000, 1'000'000}) {
    for (const std::string kind : {"power_law", "communities"}) {
      for (const std::string name :
           {"range", "hash", "load_aware", "ldg", "fennel", "metis", "ptscotch", "hypergraph"}) {
        register_guarded(("partition/" + kind + "/" + name).c_str(),
                         [=](benchmark::State& state) { partition(state, kind, name); })
            ->ArgName("vertices")
            ->Arg(vertices)
            ->Iterations(1)
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
