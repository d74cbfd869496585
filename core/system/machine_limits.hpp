// What this process may use of its machine: the smallest of what is there, what a container or a batch system lets it
// have, and what the shell allows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace strobe {

/// What control groups let a process have, of versions 1 and 2, the least of its group and all groups above it. 0 = no
/// limit.
struct ContainerLimits {
  double cores = 0;  // processor time a second
  std::uint64_t memory_bytes = 0;
  std::string cores_group;  // folder of the group that sets `cores`; processes with the same one share them
};

/// Reads the limits of this process under /proc and /sys. `root` is put before every path, for tests. What cannot be
/// read limits nothing.
ContainerLimits container_limits(const std::string& root = "");

/// The cores that the process may run on, one bit each, as `taskset`, `srun` or `mpirun` bound it.
using CoreMask = std::array<std::uint64_t, 128>;
CoreMask allowed_cores();
int count_cores(const CoreMask& mask);

/// Cores for threads that compute all the time, at least 1: those that the process may run on, or fewer where its
/// container gives it less time than theirs. A quota is rounded down, because threads beyond it would be stopped in
/// turn while the others wait for them.
int usable_cores();

/// Bytes that the process may take: the machine's, its container's or its own limit (ulimit -v), whichever is least.
double usable_memory_bytes();

/// The machine's memory.
std::uint64_t machine_memory_bytes();

/// The name of this machine, "" when it has none.
std::string host_name();

/// What one of several processes says of itself when they divide cores. Plain bytes.
struct CoreClaim {
  std::uint64_t node = 0;         // the same for processes of one node, other nodes' differ
  std::uint64_t quota_group = 0;  // the same for those that share the quota
  double quota = 0;               // cores; 0 = none
  CoreMask mask{};
};

CoreClaim own_core_claim();

/// The cores of each process: one that several processes of a node may run on counts for each of them by its share, a
/// quota likewise.
std::vector<double> core_shares(const std::vector<CoreClaim>& claims);

/// How many threads compute on such a share: rounded down, at least 1.
int threads_of_share(double cores);

}  // namespace strobe
