// Measures this machine's host: its peak rates, and its operations on sizes from the caches to far larger. It measures
// them in the way in which programs run work on the host.
#pragma once

#include <string>
#include <vector>

#include "harness/calibration/load_rates.hpp"
#include "harness/calibration/operation_timings.hpp"

namespace strobe {

/// Peak rates. 0: not measured.
struct HostRates {
  int cores = 0;                          // usable by the process
  double core_operations_per_second = 0;  // independent multiplications and additions of 64-bit integers
  double core_bytes_per_second = 0;       // read plus written by a copy far larger than the caches
  double memory_bytes_per_second = 0;     // the same by all cores together
  double random_access_seconds = 0;       // between dependent loads far beyond the caches
  double disk_bytes_per_second = 0;       // of a file read in order; 0: see `no_disk`
  std::string no_disk;
  LoadRates load;
};

struct HostMeasurement {
  HostRates rates;
  std::vector<OperationTiming> operations;  // by one worker; `configuration` is "host"
};

/// Measures through a rank of device cpu. It temporarily writes a file to `folder` to measure the disk. Takes about
/// twenty seconds and 600 MiB, 128 of them on the disk. Throws Unavailable without device cpu.
HostMeasurement measure_host(const std::string& folder);

}  // namespace strobe
