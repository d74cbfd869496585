// The world of processes that mpirun, srun or torchrun started, as their environment tells it before MPI is up.
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

/// This process's place. torchrun counts only when all four of its variables are there, since some clouds set RANK and
/// WORLD_SIZE per node; then Open MPI, PMI, and a Slurm step (not a batch script, which sees the job's task count too).
/// An empty variable is not there. Throws InvalidRequest that names the variable which is malformed, not below its
/// world's size, or there without it: such a process would take itself for one whose results another one writes.
World launched_world(const Variables& variables = process_variables());

/// The same, a single process where the variables contradict each other.
World world_if_any() noexcept;

/// Forgets the launcher of a process that has nothing to do with the others, so that MPI, where a partitioner starts
/// it, does not wait for them. To be called before it is started.
void leave_world();

/// Does `work`, which is the first process's alone. When it throws in a world of several, the others do not know and
/// would wait for this process in their next collective; it then says why and ends without a farewell to them, upon
/// which the launcher ends them too.
void alone_in_world(const World& world, const std::function<void()>& work);

}  // namespace strobe
