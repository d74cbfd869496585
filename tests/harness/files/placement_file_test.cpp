// --dump-placement: under every strategy, each cell has one line, or its vertex has one line for all steps.
#include "harness/files/placement_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/run/run_case.hpp"
#include "results/run/files.hpp"
#include "tests/full_batch_strategies.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

using Owners = std::pair<Rank, Rank>;  // in the spatial and in the temporal stages

/// The owners of each cell (step, vertex) in the file. A line without a step holds for all `steps` steps.
std::map<std::pair<Step, VertexId>, Owners> owners_in(const std::string& path, std::int64_t steps,
                                                      const std::string& more) {
  std::map<std::pair<Step, VertexId>, Owners> owners;
  std::istringstream text(read_text_file(path));
  std::string line;
  std::getline(text, line);
  EXPECT_EQ(line, "step,vertex,rank,temporal_rank" + more);
  while (std::getline(text, line)) {
    std::istringstream cells(line);
    std::vector<std::string> cell(4);
    for (std::string& value : cell) std::getline(cells, value, ',');
    const Owners of{std::stoi(cell[2]), std::stoi(cell[3])};
    for (Step t = 0; t < steps; ++t) {
      if (!cell[0].empty() && std::stoi(cell[0]) != t) continue;
      EXPECT_TRUE(owners.emplace(std::pair{t, static_cast<VertexId>(std::stoi(cell[1]))}, of).second) << line;
    }
  }
  return owners;
}

class PlacementFile : public testing::TestWithParam<std::string> {
 protected:
  PlacementFile()
      : path_((std::filesystem::temp_directory_path() / ("strobe-placement-" + std::to_string(getpid()))).string()) {}
  ~PlacementFile() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST_P(PlacementFile, TellsWhoOwnsEveryCell) {
  const int ranks = GetParam() == "sequential" ? 1 : 4;
  const Json json = {{"workload", {{"name", "uniform"}, {"vertices", 23}, {"steps", 9}, {"density", 2}}},
                     {"strategy", GetParam()},
                     {"ranks", ranks},
                     {"epochs", 1},
                     {"warmup", 0},
                     {"nb", "2"}};
  const Case c = case_from_json(json, "");
  const auto plan = test::full_batch_plan(c);
  ModelOutputs outputs;
  outputs.files["placement"] = path_;
  ASSERT_EQ(run_case(c, nullptr, outputs).status, "ok");
  const Placement &spatial = plan->strategy.spatial, &temporal = plan->strategy.temporal;
  const std::string more = plan->strategy.chunks != nullptr  ? ",chunk"
                           : plan->strategy.loads != nullptr ? ",load,group"
                                                             : "";
  const auto owners = owners_in(path_, spatial.steps(), more);
  EXPECT_EQ(owners.size(), static_cast<std::size_t>(spatial.vertices * spatial.steps()));
  for (const auto& [cell, of] : owners)
    EXPECT_EQ(of, Owners(spatial.owner(cell.second, cell.first), temporal.owner(cell.second, cell.first)));
  const bool lie_whole = spatial.keeps_timelines() && temporal.keeps_timelines();
  EXPECT_EQ(read_text_file(path_).find("\n,") != std::string::npos, lie_whole);
}

TEST(PlacementFileOfLoads, TellsLoadAndGroupOfEveryVertex) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("strobe-loads-" + std::to_string(getpid()))).string();
  for (const std::string presence : {"all", "seen"}) {
    const Json json = {{"workload", {{"name", "uniform"}, {"vertices", 45}, {"steps", 6}, {"density", 1}}},
                       {"strategy", {{"name", "vertex"}, {"partitioner", "load_aware"}}},
                       {"presence", presence},
                       {"ranks", 3},
                       {"epochs", 1},
                       {"warmup", 0}};
    const Case c = case_from_json(json, "");
    const auto plan = test::full_batch_plan(c);
    ASSERT_NE(plan->strategy.loads, nullptr);
    ModelOutputs outputs;
    outputs.files["placement"] = path;
    ASSERT_EQ(run_case(c, nullptr, outputs).status, "ok");
    const VertexLoads& loads = *plan->strategy.loads;
    std::istringstream text(read_text_file(path));
    std::string line;
    std::getline(text, line);
    EXPECT_EQ(line, "step,vertex,rank,temporal_rank,load,group");
    std::set<std::size_t> reported;
    while (std::getline(text, line)) {
      std::istringstream cells(line);
      std::vector<std::string> cell(6);
      for (std::string& value : cell) std::getline(cells, value, ',');
      const std::size_t v = std::stoi(cell[1]);
      EXPECT_EQ(std::stod(cell[4]), loads.load[v]);
      EXPECT_EQ(std::stoi(cell[5]), loads.group[v]);
      reported.insert(v);
    }
    EXPECT_EQ(reported.size(), 45u);
    // tm-gcn has two products with its smoothed graph, the first of them before training.
    EXPECT_EQ(loads.load, walk_loads(*plan->data.graph, 2));
    std::filesystem::remove(path);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlacementFile, testing::ValuesIn(test::full_batch_strategies()),
                         [](const auto& strategy) { return strategy.param; });

}  // namespace
}  // namespace strobe
