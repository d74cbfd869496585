// The machine's best rates, measured once per run, so that every benchmark can say how close it is to them.
#pragma once

#include "backends/device.hpp"

namespace strobe::bench {

/// Limits of this machine with `threads` threads; of a GPU's memory and multiply-adds when that is what is measured.
struct Machine {
  int threads = 1;
  // Reading 1 GiB from memory, all threads; of a GPU, copying 1 GiB, read and written bytes added up.
  double read_bytes_per_second = 0;
  double copy_bytes_per_second = 0;  // memcpy of 64 MiB by one call in one thread, counted once
  // fp32 multiply-adds (2 FLOPs each) in registers, all threads; of a GPU, in a product of matrices of 8192 rows.
  double flops_per_second = 0;
};

/// The machine's limits; measured on the first call (about two seconds).
const Machine& machine();

/// `vertices` of a shape, or the share of them that STROBE_BENCH_SHRINK (a divisor) leaves: to try the benchmarks where
/// their figures mean nothing, as on the emulated GPU.
std::int64_t shrunk(std::int64_t vertices);
bool is_shrunk();

/// The device that operations and epochs are measured on: what STROBE_BENCH_DEVICE names, cpu without it.
std::string device_name();

/// That device with all of the machine's threads; `variant` "" takes the fastest kernels. Throws Unavailable.
std::unique_ptr<Device> make_device(const std::string& variant, ElementType precision = ElementType::f32);

}  // namespace strobe::bench
