// Packing of an exchange: the redistribution from snapshots to vertices among P ranks. A rank holds T / P steps of all
// N vertices and sends to each peer the peer's N / P vertices of each step: P * T / P runs of N / P rows. Counted once
// per moved byte, in Gb/s, next to a memcpy of the same bytes by one thread.
#include <cstring>
#include <functional>

#include "bench/measure.hpp"

namespace strobe::bench {
namespace {

const std::int64_t steps = 64, vertices = shrunk(16384), width = 6;

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

void report_rate(benchmark::State& state, std::uint64_t bytes, double seconds) {
  state.counters["Gb_per_s"] = static_cast<double>(bytes) * 8e-9 / seconds;
  state.counters["of_memcpy"] = static_cast<double>(bytes) / seconds / machine().copy_bytes_per_second;
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
  report_rate(state, op.to.bytes(), measure(state, *device, op));
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
  report_rate(state, op.to.bytes(), measure(state, *device, op));
}

void plain_memcpy(benchmark::State& state) {
  const auto device = make_device("");
  const std::int64_t rows = steps / state.range(0) * vertices;
  const Tensor from = constant(*device, rows, width), to = constant(*device, rows, width);
  const double seconds = repeat(state, *device, [&] {
    device->copy_values(to.raw(), from.raw(), from.bytes());
    benchmark::ClobberMemory();
  });
  const double bytes = from.bytes();
  report(state, {0.0, bytes, bytes}, seconds);
  report_rate(state, from.bytes(), seconds);
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& run) {
  timed(register_guarded(("exchange/" + name).c_str(), run), benchmark::kMicrosecond)
      ->ArgName("ranks")
      ->Arg(2)
      ->Arg(4)
      ->Arg(16);
}

const Registration registered{[] {
  for (const std::string& variant : variants<CopyRuns, CopyRows>({"plain", "parallel"})) {
    add("pack_runs/" + variant, [=](benchmark::State& state) { pack(state, variant, false); });
    add("add_runs/" + variant, [=](benchmark::State& state) { pack(state, variant, true); });
    add("pack_rows/" + variant, [=](benchmark::State& state) { pack_rows(state, variant); });
  }
  add("memcpy", plain_memcpy);
}};

}  // namespace
}  // namespace strobe::bench
