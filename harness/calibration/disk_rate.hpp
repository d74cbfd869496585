// How fast this machine reads a file in order from its disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "backends/host/host_work.hpp"

namespace strobe {

/// A rate, or why there is none.
struct DiskRate {
  double bytes_per_second = 0;
  std::string absent;
};

/// Reads a file of `bytes` in `folder` that is written for it, flushed, dropped from the page cache, and removed
/// afterwards. `seconds_of` carries a piece of work out and tells how long it took. Whatever goes wrong is why there is
/// no rate: a folder that cannot be written to, a full disk, a file system that lies in memory.
DiskRate disk_rate(const std::string& folder, std::int64_t bytes, const std::function<double(HostWork)>& seconds_of);

}  // namespace strobe
