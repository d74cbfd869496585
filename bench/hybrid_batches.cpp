// Hybrid batches as they are trained on: each holds 1 % of the vertices over 4 of 8 steps in a network of two products
// with a recurrence after each, on a graph that bench/peers/hybrid_batches.py makes to the bit, so that both report the
// same vertices and entries (of the first layer's matrix, whose rows are all that is read). `layers` takes the hops of
// each step, `exact` what a state between the two products reads at earlier steps too.
#include <algorithm>
#include <cstdint>

#include "bench/measure.hpp"
#include "harness/hybrid_batches/encoding/batch_features.hpp"
#include "harness/hybrid_batches/encoding/layered_batch.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t steps = 8, window = 4, kept_batches = 16;

/// Steele, Lea and Flood's SplitMix64, its i-th number.
std::uint64_t mixed(std::uint64_t i) {
  std::uint64_t z = i * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

/// A vertex, the smaller the likelier: the square of a uniform number.
VertexId drawn(std::uint64_t i, std::int64_t vertices) {
  const double u = static_cast<double>(mixed(i) >> 11) * 0x1.0p-53;
  return static_cast<VertexId>(u * u * static_cast<double>(vertices));
}

/// Row v of each step: itself and up to 7 drawn vertices.
PreparedGraph make_graph(std::int64_t vertices) {
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = steps;
  graph.feature_width = 2;
  graph.row_offsets = {0};
  std::vector<VertexId> row;
  for (std::int64_t r = 0; r < steps * vertices; ++r) {
    row.assign(1, static_cast<VertexId>(r % vertices));
    for (std::uint64_t i = 0; i < mixed(static_cast<std::uint64_t>(r) * 8) % 8; ++i)
      row.push_back(drawn(static_cast<std::uint64_t>(r) * 8 + 1 + i, vertices));
    std::sort(row.begin(), row.end());
    graph.columns.append(row.begin(), std::unique(row.begin(), row.end()));
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  graph.values32.assign(graph.columns.size(), 1.0F);
  graph.features32.assign(steps * vertices * 2, 1.0F);
  return graph;
}

const PreparedGraph& graph_of(std::int64_t vertices) {
  static PreparedGraph kept;
  if (kept.vertices != vertices) kept = make_graph(vertices);
  return kept;
}

/// Batch number b: its targets are vertices whose hash falls on b, its first step goes round.
BatchCells cells_of(std::int64_t vertices, std::int64_t b) {
  BatchCells cells;
  cells.steps = {b % (steps - window + 1), window};
  for (std::int64_t v = 0; v < vertices; ++v)
    if (mixed(static_cast<std::uint64_t>(v + vertices * (steps * 8 + 1))) % 100 == static_cast<std::uint64_t>(b))
      cells.targets.push_back(static_cast<VertexId>(v));
  return cells;
}

/// Two products, each followed by a recurrence.
const std::vector<LayerShape>& layers() {
  static const std::vector<LayerShape> two(2, {2, 2, 2, true, TemporalNeed::recurrent});
  return two;
}

void build(benchmark::State& state, FrontierKind kind) {
  const PreparedGraph& graph = graph_of(state.range(0));
  const std::vector<std::shared_ptr<const PreparedGraph>> supports;
  const LayerSource whole{graph, supports, layers()};
  const BatchSource source{&graph, {}, layer_reads(layers()), kind};
  std::vector<BatchCells> cells;
  for (std::int64_t b = 0; b < kept_batches; ++b) cells.push_back(cells_of(graph.vertices, b));
  BatchScratch scratch(graph.vertices);
  BatchEncoder encoder(whole);
  double field = 0, entries = 0, computed = 0;
  const auto make = [&](const BatchCells& one, double share) {
    const Frontier frontier = batch_frontier(source, one, scratch);
    const BatchWindow steps_of_batch{static_cast<Step>(one.steps.first), one.steps.count};
    const LayeredBatch batch =
        encoder.encode(steps_of_batch, needed_cells(frontier, layers().size()), one.targets, scratch.places());
    const BatchFeatures features = gather_features(whole, batch);
    field += share * static_cast<double>(frontier.field.size());
    entries += share * static_cast<double>(batch.layers.front().a.columns.size());
    computed += share * static_cast<double>(batch.computed_cells);
    benchmark::DoNotOptimize(features.features.values32.data());
  };
  std::size_t next = 0;
  for (auto _ : state) make(cells[next++ % cells.size()], 0);
  for (const BatchCells& one : cells) make(one, 1.0 / kept_batches);
  state.counters["field"] = field;
  state.counters["cells"] = computed;
  state.counters["entries"] = entries;
  state.counters["entries_per_s"] =
      benchmark::Counter(entries * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

const Registration registered{[] {
  for (const std::int64_t vertices : {100'000, 1'000'000}) {
    for (const bool exact : {false, true}) {
      const auto kind = exact ? FrontierKind::exact : FrontierKind::layers;
      timed(register_guarded(exact ? "hybrid_batch/exact" : "hybrid_batch/layers",
                             [=](benchmark::State& state) { build(state, kind); }),
            benchmark::kMillisecond)
          ->ArgName("vertices")
          ->Arg(vertices);
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
