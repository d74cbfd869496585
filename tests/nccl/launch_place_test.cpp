// How a process reads its rank and meeting place from its launcher's environment.
#include "backends/nccl/bootstrap/launch_place.hpp"

#include <gtest/gtest.h>

#include <map>

#include "backends/nccl/bootstrap/rendezvous.hpp"
#include "core/errors.hpp"

namespace strobe::nccl {
namespace {

using Table = std::map<std::string, std::string>;

LaunchPlace place_in(const Table& table) {
  return launch_place([&](const char* name) -> const char* {
    const auto found = table.find(name);
    return found == table.end() ? nullptr : found->second.c_str();
  });
}

/// The variable that the refusal names, and its message.
std::pair<std::string, std::string> refusal_in(const Table& table) {
  try {
    place_in(table);
  } catch (const InvalidRequest& refusal) {
    return {refusal.where(), refusal.message()};
  }
  return {"nothing was refused", ""};
}

const Table torch = {{"RANK", "3"},
                     {"WORLD_SIZE", "4"},
                     {"LOCAL_RANK", "1"},
                     {"MASTER_ADDR", "node7"},
                     {"MASTER_PORT", "29500"},
                     {"TORCHELASTIC_RUN_ID", "night"}};

Table with(Table table, const Table& more) {
  for (const auto& [name, value] : more) table[name] = value;
  return table;
}
Table without(Table table, const std::string& name) {
  table.erase(name);
  return table;
}

TEST(LaunchPlace, NobodyLaunchedThisProcess) {
  EXPECT_FALSE(place_in({}).launched());
  EXPECT_FALSE(place_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).launched());  // a batch script, not a task
  EXPECT_FALSE(place_in({{"MASTER_ADDR", "node7"}}).launched());
}

TEST(LaunchPlace, Torchrun) {
  const LaunchPlace place = place_in(torch);
  EXPECT_EQ(place.launcher, "torchrun");
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.size, 4);
  EXPECT_EQ(place.address, "node7");
  EXPECT_EQ(place.port, 29501);  // torchrun's own store listens at MASTER_PORT
  EXPECT_EQ(place.run_key, "night");
  EXPECT_EQ(place_in(with(torch, {{"STROBE_NCCL_PORT", "4000"}})).port, 4000);
}

TEST(LaunchPlace, OpenMpiWithAddressOrFile) {
  const Table mpi = {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "prterun-9"}};
  const LaunchPlace by_file = place_in(with(mpi, {{"STROBE_NCCL_ID_FILE", "/shared/id"}, {"MASTER_ADDR", "ignored"}}));
  EXPECT_EQ(by_file.launcher, "mpirun");
  EXPECT_EQ(by_file.id_file, "/shared/id");
  EXPECT_EQ(by_file.run_key, "prterun-9");
  const LaunchPlace by_tcp = place_in(with(mpi, {{"MASTER_ADDR", "node1"}, {"MASTER_PORT", "5000"}}));
  EXPECT_EQ(by_tcp.port, 5000);
  EXPECT_TRUE(by_tcp.id_file.empty());
  EXPECT_FALSE(by_tcp.by_mpi || by_file.by_mpi);
}

TEST(LaunchPlace, OpenMpiAlone) {
  const Table mpi = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}};
  const LaunchPlace place = place_in(mpi);
  EXPECT_TRUE(place.by_mpi);
  EXPECT_EQ(place.rank, 1);
  EXPECT_FALSE(place.run_key.empty());
  // A port without a host is refused as a forgotten host. Under torchrun inside an MPI job, ranks meet as under
  // torchrun.
  EXPECT_THROW(place_in(with(mpi, {{"MASTER_PORT", "5000"}})), InvalidRequest);
  EXPECT_THROW(place_in(with(mpi, {{"STROBE_NCCL_PORT", "5000"}})), InvalidRequest);
  EXPECT_THROW(place_in(with(mpi, {{"RANK", "1"}, {"WORLD_SIZE", "2"}})), InvalidRequest);
}

TEST(LaunchPlace, MpiThatIsNotBuiltInIsSaid) {
  if (meet_by_mpi() != nullptr) GTEST_SKIP() << "this program was built with MPI";
  try {
    meet(place_in({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), 1);
    FAIL() << "met without MPI";
  } catch (const InvalidRequest& refused) {
    const std::string what = refused.what();
    EXPECT_NE(what.find("MASTER_ADDR: is not set: this program was built without MPI, and 2 processes need"),
              std::string::npos)
        << what;
  }
}

TEST(LaunchPlace, SlurmTaskOfARequeuedJob) {
  const Table slurm = {{"SLURM_PROCID", "7"},  {"SLURM_NTASKS", "8"},        {"SLURM_STEP_ID", "0"},
                       {"SLURM_JOB_ID", "42"}, {"SLURM_RESTART_COUNT", "1"}, {"STROBE_NCCL_ID_FILE", "id"}};
  const LaunchPlace place = place_in(slurm);
  EXPECT_EQ(place.launcher, "srun");
  EXPECT_EQ(place.rank, 7);
  EXPECT_EQ(place.run_key, "42.0.1");  // not the key of the run before the requeue
}

TEST(LaunchPlace, OneProcessNeedsNoMeetingPoint) {
  const LaunchPlace place = place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_TRUE(place.launched());
  EXPECT_EQ(place.size, 1);
}

TEST(LaunchPlace, TwoLaunchersThatAgree) {
  const LaunchPlace place = place_in(with(torch, {{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}}));
  EXPECT_EQ(place.launcher, "torchrun");
}

TEST(LaunchPlace, RefusalsNameTheVariable) {
  EXPECT_EQ(refusal_in(without(torch, "RANK")).first, "RANK");
  EXPECT_EQ(refusal_in(without(torch, "WORLD_SIZE")).first, "WORLD_SIZE");
  EXPECT_EQ(refusal_in(without(torch, "MASTER_ADDR")).first, "MASTER_ADDR");
  EXPECT_EQ(refusal_in(without(torch, "MASTER_PORT")).first, "MASTER_PORT");
  EXPECT_EQ(refusal_in(with(torch, {{"RANK", "three"}})).first, "RANK");
  EXPECT_EQ(refusal_in(with(torch, {{"RANK", "4"}})).first, "RANK");  // there are 4 ranks
  EXPECT_EQ(refusal_in(with(torch, {{"WORLD_SIZE", "0"}})).first, "WORLD_SIZE");
  EXPECT_EQ(refusal_in(with(torch, {{"WORLD_SIZE", "4x"}})).first, "WORLD_SIZE");
  EXPECT_EQ(refusal_in(with(torch, {{"MASTER_PORT", "70000"}})).first, "MASTER_PORT");
  EXPECT_EQ(refusal_in(with(torch, {{"STROBE_NCCL_PORT", "-1"}})).first, "STROBE_NCCL_PORT");
}

TEST(LaunchPlace, LaunchersThatContradictEachOther) {
  const auto [where, message] = refusal_in(with(torch, {{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}}));
  EXPECT_EQ(where, "OMPI_COMM_WORLD_RANK");
  EXPECT_NE(message.find("rank 2 of 4 by mpirun"), std::string::npos) << message;
  EXPECT_NE(message.find("RANK says rank 3 of 4"), std::string::npos) << message;
}

TEST(LaunchPlace, FilesWithoutARunKeyAreRefused) {
  const Table table = {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"STROBE_NCCL_ID_FILE", "id"}};
  EXPECT_EQ(refusal_in(table).first, "STROBE_NCCL_RUN_KEY");
  EXPECT_EQ(place_in(with(table, {{"STROBE_NCCL_RUN_KEY", "monday"}})).run_key, "monday");
}

}  // namespace
}  // namespace strobe::nccl
