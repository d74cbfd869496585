// The place of this process among the processes of a launch, read from the launcher's environment.
#pragma once

#include <functional>
#include <string>

#include "core/errors.hpp"

namespace strobe::nccl {

/// The value of an environment variable, or null. Tests pass tables of their own.
using Environment = std::function<const char*(const char*)>;
Environment process_environment();

/// `launcher` is "" when nobody launched this process: its ranks are then threads. Ranks of several processes meet in
/// files whose names begin with `id_file`, through the MPI world that mpirun made (`by_mpi`), or at `address`:`port`,
/// where rank 0 listens. `run_key` identifies the run in all three.
struct LaunchPlace {
  std::string launcher;
  int rank = 0;
  int size = 1;
  std::string address;
  int port = 0;
  std::string id_file;
  bool by_mpi = false;
  std::string run_key;  // separates this run's messages from those of others; never empty when size > 1

  bool launched() const { return !launcher.empty(); }
};

/// torchrun's RANK and WORLD_SIZE, Open MPI's OMPI_COMM_WORLD_RANK and _SIZE, or Slurm's SLURM_PROCID and SLURM_NTASKS
/// (of a task that srun started). STROBE_NCCL_ID_FILE chooses files; otherwise MASTER_ADDR and MASTER_PORT are used,
/// one port higher under torchrun, whose own store listens there; STROBE_NCCL_PORT overrides the port. Under mpirun
/// with none of the four, MPI. Throws InvalidRequest that names the variable which is missing, malformed, or at odds
/// with another launcher's.
LaunchPlace launch_place(const Environment& environment);

/// The refusal of a place whose ranks have no way to meet; `why` ends in "and " or is empty.
InvalidRequest no_meeting_point(const LaunchPlace& place, const std::string& why);

}  // namespace strobe::nccl
