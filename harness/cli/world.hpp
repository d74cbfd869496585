// The world of processes that mpirun, srun or torchrun started, as their environment tells it before MPI is up.
#pragma once

#include <functional>

namespace strobe {

struct World {
  int rank = 0;
  int size = 1;
  const char* launcher = "";  // the environment variable that won, "" when this is a single process
};

/// This process's place. torchrun counts only when all four of its variables are there, since some clouds set RANK and
/// WORLD_SIZE per node; then Open MPI, PMI, and a Slurm step (not a batch script, which sees the job's task count too).
World launched_world();

/// Does `work`, which is the first process's alone. When it throws in a world of several, the others do not know and
/// would wait for this process in their next collective; it then says why and ends without a farewell to them, upon
/// which the launcher ends them too.
void alone_in_world(const World& world, const std::function<void()>& work);

}  // namespace strobe
