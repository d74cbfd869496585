// Draws of predicted cases against runs on clusters whose files hold the drawn constants, for every kind of training.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/drawn_clusters.hpp"
#include "backends/software.hpp"
#include "core/errors.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "results/answer/first_in_draws.hpp"
#include "results/row/row.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

Row row_of_json(const Json& json) {
  const Case c = case_from_json(json, "");
  const CaseResult result = run_case(c);
  EXPECT_EQ(result.status, "ok") << result.reason << "\n" << json;
  return summarise(case_to_json(c), case_id(c), result);
}

Json graph_case(const std::string& strategy, int ranks, const std::string& cluster, const Json& more = Json::object()) {
  Json json = {{"workload", {{"name", "dynamic-sbm"}, {"steps", 12}, {"vertices", 300}}},
               {"model", "t-gcn"},
               {"strategy", strategy},
               {"device", "sim"},
               {"cluster", cluster},
               {"ranks", ranks},
               {"epochs", 2},
               {"warmup", 1}};
  json.update(more);
  return json;
}

/// The file of the cluster with the drawn constants in their places, written by hand.
std::string file_of_draw(const test::TemporaryFolder& folder, const Json& described, const Cluster& drawn,
                         std::size_t number) {
  Json json = described;
  for (const std::string& change : drawn.changes) {
    const std::string key = change.substr(0, change.find('='));
    const std::size_t dot = key.find('.');
    Json& object = dot == std::string::npos ? json : json.at(key.substr(0, dot));
    Json& quantity = object[dot == std::string::npos ? key : key.substr(dot + 1)];
    quantity = {{"value", std::stod(change.substr(change.find('=') + 1))}, {"source", "drawn"}, {"date", "2026-11-30"}};
  }
  return folder.write(fmt::format("draw{}.json", number), json.dump());
}

/// Runs the case with draws, and again on a file of each draw.
void expect_the_times_of_files(Json json) {
  constexpr std::size_t draws = 5;
  const test::TemporaryFolder folder;
  const std::string cluster = json.at("cluster");
  const Row alone = row_of_json(json);
  EXPECT_FALSE(alone.time_draws);
  json["draws"] = draws;
  const Row row = row_of_json(json);
  EXPECT_EQ(row.epoch_seconds->median, alone.epoch_seconds->median) << "draws change no predicted time";
  ASSERT_TRUE(row.time_draws) << json;
  ASSERT_EQ(row.time_draws->epoch_seconds.size(), draws);
  json.erase("draws");
  const auto drawn = drawn_clusters(load_cluster(cluster), draws);
  for (std::size_t d = 0; d < draws; ++d) {
    json["cluster"] = file_of_draw(folder, load_cluster(cluster)->raw, *drawn[d], d);
    const Row of_file = row_of_json(json);
    EXPECT_EQ(row.time_draws->epoch_seconds[d], of_file.epoch_seconds->median) << json;
    EXPECT_NE(row.time_draws->epoch_seconds[d], row.epoch_seconds->median) << json;
  }
}

TEST(DrawnTimes, OfSnapshotsAreThoseOfFiles) {
  expect_the_times_of_files(graph_case("sequential", 1, "p4d-a100"));
  expect_the_times_of_files(graph_case("snapshot", 4, "p3dn-v100", {{"nb", "2"}, {"overlap", 2}}));
  expect_the_times_of_files(graph_case("vertex", 16, "p5-h100", {{"model", "tm-gcn"}, {"inputs", "resident"}}));
  expect_the_times_of_files(graph_case("pss", 8, "aimos-v100", {{"model", "evolve-gcn-o"}}));
  expect_the_times_of_files(graph_case("chunk", 8, "g4dn-t4", {{"model", "dcrnn"}}));
}

TEST(DrawnTimes, OfHybridBatchesAndEventsAreThoseOfFiles) {
  expect_the_times_of_files(graph_case("hybrid_batch", 4, "g4dn-t4"));
  expect_the_times_of_files(graph_case("pyd", 2, "dynahb-2080ti"));
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 4, 300);
  for (const int ranks : {1, 8, 16}) {
    Json json = {{"workload", visits},
                 {"model", {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}}},
                 {"strategy", {{"name", ranks == 1 ? "sequential" : "event_batch"}, {"batch", 8}}},
                 {"task", {{"name", "future-links"}, {"candidates", "9"}, {"batch", 20}}},
                 {"device", "sim"},
                 {"cluster", "g4dn-t4"},
                 {"ranks", ranks},
                 {"epochs", 2},
                 {"warmup", 1}};
    if (ranks > 8) json["cluster"] = "p3dn-v100";
    expect_the_times_of_files(json);
  }
}

TEST(DrawnTimes, OfAFrameworksProgramMoveItsTermsToo) {
  const Json json = graph_case("vertex", 8, "aimos-v100", {{"software", software_names().at(1)}, {"draws", 8}});
  const Row row = row_of_json(json);
  ASSERT_TRUE(row.time_draws);
  for (const double seconds : row.time_draws->epoch_seconds) {
    EXPECT_GT(seconds, row.epoch_seconds->median / 8);
    EXPECT_LT(seconds, row.epoch_seconds->median * 8);
  }
  EXPECT_NE(row.time_draws->of, row_of_json(graph_case("vertex", 8, "aimos-v100", {{"draws", 8}})).time_draws->of);
}

TEST(DrawnTimes, StrategiesAndRankCountsShareTheDrawsOfTheirCluster) {
  const Json more = {{"draws", 20}};
  const Row a = row_of_json(graph_case("vertex", 4, "p5-h100", more));
  const Row b = row_of_json(graph_case("snapshot", 2, "p5-h100", more));
  const Row again = row_of_json(graph_case("vertex", 4, "p5-h100", more));
  const Row reseeded = row_of_json(graph_case("vertex", 4, "p5-h100:draws_seed=5", more));
  EXPECT_EQ(a.time_draws->of, b.time_draws->of);
  EXPECT_EQ(a.time_draws->epoch_seconds, again.time_draws->epoch_seconds);
  EXPECT_NE(a.time_draws->of, reseeded.time_draws->of);
  EXPECT_NE(a.time_draws->epoch_seconds, reseeded.time_draws->epoch_seconds);
}

/// p5-h100 in which the network's latency alone is uncertain, by this factor up and down.
std::string uncertain_network(const test::TemporaryFolder& folder, double factor) {
  Json json = load_cluster("p5-h100")->raw;
  const auto settle = [](Json& object) {
    for (auto& [key, quantity] : object.items()) {
      const bool number = quantity.is_object() && quantity.contains("value") && quantity.at("value").is_number();
      if (number && !quantity.contains("currency")) quantity["low"] = quantity["high"] = quantity.at("value");
    }
  };
  settle(json), settle(json.at("gpu")), settle(json.at("host"));
  Json& latency = json.at("inter_node_latency_seconds");
  latency["low"] = latency.at("value").get<double>() / factor;
  latency["high"] = latency.at("value").get<double>() * factor;
  return folder.write(fmt::format("network{}.json", factor), json.dump());
}

/// A rival without network, whose time is a little longer, stays where it is. The other's time never falls when latency
/// rises. So draw by draw, a wider band can only take the lead away from the strategy that needs the network.
TEST(DrawnTimes, AWiderBandOfWhatOneStrategyUsesAloneNeverMakesItSurer) {
  const test::TemporaryFolder folder;
  constexpr std::size_t draws = 60;
  double before = draws;
  std::vector<double> firsts;
  for (const double factor : {1.0, 1.1, 1.5, 3.0, 10.0}) {
    const std::string cluster = uncertain_network(folder, factor);
    const Json more = {{"draws", draws}};
    const Row rival = row_of_json(graph_case("sequential", 1, cluster, more));
    const Row own = row_of_json(graph_case("vertex", 16, cluster, more));
    for (const double seconds : rival.time_draws->epoch_seconds)
      EXPECT_DOUBLE_EQ(seconds, rival.epoch_seconds->median) << "one GPU uses no network";
    const std::vector<double> threshold(draws, 1.02 * own.epoch_seconds->median);
    const std::vector<double> first = times_first({&own.time_draws->epoch_seconds, &threshold});
    EXPECT_NEAR(first[0] + first[1], draws, 1e-9);
    EXPECT_LE(first[0], before) << factor;
    before = first[0];
    firsts.push_back(first[0]);
  }
  EXPECT_EQ(firsts.front(), draws) << "a band without width leaves no doubt";
  EXPECT_LT(firsts.back(), 0.8 * draws);
}

TEST(DrawnTimes, AMeasuringDeviceRefusesThem) {
  try {
    case_from_json({{"workload", "chess"}, {"draws", 5}}, "/cases/0");
    FAIL() << "a measured time has no draws";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/cases/0/draws");
    EXPECT_NE(std::string(error.what()).find("--device sim"), std::string::npos);
  }
  const Case without = case_from_json({{"workload", "chess"}, {"device", "sim"}}, "");
  EXPECT_FALSE(case_to_json(without).contains("draws")) << "cases without draws keep their ids";
}

}  // namespace
}  // namespace strobe
