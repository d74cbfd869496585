// The world of processes that mpirun, srun or torchrun started, as their environment tells it before MPI is up.
#pragma once

namespace strobe {

struct World {
  int rank = 0;
  int size = 1;
  const char* launcher = "";  // the environment variable that won, "" when this is a single process
};

/// This process's place. torchrun counts only when all four of its variables are there, since some clouds set RANK and
/// WORLD_SIZE per node; then Open MPI, PMI, and a Slurm step (not a batch script, which sees the job's task count too).
World launched_world();

}  // namespace strobe
