// Making chunks of cells: super graph, labels, graph of chunks, merging. A random graph of 50 steps with about one
// neighbour a cell, weights 18 and 6 for an edge of a step and to the step before, at most 10,000 cells a chunk.
// Counters are the seconds of each part, chunks before and after merging, and by how much memory grew at most next to
// the graph.
#include <malloc.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>

#include "bench/measure.hpp"
#include "core/random.hpp"
#include "harness/placement/chunks/chunk_merging.hpp"
#include "harness/placement/chunks/label_propagation.hpp"

namespace strobe::bench {
namespace {

constexpr Step steps = 50;
constexpr std::int64_t most_cells = 10'000, levels = 8, rounds = 10;

/// A size in /proc/self/status.
double kibibytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  double value = 0;
  for (std::string word; status >> word && (word != key + ":" || !(status >> value));) {
  }
  return value;
}

/// Row v of each step: itself and up to two drawn vertices.
PreparedGraph random_cells(std::int64_t vertices) {
  const RandomStream random(1, random_purpose::test);
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = steps;
  graph.row_offsets = {0};
  for (std::int64_t r = 0; r < steps * vertices; ++r) {
    const auto at = static_cast<std::uint64_t>(r) * 4;
    graph.columns.push_back(static_cast<VertexId>(r % vertices));
    for (std::uint64_t i = 0; i < random.below(at, 3); ++i)
      graph.columns.push_back(static_cast<VertexId>(random.below(at + 1 + i, static_cast<std::uint64_t>(vertices))));
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  return graph;
}

void make_chunks(benchmark::State& state) {
  const PreparedGraph graph = random_cells(state.range(0) / steps);
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak
  const double held = kibibytes("VmRSS");
  TrafficWeights weights;
  weights.spatial = 18;
  weights.listed = {{1, 6, 0}};
  std::array<double, 4> seconds{};
  double before = 0, after = 0;
  for (auto _ : state) {
    auto last = std::chrono::steady_clock::now();
    const auto ended = [&](std::size_t part) {
      const auto now = std::chrono::steady_clock::now();
      seconds[part] += std::chrono::duration<double>(now - std::exchange(last, now)).count();
    };
    SuperGraph super = super_graph(graph, weights);
    ended(0);
    PropagatedLabels labels = propagate_labels(super, most_cells, rounds, 1);
    ended(1);
    ChunkGraph chunks = chunk_graph(super, std::move(labels.label));
    before = static_cast<double>(chunks.count());
    ended(2);
    merge_chunks(chunks, most_cells, levels - 1, rounds, 1);
    after = static_cast<double>(chunks.count());
    ended(3);
  }
  state.counters["bytes_a_cell"] = 1024 * (kibibytes("VmHWM") - held) / static_cast<double>(state.range(0));
  const char* const parts[] = {"super_graph", "labels", "chunk_graph", "merging"};
  for (std::size_t i = 0; i < seconds.size(); ++i)
    state.counters[parts[i]] = seconds[i] / static_cast<double>(state.iterations());
  state.counters["chunks_before"] = before;
  state.counters["chunks"] = after;
}

const Registration registered{[] {
  if (device_name() != "cpu") return;
  timed(register_guarded("chunks", make_chunks), benchmark::kMillisecond)->ArgName("cells")->Arg(5'000'000);
}};

}  // namespace
}  // namespace strobe::bench
