// One operation, or a sequence of them, as a benchmark with its fractions of the machine's limits.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include "bench/machine.hpp"

namespace strobe::bench {

/// A file's benchmarks: `add` registers them when main() calls add_all(), by which time all kernels are registered.
class Registration {
 public:
  explicit Registration(void (*add)()) { all().push_back(add); }
  static void add_all() {
    for (void (*const add)() : all()) add();
  }

 private:
  static std::vector<void (*)()>& all() {
    static std::vector<void (*)()> list;
    return list;
  }
};

/// As benchmark::RegisterBenchmark, but what `run` throws becomes the message of its row: the others go on.
template <class Run>
benchmark::internal::Benchmark* register_guarded(const char* name, Run run) {
  return benchmark::RegisterBenchmark(name, [run](benchmark::State& state) {
    try {
      run(state);
    } catch (const std::exception& error) {
      state.SkipWithError(error.what());
    }
  });
}

/// The variants to compare: `cpu` of the cpu's kernels; of another device all that it has for one of the operations.
template <class... Op>
std::vector<std::string> variants(const std::vector<std::string>& cpu) {
  if (device_name() == "cpu") return cpu;
  std::set<std::string> names;
  const auto add = [&](const auto& kernels) {
    for (const auto& kernel : kernels) names.insert(kernel.variant);
  };
  const Numerics numerics = DeviceRegistry::instance().find(device_name()).value.numerics;
  (add(Kernels<Op>::of(numerics)), ...);
  return {names.begin(), names.end()};
}

/// Sets the counters of a benchmark whose iterations took `seconds` each: rates by the operation's own count of
/// compulsory work, and their fractions of the measured read bandwidth and of the peak. The fraction of the bandwidth
/// can exceed 1 when the data stay in cache.
inline void report(benchmark::State& state, const Work& work, double seconds) {
  state.counters["GB_per_s"] = work.bytes() * 1e-9 / seconds;
  state.counters["GFLOP_per_s"] = work.flops * 1e-9 / seconds;
  state.counters["of_read_bandwidth"] = work.bytes() / seconds / machine().read_bytes_per_second;
  state.counters["of_peak"] = work.flops / seconds / machine().flops_per_second;
}

/// Calls body() until the benchmark has enough, and waits for the device after every `batch` calls, within the time
/// that is measured; returns the mean seconds of one call by the device's clock.
template <class Body>
double repeat(benchmark::State& state, Device& device, const Body& body, std::int64_t batch = 1) {
  body();
  device.synchronize();
  device.spans().clear();
  const double begin = device.now();
  while (state.KeepRunningBatch(batch)) {
    for (std::int64_t i = 0; i < batch; ++i) body();
    device.synchronize();
    device.spans().clear();
  }
  return (device.now() - begin) / static_cast<double>(state.iterations());
}

inline std::int64_t runs_at_once(const Device& device) { return device.has_own_memory() && !is_shrunk() ? 32 : 1; }

/// Runs `op` on `device` until the benchmark has enough. Returns the mean seconds of one run, or 0 when the device has
/// no kernel of its variant for such an operation. It waits for a GPU after every 32 runs, because kernels may take
/// less time than the wait, or than events between them.
template <class Op>
double measure(benchmark::State& state, Device& device, const Op& op) {
  const std::string& variant = device.kernel_variant();
  if (!variant.empty() && Kernels<Op>::choose(device.numerics(), op, variant).variant != variant) {
    state.SkipWithError(("no kernel " + variant + " for this shape").c_str());
    return 0;
  }
  device.time_each_operation(false);
  const double seconds = repeat(
      state, device, [&] { device.run(op); }, runs_at_once(device));
  report(state, op.work(), seconds);
  return seconds;
}

/// A tensor of small values that never become denormal or overflow in a benchmark.
inline Tensor constant(Device& device, std::int64_t rows, std::int64_t columns, double value = 0.01) {
  const Tensor tensor = device.allocate(rows, columns);
  device.run(Fill{tensor, value});
  return tensor;
}

/// Values from `least` to least + 1 that differ from row to row, so that no lane is like another.
inline Tensor varied(Device& device, std::int64_t rows, std::int64_t columns, float least) {
  std::vector<float> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.001f * static_cast<float>(i * 7919 % 1000) + least;
  return device.move_in(values.data(), rows, columns, ElementType::f32);
}

/// Wall time decides; the CPU column adds up all threads, which tells a busy machine from a slow kernel.
inline benchmark::internal::Benchmark* timed(benchmark::internal::Benchmark* one, benchmark::TimeUnit unit) {
  return one->Unit(unit)->UseRealTime()->MeasureProcessCPUTime();
}

}  // namespace strobe::bench
