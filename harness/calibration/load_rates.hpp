// Measures how fast this machine reads, makes and prepares graphs before training.
#pragma once

#include <functional>
#include <string>

#include "backends/host/host_work.hpp"

namespace strobe {

/// Rates of one process. Files are in the page cache, because the disk has a rate of its own.
struct LoadRates {
  double text_bytes_per_second = 0;         // from a text file to steps
  double binary_bytes_per_second = 0;       // from a binary file of the same events to steps
  double made_entries_per_second = 0;       // of a generated graph
  double prepared_entries_per_second = 0;   // of the Laplacian
  double prepared_features_per_second = 0;  // values
};

/// Writes two files to `folder` for some seconds. `seconds_of` runs a piece of work and returns its seconds. Takes 300
/// MiB of memory, and 60 MiB on the disk. Throws SystemError when the files cannot be written.
LoadRates measure_load_rates(const std::string& folder, const std::function<double(HostWork)>& seconds_of);

}  // namespace strobe
