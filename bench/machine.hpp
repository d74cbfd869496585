// What this machine can do at best, measured once per run, so that every benchmark can say how close it comes.
#pragma once

#include "backends/device.hpp"

namespace strobe::bench {

/// Limits of this machine with `threads` threads.
struct Machine {
  int threads = 1;
  double read_bytes_per_second = 0;  // reading 1 GiB from memory, all threads
  double copy_bytes_per_second = 0;  // memcpy of 64 MiB by one call in one thread, counted once
  double flops_per_second = 0;       // fp32 multiply-adds (2 FLOPs each) in registers, all threads
};

/// The machine's limits; measured on the first call (about two seconds).
const Machine& machine();

/// A cpu device with all of the machine's threads; `variant` "" takes the fastest kernels.
std::unique_ptr<Device> make_device(const std::string& variant, ElementType precision = ElementType::f32);

}  // namespace strobe::bench
