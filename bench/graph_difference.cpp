// Construction of graph differences between 9 snapshots of 131,072 vertices and 16 entries a row (2.1 million entries
// each) on one core, by overlap: the lists of removed and added entries, with `values` also those whose value changed.
// Then what the device does with them: the next snapshot from the one before, and a snapshot from sorted coordinates.
#include "workloads/preparation/graph_difference.hpp"

#include <algorithm>

#include "backends/operations/operations_store.hpp"
#include "bench/graph.hpp"
#include "bench/measure.hpp"
#include "core/random.hpp"
#include "workloads/preparation/snapshot_payload.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t vertices = 1 << 17, degree = 16, steps = 9;

/// Each entry of a step stays with probability `overlap`; a new random one takes its place otherwise.
PreparedGraph drifting_graph(double overlap) {
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = steps;
  graph.row_offsets = {0};
  const RandomStream random(7, random_purpose::generator);
  std::uint64_t drawn = 0;
  std::vector<VertexId> before(vertices * degree), row;
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t v = 0; v < vertices; ++v) {
      VertexId* old = before.data() + v * degree;
      for (std::int64_t k = 0; k < degree; ++k) {
        if (t == 0 || random.uniform(drawn++) >= overlap)
          old[k] = static_cast<VertexId>(random.below(drawn++, static_cast<std::uint64_t>(vertices)));
      }
      row.assign(old, old + degree);
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      graph.columns.append(row.begin(), row.end());
      graph.row_offsets.push_back(graph.nonzeros());
    }
  }
  graph.values32.assign(graph.columns.size(), 1.0f);
  return graph;
}

void construct(benchmark::State& state, bool values) {
  const PreparedGraph graph = drifting_graph(static_cast<double>(state.range(0)) / 100.0);
  const auto device = make_device("");  // its clock
  limit_workload_threads(1);
  std::vector<StepPair> pairs;
  double entries = 0, read = 0, written = 0;
  for (Step t = 1; t < steps; ++t) {
    pairs.push_back({t - 1, t});
    const auto before = static_cast<double>(graph.step_nonzeros(t - 1)),
               after = static_cast<double>(graph.step_nonzeros(t));
    entries += after;
    read += (before + after) * (values ? 8.0 : 4.0) + 16.0 * static_cast<double>(vertices + 1);
  }
  for (const DifferenceSizes& sizes : count_differences(graph, pairs, values)) {
    written += 4.0 * static_cast<double>(sizes.removed + sizes.added + sizes.changed);
  }
  const double seconds =
      repeat(state, *device, [&] { benchmark::DoNotOptimize(find_differences(graph, pairs, values).data()); });
  limit_workload_threads(0);
  const double core_bandwidth = machine().read_bytes_per_second / machine().threads;
  state.counters["edges_per_s_core"] = entries / seconds;
  state.counters["GB_per_s"] = (read + written) * 1e-9 / seconds;
  state.counters["of_core_read_bandwidth"] = (read + written) / seconds / core_bandwidth;
}

template <class T>
Tensor column(Device& device, const T* values, std::size_t count) {
  return device.move_in(values, static_cast<std::int64_t>(count), 1, element_type_of<T>);
}

void apply(benchmark::State& state, const std::string& variant) {
  const PreparedGraph graph = drifting_graph(static_cast<double>(state.range(0)) / 100.0);
  const auto device = make_device(variant);
  const GraphDifference found = find_differences(graph, {{0, 1}}, false)[0];
  const SnapshotPayload payload =
      difference_payload(graph, {0, 1}, found, SnapshotTransfer::difference, TransferFormat::coo64);
  const auto entries = static_cast<std::size_t>(found.sizes.before), removed = found.removed.size(),
             added = found.added.size();
  ApplyDifference op;
  op.before_offsets = column(*device, graph.row_offsets.data(), vertices + 1);
  op.before_columns = column(*device, graph.columns.data(), entries);
  op.removed = column(*device, found.removed.data(), removed);
  op.added_offsets = device->allocate(vertices + 1, 1, ElementType::i64);
  op.added_columns = device->allocate(found.sizes.added, 1, ElementType::i32);
  const std::int64_t* coordinates = payload.indices64.data() + 2 * removed;
  device->run(CooToCsr{column(*device, coordinates, added), column(*device, coordinates + added, added),
                       op.added_offsets, op.added_columns, 0, 0});
  op.offsets = device->allocate(vertices + 1, 1, ElementType::i64);
  op.columns = device->allocate(found.sizes.entries, 1, ElementType::i32);
  const double seconds = measure(state, *device, op);
  state.counters["edges_per_s"] = static_cast<double>(found.sizes.entries) / seconds;
}

void from_coordinates(benchmark::State& state, const std::string& variant) {
  const PreparedGraph graph = drifting_graph(1.0);
  const auto device = make_device(variant);
  const SnapshotPayload payload = full_payload(graph, 0, TransferFormat::coo64);
  const std::size_t entries = payload.sizes.entries;
  const CooToCsr op{column(*device, payload.indices64.data(), entries),
                    column(*device, payload.indices64.data() + entries, entries),
                    device->allocate(vertices + 1, 1, ElementType::i64),
                    device->allocate(payload.sizes.entries, 1, ElementType::i32),
                    0,
                    0};
  state.counters["edges_per_s"] = static_cast<double>(entries) / measure(state, *device, op);
}

const Registration registered{[] {
  for (const bool values : {false, true}) {
    const std::string name = std::string("graph_difference/") + (values ? "values" : "indices");
    timed(register_guarded(name.c_str(), [=](benchmark::State& state) { construct(state, values); }),
          benchmark::kMillisecond)
        ->ArgName("overlap_percent")
        ->Arg(0)
        ->Arg(50)
        ->Arg(90)
        ->Arg(98);
  }
  for (const std::string variant : {"plain", "parallel"}) {
    const auto add = [&](const std::string& name, auto run) {
      return timed(register_guarded(("snapshot_store/" + name + "/" + variant).c_str(),
                                    [=](benchmark::State& state) { run(state, variant); }),
                   benchmark::kMillisecond);
    };
    add("apply_difference", apply)->ArgName("overlap_percent")->Arg(0)->Arg(50)->Arg(90)->Arg(98);
    add("coo_to_csr", from_coordinates);
  }
}};

}  // namespace
}  // namespace strobe::bench
