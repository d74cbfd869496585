// The place among a launcher's processes, read from tables of variables. Also a single process that finds variables
// left by an earlier launch.
#include "harness/process/world.hpp"

#include "core/errors.hpp"
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

using Table = std::map<std::string, std::string>;

World world_in(const Table& table) {
  return launched_world([&](const char* name) -> const char* {
    const auto found = table.find(name);
    return found == table.end() ? nullptr : found->second.c_str();
  });
}

const Table torch = {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}};

TEST(LaunchedWorld, IsReadFromEachLauncher) {
  for (const Table& table :
       {torch, Table{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}},
        Table{{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}, Table{{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}}}) {
    const World world = world_in(table);
    EXPECT_EQ(world.rank, 3);
    EXPECT_EQ(world.size, 4);
    EXPECT_EQ(table.count(world.launcher), 1u) << world.launcher;
  }
}

TEST(LaunchedWorld, IsOneProcessWhereASetIsNotWhole) {
  for (const Table& table :
       {Table{}, Table{{"RANK", "1"}, {"WORLD_SIZE", "4"}}, Table{{"SLURM_PROCID", "-1"}},
        Table{{"SLURM_PROCID", "abc"}, {"SLURM_STEP_NUM_TASKS", ""}}, Table{{"SLURM_STEP_NUM_TASKS", "4"}},
        Table{{"OMPI_COMM_WORLD_RANK", ""}}, Table{{"OMPI_COMM_WORLD_SIZE", "4"}}}) {
    const World world = world_in(table);
    EXPECT_EQ(world.rank, 0);
    EXPECT_EQ(world.size, 1);
    EXPECT_EQ(world.launcher, "");
  }
}

TEST(LaunchedWorld, RefusesWhatIsNoRank) {
  for (const char* rank : {"-1", "abc", "1099511627776", "1x", "1.0", " 1", "4", "1048576"}) {
    for (const auto& [name, size] : {std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                     {"PMI_RANK", "PMI_SIZE"},
                                     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}) {
      try {
        world_in({{name, rank}, {size, "4"}});
        ADD_FAILURE() << name << "=" << rank;
      } catch (const InvalidRequest& refused) {
        EXPECT_EQ(refused.where(), name);
      }
    }
  }
  for (const char* size : {"0", "-2", "many"})
    EXPECT_THROW(world_in({{"PMI_RANK", "0"}, {"PMI_SIZE", size}}), InvalidRequest) << size;
  Table alone = torch;
  alone["WORLD_SIZE"] = alone["LOCAL_WORLD_SIZE"] = "1";
  EXPECT_THROW(world_in(alone), InvalidRequest);
}

class SingleProcess : public Program {
 protected:
  Outcome with(const std::string& variables, const std::string& words) {
    return finish(
        start_shell("cd '" + folder_.string() + "' && exec env " + variables + " '" STROBE_BINARY "' " + words));
  }
  const std::string run_ = std::string("run --epochs 2 --out out --workload ") + tiny;
};

/// Such a process would train and write nothing, because only rank 0 writes results. So it is refused.
TEST_F(SingleProcess, DoesNotWorkForNothingBecauseOfAVariable) {
  for (const auto& [variables, name] :
       {std::pair<std::string, std::string>{"OMPI_COMM_WORLD_RANK=7", "OMPI_COMM_WORLD_RANK"},
        {"PMI_RANK=1", "PMI_RANK"},
        {"SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=1", "SLURM_PROCID"},
        {"RANK=1 WORLD_SIZE=1 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1", "RANK"},
        {"OMPI_COMM_WORLD_RANK=-1 OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK"}}) {
    const Outcome outcome = with(variables, run_);
    expect_refusal(outcome, 2, {name, "unset"});
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  }
}

TEST_F(SingleProcess, IsOnesOwnWhereTheCommunicatorOfOneProcessIsGiven) {
  const Outcome outcome = with("OMPI_COMM_WORLD_RANK=7", run_ + " --comm local");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/summary.json"));
}

TEST_F(SingleProcess, OfAStepTalksWhereItTalksToNobody) {
  const std::string task = "SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4";
  expect_refusal(with(task, "inspect nothere.csv"), 2, {"nothere.csv", "rank 2 of 4"});
  expect_refusal(with(task, "convert nothere.csv x.strobe"), 2, {"nothere.csv"});
  expect_refusal(with(task, "compare nothere1 nothere2"), 2, {"nothere1"});
  expect_refusal(with(task, "run nothere.json"), 2, {"nothere.json", "rank 2 of 4"});
  expect_refusal(with(task, run_), 2, {"rank 2 of 4", "--comm local"});
  EXPECT_NE(with(task, "list models").out, "");
  const Outcome simulated = with(task, run_ + " --device sim --cluster aimos-v100");
  expect_refusal(simulated, 2, {"--comm sim"});
}

TEST_F(SingleProcess, OfAStepRunsItsPartOfASweep) {
  const auto into = [](const std::string& out) {
    return "run --epochs 2 --workload " + std::string(tiny) + " --out " + out;
  };
  for (const std::string rank : {"0", "2"}) {
    const std::string task = "SLURM_PROCID=" + rank + " SLURM_STEP_NUM_TASKS=4 ";
    const Outcome outcome = with(task, into("out" + rank) + " --comm local --seed " + rank);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_NE(outcome.out, "");
    EXPECT_TRUE(std::filesystem::exists(folder_ / ("out" + rank) / "summary.json"));
  }
  EXPECT_EQ(with("PMI_RANK=1 PMI_SIZE=2", into("simulated") + " --device sim --cluster aimos-v100 --comm sim").status,
            0);
  suite(std::string(R"({"defaults": {"comm": "local", "workload": ")") + R"(chess"}, "cases": [{"epochs": 1}]})");
  EXPECT_EQ(with("PMI_RANK=1 PMI_SIZE=2", "run suite.json --out of-suite").status, 0);
}

}  // namespace
}  // namespace strobe::cli_test
