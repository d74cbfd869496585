// Measures the machine once, writes its limits into the report's context, then runs the registered benchmarks.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <iostream>

#include "bench/measure.hpp"

namespace {

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const strobe::bench::Machine& machine = strobe::bench::machine();
  benchmark::AddCustomContext("device", strobe::bench::device_name());
  benchmark::AddCustomContext("threads", std::to_string(machine.threads));
  benchmark::AddCustomContext("read_bandwidth_GBps", fmt::format("{:.1f}", machine.read_bytes_per_second * 1e-9));
  benchmark::AddCustomContext("copy_GBps_one_thread", fmt::format("{:.1f}", machine.copy_bytes_per_second * 1e-9));
  benchmark::AddCustomContext("peak_fp32_GFLOPps", fmt::format("{:.0f}", machine.flops_per_second * 1e-9));
  strobe::bench::Registration::add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const strobe::InvalidRequest& error) {
    std::cerr << "strobe_bench: " << error.what() << "\n";
    return 2;
  } catch (const strobe::Unavailable& error) {
    std::cerr << "strobe_bench: " << error.what() << "\n";
    return 5;
  }
}
