// One operation, or a sequence of them, as a benchmark with its fractions of the machine's limits.
#pragma once

#include <benchmark/benchmark.h>

#include "bench/machine.hpp"

namespace strobe::bench {

/// Sets the counters of a benchmark whose iterations took `seconds` each: rates by the operation's own count of
/// compulsory work, and their fractions of the measured read bandwidth and of the peak. The fraction of the bandwidth
/// can exceed 1 when the data stay in cache.
inline void report(benchmark::State& state, const Work& work, double seconds) {
  state.counters["GB_per_s"] = work.bytes() * 1e-9 / seconds;
  state.counters["GFLOP_per_s"] = work.flops * 1e-9 / seconds;
  state.counters["of_read_bandwidth"] = work.bytes() / seconds / machine().read_bytes_per_second;
  state.counters["of_peak"] = work.flops / seconds / machine().flops_per_second;
}

/// Calls body() until the benchmark has enough; returns the mean seconds of one call by the device's clock.
template <class Body>
double repeat(benchmark::State& state, Device& device, const Body& body) {
  body();
  const double begin = device.now();
  for (auto _ : state) {
    body();
    device.spans().clear();
  }
  return (device.now() - begin) / static_cast<double>(state.iterations());
}

/// Runs `op` on `device` until the benchmark has enough; returns the mean seconds of one run.
template <class Op>
double measure(benchmark::State& state, Device& device, const Op& op) {
  const double seconds = repeat(state, device, [&] { device.run(op); });
  report(state, op.work(), seconds);
  return seconds;
}

/// A tensor of small values that never become denormal or overflow in a benchmark.
inline Tensor constant(Device& device, std::int64_t rows, std::int64_t columns, double value = 0.01) {
  const Tensor tensor = device.allocate(rows, columns);
  device.run(Fill{tensor, value});
  return tensor;
}

/// Wall time decides; the CPU column adds up all threads, which tells a busy machine from a slow kernel.
inline benchmark::internal::Benchmark* timed(benchmark::internal::Benchmark* one, benchmark::TimeUnit unit) {
  return one->Unit(unit)->UseRealTime()->MeasureProcessCPUTime();
}

}  // namespace strobe::bench
