// The protocols among which NCCL chooses for a ring or a tree: LL (flag with every 4 bytes), LL128 (flag with every 120
// bytes) and Simple, which trade latency for bandwidth.
#pragma once

#include <limits>
#include <vector>

#include "backends/sim/topology.hpp"

namespace strobe::sim {

/// One protocol on one topology.
struct ProtocolCost {
  const char* name = "links";
  double base_seconds = 0;           // for one call
  double intra_latency_seconds = 0;  // for one hop
  double inter_latency_seconds = 0;
  double bytes_per_second = 1;  // of every hop at once; in a tree, up or down
};

/// The protocols of a ring, or tree, through all ranks. A cluster whose GPUs name no architecture has a single one: the
/// links as described, with nothing added. The last one is Simple, or the links.
std::vector<ProtocolCost> ring_protocols(const Topology& topology);
std::vector<ProtocolCost> tree_protocols(const Topology& topology);

/// Base latency of one call whose messages are posted at once: that of LL, which carries small messages. 0 without an
/// architecture.
double call_seconds(const Topology& topology);

/// The least of seconds(protocol) over the protocols.
template <class Seconds>
double fastest(const std::vector<ProtocolCost>& protocols, const Seconds& seconds) {
  double best = std::numeric_limits<double>::infinity();
  for (const ProtocolCost& protocol : protocols) best = std::min(best, seconds(protocol));
  return best;
}

}  // namespace strobe::sim
