// The `host` object of a cluster file: what the processors, the memory and the disks of a node can do.
#pragma once

#include "backends/cluster.hpp"
#include "backends/sim/cluster/cluster_keys.hpp"

namespace strobe::sim {

/// Keys of the object; all but `memory_bytes` must be there, and each may say why nobody knows its value.
Keys host_file_keys();

/// Reads the object; what is not known is 0. Throws InvalidRequest with the JSON pointer under /host.
HostModel read_host(const Json& json);

/// Adds to the object what it lacks, as unknown, so that one of its numbers can be changed in a file without it.
void complete_host(Json& json);

}  // namespace strobe::sim
