// What this machine's host does beside its devices: its ceilings, and its operations on sizes from the caches to far
// beyond them, measured as the work of programs on the host is.
#pragma once

#include <string>
#include <vector>

#include "harness/calibration/operation_samples.hpp"

namespace strobe {

/// The ceilings. 0: not measured.
struct HostRates {
  int cores = 0;                          // that the process may use
  double core_operations_per_second = 0;  // multiplications and additions of 64-bit integers that do not wait
  double core_bytes_per_second = 0;       // read plus written by a copy far larger than the caches
  double memory_bytes_per_second = 0;     // the same by all cores together
  double random_access_seconds = 0;       // from one load to the next that it names, far beyond the caches
  double disk_bytes_per_second = 0;       // a file read in order; 0: `no_disk` says why not
  std::string no_disk;
};

struct HostMeasurement {
  HostRates rates;
  std::vector<OperationSample> operations;  // by one worker; `configuration` is "host"
};

/// Measures through a rank of device cpu. The file that is read from the disk lies in `folder` meanwhile. Takes some
/// ten seconds and 600 MiB, 128 of them on the disk. Throws Unavailable without device cpu.
HostMeasurement measure_host(const std::string& folder);

}  // namespace strobe
