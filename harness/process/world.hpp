// The world of processes that mpirun, srun or torchrun started, read from environment variables before MPI starts.
#pragma once

#include <functional>
#include <string>

namespace strobe {

struct World {
  int rank = 0;
  int size = 1;
  std::string launcher;  // the environment variable that won, "" when this is a single process
};

/// The value of an environment variable, or null. Tests pass tables of their own.
using Variables = std::function<const char*(const char*)>;
Variables process_variables();

/// This process's place in the world. torchrun counts only when all four of its variables exist, since some clouds set
/// RANK and WORLD_SIZE per node. Open MPI, PMI and a Slurm step follow (not a batch script, which also sees the job's
/// task count). An empty variable counts as missing.
/// Throws InvalidRequest that names a variable when it is malformed, when it is not below its world's size, or when its
/// counterpart is missing. Otherwise such a process would take itself for one whose results another process writes.
World launched_world(const Variables& variables = process_variables());

/// The same, but a single process when the variables contradict each other.
World world_if_any() noexcept;

/// Removes the variables of Open MPI, PMI and PMIx from a process that is independent of the others. Otherwise MPI,
/// started by a partitioner, would wait for the others. Call it before the partitioner starts.
void leave_world();

/// Does `work`, which only the first process does. If it throws, the other processes do not know and would wait in
/// their next collective. So this process prints the reason and ends without a farewell to them; then the launcher ends
/// them too.
void alone_in_world(const World& world, const std::function<void()>& work);

}  // namespace strobe
