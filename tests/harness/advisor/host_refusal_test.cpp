// Room for the graph on a node, against counting copies one by one.
#include "harness/advisor/host_refusal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/advisor/evaluate.hpp"

namespace strobe {
namespace {

/// The most bytes that the first node holds at a time.
double counted_bytes(const GraphBytes& bytes, std::int64_t ranks, int nodes) {
  std::int64_t processes = 0;
  for (std::int64_t rank = 0; rank < ranks; rank += nodes) ++processes;
  if (nodes == 1) processes = 1;
  if (processes == 1) return bytes.raw + bytes.samples + bytes.prepared;
  double most = 0;  // one process makes one file after the other
  for (const double passing : {bytes.raw, bytes.samples}) most = std::max(most, passing);
  return most;
}

TEST(HostRoom, IsWhatCountingRankByRankGives) {
  int refused = 0, never = 0;
  for (int seed = 1; seed <= 2000; ++seed) {
    std::mt19937 draw(seed);
    const int nodes = 1 << (draw() % 5), gpus = 1 + draw() % 8;
    const std::int64_t ranks = std::int64_t{nodes} * gpus;
    GraphBytes bytes;
    bytes.raw = draw() % 1000, bytes.prepared = draw() % 1000, bytes.samples = draw() % 300;
    const double memory = draw() % 4000;
    const HostRoom room = host_room(host_need(bytes), ranks, nodes, memory);
    EXPECT_EQ(room.bytes, counted_bytes(bytes, ranks, nodes)) << seed;
    std::int64_t needed = 0;  // the fewest nodes of several that have room
    for (int several = 2; several <= ranks && needed == 0; ++several)
      if (counted_bytes(bytes, ranks, several) <= memory) needed = several;
    EXPECT_EQ(room.nodes, needed) << seed;
    refused += room.bytes > memory, never += room.nodes == 0;
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

GraphBytes bytes_of_space() {
  const Case request = outcomes_on(1e12).front().point.request;
  const DataCache cache;
  const ModelChoice choice = choose_model(request);
  return graph_bytes(load_data(request, choice, cache), choice);
}

TEST(HostRoom, OneNodeHoldsEverythingAndTwoNodesShareFiles) {
  const std::string no = "out_of_host_memory";
  const GraphBytes bytes = bytes_of_space();
  EXPECT_GT(bytes.all(), 2000 * 8 * 4 * 8.0);  // more than a column and a value of every edge
  const double several = std::max(bytes.raw, bytes.samples);
  ASSERT_LT(1.01 * several, 0.99 * bytes.all());
  EXPECT_EQ(statuses_on(1.01 * bytes.all()), (std::vector<std::string>{"ok", "ok"}));
  EXPECT_EQ(statuses_on(0.99 * bytes.all()), (std::vector<std::string>{no, "ok"}));
  EXPECT_EQ(statuses_on(1.01 * several), (std::vector<std::string>{no, "ok"}));
  EXPECT_EQ(statuses_on(0.99 * several), (std::vector<std::string>{no, no}));
}

TEST(HostRoom, RefusalSaysHowManyNodesAreEnough) {
  const GraphBytes bytes = bytes_of_space();
  ASSERT_GT(bytes.samples, 0);
  const PlanOutcome refused = outcomes_on(0.9 * std::max(bytes.raw, bytes.samples)).back();
  EXPECT_NE(refused.reason.find("more nodes do not help"), std::string::npos) << refused.reason;
  const PlanOutcome one_node = outcomes_on(0.9 * bytes.all()).front();
  EXPECT_EQ(one_node.reason.find("nodes with"), std::string::npos) << one_node.reason;  // one rank a node holds it all
}

}  // namespace
}  // namespace strobe
