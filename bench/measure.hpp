// One operation, or a sequence of them, as a benchmark with its fractions of the machine's limits.
#pragma once

#include <benchmark/benchmark.h>

#include "bench/machine.hpp"

namespace strobe::bench {

/// Sets the counters: GB/s and GFLOP/s by the operation's own count of compulsory work, and the fractions of the
/// measured read bandwidth and of the peak. The fraction of the bandwidth can exceed 1 when the data stay in cache.
inline void report(benchmark::State& state, const Work& work) {
  using benchmark::Counter;
  constexpr auto rate = Counter::kIsIterationInvariantRate;
  state.counters["GB/s"] = Counter(work.bytes() * 1e-9, rate);
  state.counters["GFLOP/s"] = Counter(work.flops * 1e-9, rate);
  state.counters["of_read_bandwidth"] = Counter(work.bytes() / machine().read_bytes_per_second, rate);
  state.counters["of_peak"] = Counter(work.flops / machine().flops_per_second, rate);
}

/// Runs `op` on `device` until the benchmark has enough.
template <class Op>
void measure(benchmark::State& state, Device& device, const Op& op) {
  device.run(op);
  for (auto _ : state) {
    device.run(op);
    device.spans().clear();
  }
  report(state, op.work());
}

/// A tensor of small values that never become denormal or overflow in a benchmark.
inline Tensor constant(Device& device, std::int64_t rows, std::int64_t columns, double value = 0.01) {
  const Tensor tensor = device.allocate(rows, columns);
  device.run(Fill{tensor, value});
  return tensor;
}

}  // namespace strobe::bench
