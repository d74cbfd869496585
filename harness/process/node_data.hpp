// Data that the processes of a run share on each node.
#pragma once

#include <memory>

#include "harness/process/ranks.hpp"
#include "workloads/storage/node_store.hpp"

namespace strobe {

/// The store of this process and the others on its node. Null when it is alone there, unless the cases have a limit of
/// host memory, or one of them lies by node (`by_node`) and the run has several processes. Reading takes at most half
/// of the least of these limits (in bytes; 0: none). The files lie in the cache's folder, or in the system's temporary
/// folder. A process waits for the others as long as it does elsewhere, and then throws RanksLost. All processes meet
/// here.
std::shared_ptr<const NodeStore> node_store_of(const Ranks& ranks, double host_limit = 0, bool by_node = false);

}  // namespace strobe
