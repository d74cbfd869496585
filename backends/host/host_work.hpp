// Host work that runs in parallel with the device: drawing neighbours, encoding batches, gathering rows of host memory.
// It states its cost, as operations of the device do. It runs on the host stream of its rank in the order given, or on
// a channel of that stream in parallel with other channels.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "backends/event.hpp"
#include "backends/span.hpp"

namespace strobe {

class Workers;  // core/system/parallel.hpp

/// A part of a file that all ranks of a node map. A simulated node keeps the parts used last in its page cache, as far
/// as they have room, and reads the others from its disk. On a real machine the system does so by itself.
struct FilePart {
  int number = -1;        // from 0; negative: no part
  double own_bytes = 0;   // of the pages that this rank needs
  double all_bytes = 0;   // of the part
  double file_bytes = 0;  // of the file
  double readers = 1;     // ranks that need a page of the part, on average over its bytes
};

/// One piece of work for the host.
struct HostWork {
  std::string_view name;  // static text: the name of its span, and of its fit in a calibrated cluster
  /// Operations, and bytes of host memory; `gather` describes rows at unpredictable places. Stated even when values are
  /// absent.
  Work work;
  double disk_bytes = 0;  // read from the node's disk
  /// The work itself, done by `host_threads` workers. May be empty: without a graph or values only time passes. It must
  /// not use the device, the communicator, or data that others write meanwhile, unless `after` orders the two.
  std::function<void(Workers&)> body;
  std::vector<DeviceEvent> after;  // events that must have come before it begins
  int channel = 0;                 // work of one channel runs in the order given; channels run in parallel
  int channels = 1;                // number of channels that share the rank's part of its node's host
  bool serial = false;             // whether a single worker does it all, however many there are
  FilePart file_part = {};         // read as well, where it is not in memory
};

}  // namespace strobe
