// Communicator mpi in a process without mpirun. The cases of several ranks are in mpi/.
#include <gtest/gtest.h>

#include "backends/communicator.hpp"

namespace strobe {
namespace {

TEST(MpiWithoutMpirun, OffersOneRankAndNamesTheCommandForMore) {
  if (!CommunicatorRegistry::instance().contains("mpi")) GTEST_SKIP() << "built without MPI";
  const CommunicatorTag::Value& mpi = CommunicatorRegistry::instance().find("mpi").value;
  EXPECT_EQ(mpi.world_size(), 1);
  EXPECT_EQ(mpi.process_rank(), 0);
  LaunchRequest request;
  request.ranks = 4;
  request.make_device = DeviceRegistry::instance().find("cpu").value;
  try {
    mpi.launch(request, [](Device&, Communicator&) {});
    FAIL() << "four ranks in one process were not refused";
  } catch (const Unavailable& refused) {
    EXPECT_NE(std::string(refused.what()).find("mpirun -n 4"), std::string::npos) << refused.what();
  }
}

}  // namespace
}  // namespace strobe
