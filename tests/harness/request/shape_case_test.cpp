// A run from a shape, without its graph: its plan and sent bytes must equal those of the graph that the shape
// describes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/run/run_case.hpp"
#include "tests/harness/plans.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

struct Source {
  const char* name;
  const char* parameters;
};

/// Bundled and generated graphs; the generated ones have steps of very different sizes and hubs.
const std::vector<Source>& sources() {
  static const std::vector<Source> all = {
      {"chess", R"({"window": "30d"})"},
      {"ucsocial", R"({})"},
      {"amlsim-20k", R"({})"},
      {"uniform", R"({"steps": 70, "vertices": 900, "density": 3})"},
      {"power-law", R"({"steps": 70, "vertices": 1500, "edges": 4000})"},
      {"dynamic-sbm", R"({})"},
      {"nonuniform",
       R"({"steps": 70, "vertices": 2000, "edges_mean": 3000, "edges_variance": 4e6, "length_mean": 20,
           "length_variance": 100})"},
  };
  return all;
}

class TemporaryShape {
 public:
  explicit TemporaryShape(const Source& source) {
    const SnapshotGraph graph = load_workload(source.name, Json::parse(source.parameters), 1);
    static int number = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("strobe-shape-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".json"))
                .string();
    steps_ = graph.steps();
    std::ofstream(path_) << to_json(measure_statistics(graph, source.name)).dump();
  }
  ~TemporaryShape() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }
  std::int64_t steps() const { return steps_; }

 private:
  std::string path_;
  std::int64_t steps_ = 0;
};

Case simulated(const Json& workload, const std::string& model, const Json& strategy, std::int64_t ranks) {
  return case_from_json(Json{{"workload", workload},
                             {"model", model},
                             {"strategy", strategy},
                             {"device", "sim"},
                             {"ranks", ranks},
                             {"epochs", 1},
                             {"warmup", 0}},
                        "");
}

Json named(const Source& source) {
  Json workload = Json::parse(source.parameters);
  workload["name"] = source.name;
  return workload;
}

std::uint64_t total(const FullBatchPlan& plan) {
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : plan.planned_bytes) sum += bytes;
  return sum;
}

/// Whether ids of the graph are independent of edges, so that ranges of them act as a hash partition.
bool plain_ids(const Source& source) { return std::string(source.name) == "uniform"; }

std::vector<Json> strategies_for(const Source& source) {
  std::vector<Json> strategies = {Json{{"name", "snapshot"}}, Json{{"name", "pss"}},
                                  Json{{"name", "vertex"}, {"partitioner", "hash"}},
                                  Json{{"name", "snapshot_groups"}, {"group_size", 2}, {"partitioner", "hash"}}};
  if (plain_ids(source)) strategies.push_back(Json{{"name", "vertex"}, {"partitioner", "range"}});
  return strategies;
}

bool needs_no_structure(const Json& strategy) {
  return strategy.at("name") == "snapshot" || strategy.at("name") == "pss";
}

class ShapeOfGraph : public ::testing::TestWithParam<Source> {};

TEST_P(ShapeOfGraph, PlansTheBytesOfItsGraph) {
  const TemporaryShape shape(GetParam());
  int compared = 0, models = 0;  // every model with every strategy, and both with every number of ranks
  for (const char* model : {"tm-gcn", "cd-gcn", "dcrnn"}) {
    int turn = models++;
    for (const Json& strategy : strategies_for(GetParam())) {
      ++turn;
      for (const int ranks : turn % 2 == 0 ? std::array{2, 64} : std::array{4, 8}) {
        const bool by_time = strategy.at("name") != "vertex";
        if (by_time && ranks >= shape.steps()) continue;
        const auto with = test::full_batch_plan(simulated(named(GetParam()), model, strategy, ranks));
        const auto without = test::full_batch_plan(simulated(Json{{"name", shape.path()}}, model, strategy, ranks));
        const std::string what = model + strategy.dump() + " on " + std::to_string(ranks);
        const double real = total(*with);
        if (needs_no_structure(strategy)) {
          EXPECT_EQ(with->planned_bytes, without->planned_bytes) << what;
        } else {
          EXPECT_NEAR(static_cast<double>(total(*without)) / real, 1, 0.03) << what;
        }
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 12);
}

TEST_P(ShapeOfGraph, RunsAsItsGraphDoes) {
  const TemporaryShape shape(GetParam());
  for (const Json& strategy : strategies_for(GetParam())) {
    const CaseResult with = run_case(simulated(named(GetParam()), "tm-gcn", strategy, 4));
    const CaseResult without = run_case(simulated(Json{{"name", shape.path()}}, "tm-gcn", strategy, 4));
    ASSERT_EQ(with.status, "ok") << with.reason;
    ASSERT_EQ(without.status, "ok") << without.reason;  // this also shows that planned bytes were sent
    const auto sums = [](const CaseResult& result) {
      double transfer = 0, seconds = 0, peak = 0;
      for (const EpochSample& sample : result.samples) {
        transfer += static_cast<double>(sample.transfer_bytes);
        seconds = std::max(seconds, sample.epoch_seconds);
        peak += static_cast<double>(sample.peak_device_bytes);
      }
      return std::array<double, 3>{transfer, seconds, peak};
    };
    const auto real = sums(with), counted = sums(without);
    EXPECT_NEAR(counted[0] / real[0], 1, 0.001) << "transfer bytes, " << strategy;
    EXPECT_NEAR(counted[1] / real[1], 1, 0.1) << "time, " << strategy;
    EXPECT_NEAR(counted[2] / real[2], 1, 0.02) << "memory, " << strategy;
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, ShapeOfGraph, ::testing::ValuesIn(sources()), [](const auto& source) {
  std::string name = source.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(ShapeCase, BlocksOfTheTimelineSendWhatTheWholeSends) {
  const TemporaryShape shape(sources()[3]);
  const Json strategy{{"name", "vertex"}, {"partitioner", "hash"}};
  Case whole = simulated(Json{{"name", shape.path()}}, "tm-gcn", strategy, 8), blocks = whole;
  blocks.nb = "3";
  blocks.rerun_last = true;
  const auto one = test::full_batch_plan(whole), three = test::full_batch_plan(blocks);
  const auto rows = [](const FullBatchPlan& plan) {
    std::int64_t sum = 0;
    for (const BlockPlan& block : plan.blocks) sum += block.spatial_halo.total_rows() + block.train.halo.total_rows();
    return static_cast<double>(sum);
  };
  EXPECT_EQ(three->blocks.size(), 3u);
  // Every block rounds its own halo, by at most a row for each rank and exchange.
  EXPECT_NEAR(rows(*three), rows(*one), 3 * 2 * 8);
  EXPECT_EQ(run_case(blocks).status, "ok");
}

TEST(ShapeCase, EverySampleHasAHomeAndEveryReceivedRowASender) {
  const TemporaryShape shape(sources()[2]);
  const auto plan = test::full_batch_plan(
      simulated(Json{{"name", shape.path()}}, "tm-gcn", Json{{"name", "vertex"}, {"partitioner", "hash"}}, 7));
  std::int64_t samples = 0, placed = 0, sent = 0, received = 0;
  for (const StepSamples& step : plan->data.shape->samples.train.steps) samples += step.count();
  for (const LocalSamples& rank : plan->blocks[0].train.ranks) placed += rank.count();
  EXPECT_NEAR(static_cast<double>(placed), static_cast<double>(samples), 7);
  const ExchangePlan& halo = plan->blocks[0].spatial_halo;
  for (const RankExchange& rank : halo.ranks) {
    sent += rank.send.total;
    received += rank.receive.total;
    EXPECT_EQ(rank.output_rows, rank.input_rows + rank.receive.total);
    EXPECT_GT(rank.receive.total, 0);
  }
  EXPECT_EQ(sent, received);
  for (Rank r = 0; r < 7; ++r) EXPECT_EQ(halo.rows(r, r), 0);
}

TEST(ShapeCase, MoreReadersOfACellNeverSendLess) {
  const TemporaryShape thin({"uniform", R"({"steps": 20, "vertices": 900, "density": 2})"}),
      thick({"uniform", R"({"steps": 20, "vertices": 900, "density": 6})"});
  const Json strategy{{"name", "vertex"}, {"partitioner", "hash"}};
  const auto halo = [&](const TemporaryShape& shape, int ranks) {
    return test::full_batch_plan(simulated(Json{{"name", shape.path()}}, "cd-gcn", strategy, ranks))
        ->blocks[0]
        .spatial_halo.total_rows();
  };
  for (const int ranks : {2, 8, 64}) EXPECT_LT(halo(thin, ranks), halo(thick, ranks)) << ranks;
  EXPECT_LT(halo(thin, 2), halo(thin, 8));
}

TEST(ShapeCase, IsRefusedWhereStructureOrValuesAreNeeded) {
  const TemporaryShape shape(sources()[3]);
  const Json workload{{"name", shape.path()}};
  const auto where = [&](const Json& changes) {
    Json json{{"workload", workload}, {"device", "sim"}, {"ranks", 2}};
    json.update(changes);
    try {
      test::full_batch_plan(case_from_json(json, ""));
    } catch (const InvalidRequest& error) {
      return error.where();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(where({{"strategy", "vertex"}}), "accepted");
  EXPECT_EQ(where({{"numerics", "cpu"}}), "/workload");
  EXPECT_EQ(where({{"strategy", "snapshot"}, {"overlap", 2}}), "/overlap");
  EXPECT_EQ(where({{"device", "cpu"}, {"strategy", "snapshot"}}), "/workload");
  EXPECT_EQ(where({{"strategy", {{"name", "vertex"}, {"partitioner", "metis"}}}}), "/strategy/partitioner");
  EXPECT_EQ(where({{"strategy", "snapshot"}, {"task", "vertex-classification"}}), "/task");
  EXPECT_EQ(where({{"strategy", "snapshot"}, {"task", "vertex-regression"}}), "accepted");
  EXPECT_EQ(where({{"strategy", "snapshot"}, {"task", {{"name", "link-prediction"}, {"positives", "new"}}}}),
            "/task/positives");
  EXPECT_EQ(where({{"strategy", "snapshot"}, {"model", {{"name", "evolve-gcn-h"}, {"mask", "linked"}}}}), "/model");
  EXPECT_EQ(where({{"strategy", "snapshot"}, {"task", {{"name", "link-prediction"}, {"theta", 0}}}}), "/task");
}

TEST(ShapeCase, ARegressionOfDegreesRuns) {
  const TemporaryShape shape(sources()[3]);
  Json json{{"workload", {{"name", shape.path()}}},
            {"device", "sim"},
            {"task", "vertex-regression"},
            {"strategy", {{"name", "vertex"}, {"partitioner", "hash"}}},
            {"ranks", 4}};
  const auto counted = test::full_batch_plan(case_from_json(json, ""));
  json["workload"] = named(sources()[3]);
  const auto real = test::full_batch_plan(case_from_json(json, ""));
  const auto samples = [](const FullBatchPlan& plan) {
    std::int64_t sum = 0;
    for (const LocalSamples& rank : plan.blocks[0].train.ranks) sum += rank.count();
    return static_cast<double>(sum);
  };
  EXPECT_NEAR(samples(*counted), samples(*real), 4);
  json["workload"] = {{"name", shape.path()}};
  const CaseResult result = run_case(case_from_json(json, ""));
  EXPECT_EQ(result.status, "ok") << result.reason;
}

}  // namespace
}  // namespace strobe
