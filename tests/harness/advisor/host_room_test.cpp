// Room for the graph on a node, against counting copies one by one.
#include "harness/advisor/host_room.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/advisor/evaluate.hpp"

namespace strobe {
namespace {

/// Copies that fit when one is added after the other, at most `most`.
std::int64_t counted_room(double bytes, std::int64_t most, double memory) {
  std::int64_t copies = 0;
  while (copies < most && static_cast<double>(copies + 1) * bytes <= memory) ++copies;
  return copies;
}

TEST(HostRoom, IsWhatCountingCopiesGives) {
  int refused = 0, never = 0;
  for (int seed = 1; seed <= 2000; ++seed) {
    std::mt19937 draw(seed);
    const int nodes = 1 << (draw() % 5), gpus = 1 + draw() % 8;
    const std::int64_t ranks = std::int64_t{nodes} * gpus;
    const double bytes = 1 + draw() % 1000, memory = draw() % 8000;
    const HostRoom room = host_room(bytes, ranks, nodes, memory);
    const std::int64_t counted = counted_room(bytes, ranks, memory);
    EXPECT_EQ(room.copies, nodes == 1 ? 1 : gpus) << seed;
    EXPECT_EQ(room.room, counted) << seed;
    EXPECT_EQ(room.fits(), static_cast<double>(room.copies) * bytes <= memory) << seed;
    std::int64_t needed = 0;  // the fewest nodes whose copies are enough
    while (counted > 0 && needed * counted < ranks) ++needed;
    EXPECT_EQ(room.nodes, needed) << seed;
    refused += !room.fits(), never += room.nodes == 0;
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(never, 20);
}

PlanSpace space_on(const std::string& cluster) {
  PlanSpace space;
  space.settings = {{"workload", "uniform", "--workload"}, {"workload.vertices", "2000", "--workload"},
                    {"workload.steps", "8", "--workload"}, {"workload.density", "4", "--workload"},
                    {"model", "tm-gcn", "--model"},        {"nb", "1", "--set"}};
  space.strategies = {{"snapshot", {}}};
  space.clusters = {cluster};
  space.nodes = {1, 2};
  return space;
}

/// Points with all GPUs of their nodes.
std::vector<PlanOutcome> outcomes_on(double memory) {
  const std::string cluster = "azure-nd-a100:gpus_per_node=2,host.memory_bytes=" + std::to_string(std::llround(memory));
  std::vector<PlanOutcome> outcomes;
  for (PlanOutcome& outcome : evaluate(plan_points(space_on(cluster)), 1, 1)) {
    if (outcome.point.request.ranks == 2 * outcome.point.nodes) outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

std::vector<std::string> statuses_on(double memory) {
  std::vector<std::string> statuses;
  for (const PlanOutcome& outcome : outcomes_on(memory)) statuses.push_back(outcome.status);
  return statuses;
}

TEST(HostRoom, OneNodeHoldsOneCopyAndTwoNodesHoldOneForEachRank) {
  const std::string no = "out_of_host_memory";
  const Case request = outcomes_on(1e12).front().point.request;
  const DataCache cache;
  const ModelChoice choice = choose_model(request);
  const double copy = graph_bytes(load_data(request, choice, cache), choice).all();
  EXPECT_GT(copy, 2000 * 8 * 4 * 8.0);  // more than a column and a value of every edge
  EXPECT_EQ(statuses_on(2.01 * copy), (std::vector<std::string>{"ok", "ok"}));
  EXPECT_EQ(statuses_on(1.99 * copy), (std::vector<std::string>{"ok", no}));
  EXPECT_EQ(statuses_on(0.99 * copy), (std::vector<std::string>{no, no}));
}

TEST(HostRoom, RefusalSaysHowManyNodesAreEnough) {
  const Case request = outcomes_on(1e12).front().point.request;
  const DataCache cache;
  const ModelChoice choice = choose_model(request);
  const double copy = graph_bytes(load_data(request, choice, cache), choice).all();
  const PlanOutcome refused = outcomes_on(1.5 * copy).back();
  EXPECT_NE(refused.reason.find("4 ranks need 4 nodes with 1 of their GPUs each"), std::string::npos) << refused.reason;
  EXPECT_NE(outcomes_on(0.5 * copy).back().reason.find("no number of nodes is enough"), std::string::npos);
}

}  // namespace
}  // namespace strobe
