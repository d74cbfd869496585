// Packing of an exchange: the redistribution from snapshots to vertices among P ranks. A rank holds T / P steps of all
// N vertices and sends to each peer the peer's N / P vertices of each step: P * T / P runs of N / P rows. Counted once
// per moved byte, in Gb/s, beside a memcpy of the same bytes by one thread.
#include <cstring>

#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

constexpr std::int64_t steps = 64, vertices = 16384, width = 6;

/// Runs that gather, peer by peer, the peer's vertices of every step that this rank holds.
std::vector<std::int64_t> packing_runs(std::int64_t ranks) {
  const std::int64_t local_steps = steps / ranks, part = vertices / ranks;
  std::vector<std::int64_t> runs;
  for (std::int64_t peer = 0; peer < ranks; ++peer) {
    for (std::int64_t t = 0; t < local_steps; ++t) {
      runs.insert(runs.end(), {t * vertices + peer * part, (peer * local_steps + t) * part, part});
    }
  }
  return runs;
}

void report_rate(benchmark::State& state, std::uint64_t bytes) {
  using benchmark::Counter;
  state.counters["Gb/s"] = Counter(static_cast<double>(bytes) * 8e-9, Counter::kIsIterationInvariantRate);
  state.counters["of_memcpy"] =
      Counter(static_cast<double>(bytes) / machine().copy_bytes_per_second, Counter::kIsIterationInvariantRate);
}

void pack(benchmark::State& state, const std::string& variant, bool accumulate) {
  const auto device = make_device(variant);
  const std::int64_t ranks = state.range(0), rows = steps / ranks * vertices;
  const std::vector<std::int64_t> runs = packing_runs(ranks);
  CopyRuns op;
  op.from = constant(*device, rows, width);
  op.to = constant(*device, rows, width);
  op.runs = device->move_in(runs.data(), static_cast<std::int64_t>(runs.size()) / 3, 3, ElementType::i64);
  op.rows = rows;
  op.accumulate = accumulate;
  measure(state, *device, op);
  report_rate(state, op.to.bytes());
}

/// Rows named one by one, as a vertex partition that is not contiguous needs it.
void pack_rows(benchmark::State& state, const std::string& variant) {
  const auto device = make_device(variant);
  const std::int64_t ranks = state.range(0), rows = steps / ranks * vertices;
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < rows; ++i) list.push_back(i / vertices * vertices + i * 7919 % vertices);
  CopyRows op;
  op.from = constant(*device, rows, width);
  op.to = constant(*device, rows, width);
  op.from_rows = device->move_in(list.data(), rows, 1, ElementType::i64);
  op.count = rows;
  op.width = width;
  measure(state, *device, op);
  report_rate(state, op.to.bytes());
}

void plain_memcpy(benchmark::State& state) {
  const std::int64_t values = steps / state.range(0) * vertices * width;
  const std::vector<float> from(static_cast<std::size_t>(values), 1.0f);
  std::vector<float> to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size() * sizeof(float));
    benchmark::ClobberMemory();
  }
  report(state, {0.0, static_cast<double>(from.size() * sizeof(float)), static_cast<double>(from.size() * sizeof(float))});
  report_rate(state, from.size() * sizeof(float));
}

void arguments(benchmark::internal::Benchmark* one) {
  one->ArgName("ranks")->Arg(2)->Arg(4)->Arg(16)->Unit(benchmark::kMicrosecond)->UseRealTime();
}

const bool registered = [] {
  for (const std::string variant : {"plain", "parallel"}) {
    arguments(benchmark::RegisterBenchmark(("exchange/pack_runs/" + variant).c_str(),
                                           [=](benchmark::State& state) { pack(state, variant, false); }));
    arguments(benchmark::RegisterBenchmark(("exchange/add_runs/" + variant).c_str(),
                                           [=](benchmark::State& state) { pack(state, variant, true); }));
    arguments(benchmark::RegisterBenchmark(("exchange/pack_rows/" + variant).c_str(),
                                           [=](benchmark::State& state) { pack_rows(state, variant); }));
  }
  arguments(benchmark::RegisterBenchmark("exchange/memcpy", plain_memcpy));
  return true;
}();

}  // namespace
}  // namespace strobe::bench
