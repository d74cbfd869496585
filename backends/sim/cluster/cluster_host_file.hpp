// The `host` object of a cluster file: rates and sizes of a node's processors, memory and disks.
#pragma once

#include "backends/cluster.hpp"
#include "backends/sim/cluster/cluster_keys.hpp"

namespace strobe::sim {

/// Keys of the object. All up to `disk_bytes_per_second` are required, and each may say why its value is not known.
Keys host_file_keys();

/// Reads the object; unknown values become 0. Throws InvalidRequest with the JSON pointer under /host.
HostModel read_host(const Json& json);

/// Adds missing keys to the object, as unknown, so that one of its numbers can be changed in a file without it.
void complete_host(Json& json);

}  // namespace strobe::sim
