// Peak rates of one device, of its memory and of the transfer to it.
#pragma once

#include "harness/request/case.hpp"

namespace strobe {

struct MachineRates {
  double flops_fp32_per_second = 0;  // of a large matrix product
  double flops_fp64_per_second = 0;
  double memory_bytes_per_second = 0;  // read plus written by a copy far larger than the caches
  bool own_memory = false;             // the device's memory is not the host's
  bool stores_transpose = false;       // Device::wants_transpose
  std::int64_t narrow_bytes = 0;       // Device::narrow_bytes
  // For a device with memory of its own, else 0: its bytes, and the rate of copies from host memory that move
  // snapshots.
  std::uint64_t memory_bytes = 0;
  double host_to_device_bytes_per_second = 0, host_to_device_latency_seconds = 0;
};

/// Measures rank 0 of `ranks` on the device and communicator of `any`, with all of its threads and the best kernels.
/// The case's memory limit and kernels are ignored. Returns the best of several calls; other ranks and processes get
/// zeros. All processes of a world must call this. Takes about two seconds and 300 MiB.
MachineRates machine_rates(const Case& any, std::int64_t ranks);

}  // namespace strobe
