// Samples of collectives: each kind over a range of sizes among ranks that enter it together.
#pragma once

#include <string>
#include <vector>

#include "backends/communicator.hpp"

namespace strobe {

struct CollectiveSample {
  std::string collective;  // as in collective_names; "send" is one message from rank to rank
  int ranks = 2;
  double bytes = 0;     // that the busiest rank sends or receives
  double messages = 0;  // peers of that rank
  double seconds = 0;   // of rank 0's communicate spans, their median
};

/// Measures every collective of `communicator` (a name of CommunicatorRegistry) for buffers of 8 bytes up to
/// `largest_bytes`, each several times behind a barrier, on the ranks of `request`. Empty in processes other than the
/// first of an externally launched world, and on one rank.
std::vector<CollectiveSample> collective_samples(const std::string& communicator, const LaunchRequest& request,
                                                 std::uint64_t largest_bytes);

}  // namespace strobe
