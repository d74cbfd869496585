// The MPI communicator of processes that partition a graph together, for libraries that speak MPI themselves.
#pragma once

#include <mpi.h>

#include "backends/mpi/runtime.hpp"
#include "core/errors.hpp"
#include "workloads/partitioners/share_holders.hpp"

namespace strobe {

/// MPI_COMM_SELF for one process. Several call it together, directly after a meeting (ShareHolders::together); theirs
/// is made once and lives as long as MPI. Throws Error when they are not the MPI world.
inline MPI_Comm partition_world(const ShareHolders& holders) {
  const mpi::Runtime& runtime = mpi::Runtime::instance();  // the first user of MPI starts it; it ends with the process
  if (!holders.several()) return MPI_COMM_SELF;
  if (holders.size != runtime.size() || holders.rank != runtime.rank())
    throw Error("processes that partition together are not the MPI world");
  static const MPI_Comm world = runtime.new_communicator();
  return world;
}

}  // namespace strobe
