// Measures the rate at which this machine reads a file in order from its disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "backends/host/host_work.hpp"

namespace strobe {

/// A rate, or the reason why there is none.
struct DiskRate {
  double bytes_per_second = 0;
  std::string absent;
};

/// Writes a file of `bytes` in `folder`, flushes it, drops it from the page cache, reads it and removes it.
/// `seconds_of` runs a piece of work and returns its seconds. On any error there is no rate but a reason: a folder
/// without write access, a full disk, a file system in memory.
DiskRate disk_rate(const std::string& folder, std::int64_t bytes, const std::function<double(HostWork)>& seconds_of);

}  // namespace strobe
