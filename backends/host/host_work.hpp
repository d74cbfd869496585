// Work of the host beside the device: drawing neighbours, encoding batches, gathering rows of host memory. It states
// what it does, as operations of the device do, and runs on the host stream of its rank, in the order given; or on a
// lane of it, beside what other lanes do.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "backends/event.hpp"
#include "backends/span.hpp"

namespace strobe {

class Workers;  // core/system/parallel.hpp

/// One piece of work for the host.
struct HostWork {
  std::string_view name;  // static text: of its span, and of its fit in a calibrated cluster
  /// Operations, and bytes of the host's memory; `gather` tells of rows at unforeseen places. With values absent it is
  /// stated all the same.
  Work work;
  double disk_bytes = 0;  // read from the node's disk
  /// What is done, by `host_threads` workers. May be empty: where there is neither a graph nor values, only time
  /// passes. It must not use the device, the communicator, or what others write meanwhile, unless `after` orders the
  /// two.
  std::function<void(Workers&)> body;
  std::vector<Event> after;  // what must have come before it begins
  int lane = 0;              // work of one lane is carried out in the order given, lanes beside each other
  int lanes = 1;             // that share what the rank has of its node's host
  bool serial = false;       // whether one worker does it all, however many there are
};

}  // namespace strobe
