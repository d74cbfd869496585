// The cores and memory that this process may use: the smallest of what the machine has, what a container or a batch
// system allows, and what the shell allows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace strobe {

/// The limits of control groups, versions 1 and 2: the smallest of the process's group and all groups above it. 0 = no
/// limit.
struct ContainerLimits {
  double cores = 0;  // processor time a second
  std::uint64_t memory_bytes = 0;
  std::string cores_group;  // folder of the group that sets `cores`; processes with the same one share them
};

/// Reads the limits of this process under /proc and /sys. `root` is put before every path, for tests. A file that
/// cannot be read limits nothing.
ContainerLimits container_limits(const std::string& root = "");

/// The cores that the process may run on, one bit each, as `taskset`, `srun` or `mpirun` set them.
using CoreMask = std::array<std::uint64_t, 128>;
CoreMask allowed_cores();
int count_cores(const CoreMask& mask);

/// The number of threads that may compute all the time, at least 1: the cores that the process may run on, or fewer
/// when its container gets less processor time. A quota is rounded down, because the kernel would stop surplus threads
/// in turn while the others wait for them.
int usable_cores();

/// Bytes that the process may take: the machine's, its container's or its own limit (ulimit -v), whichever is least.
double usable_memory_bytes();

/// The machine's memory.
std::uint64_t machine_memory_bytes();

/// The name of this machine, "" when it has none.
std::string host_name();

/// The facts that each of several processes reports when they divide cores. Plain bytes.
struct CoreClaim {
  std::uint64_t node = 0;         // the same for processes of one node, other nodes' differ
  std::uint64_t quota_group = 0;  // the same for those that share the quota
  double quota = 0;               // cores; 0 = none
  CoreMask mask{};
};

CoreClaim own_core_claim();

/// The cores of each process. A core that several processes of a node may run on is divided among them, and so is a
/// quota that they share.
std::vector<double> core_shares(const std::vector<CoreClaim>& claims);

/// The number of threads for such a share: rounded down, at least 1.
int threads_of_share(double cores);

}  // namespace strobe
