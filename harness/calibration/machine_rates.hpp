// The two ceilings of one device and what its host takes between operations.
#pragma once

#include "backends/communicator.hpp"

namespace strobe {

struct MachineRates {
  double flops_fp32_per_second = 0;  // of a large matrix product
  double flops_fp64_per_second = 0;
  double memory_bytes_per_second = 0;  // read plus written by a copy far larger than the caches
  bool own_memory = false;             // the device's memory is not the host's
  bool stores_transpose = false;       // Device::wants_transpose
  bool stores_narrow_forms = false;    // Device::wants_narrow_forms
};

/// Measures one rank of `request` with all of its threads; best of several calls. Takes about a second.
MachineRates machine_rates(const std::string& communicator, LaunchRequest request);

}  // namespace strobe
