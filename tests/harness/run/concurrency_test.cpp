// The mean number of ranks that compute at the same time, and its effect on ranks that share cores.
#include "harness/run/concurrency.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"

namespace strobe {
namespace {

Span span(double begin, double end, Phase phase = Phase::compute, Stream stream = Stream::compute) {
  Span result;
  result.phase = phase;
  result.stream = stream;
  result.begin_seconds = begin;
  result.end_seconds = end;
  return result;
}

TEST(MeanComputingRanks, IsTheNumberOfRanksWhereAllWorkAndOneWhereTheyTakeTurns) {
  EXPECT_DOUBLE_EQ(mean_computing_ranks({{span(0, 3)}, {span(0, 3)}, {span(0, 3)}}), 3);
  EXPECT_DOUBLE_EQ(mean_computing_ranks({{span(0, 1)}, {span(1, 2)}, {span(2, 3)}}), 1);
}

TEST(MeanComputingRanks, WeighsByTheTimeThatRanksWork) {
  // One, two, and again one rank for a second each: (1 + 4 + 1) / (1 + 2 + 1).
  EXPECT_DOUBLE_EQ(mean_computing_ranks({{span(0, 2)}, {span(1, 3)}}), 1.5);
}

TEST(MeanComputingRanks, CountsARankOnceAndNotWhileItWaits) {
  EXPECT_DOUBLE_EQ(mean_computing_ranks({{span(0, 2), span(0, 2, Phase::communicate, Stream::communicate)}}), 1);
  EXPECT_DOUBLE_EQ(mean_computing_ranks({{span(0, 1), span(1, 2, Phase::wait)}, {span(1, 2)}}), 1);
  EXPECT_EQ(mean_computing_ranks({{}, {}}), 0);
}

TEST(MeanComputingRanks, CountsHostWorkBesideARanksOwn) {
  const auto on_host = [](double begin, double end) { return span(begin, end, Phase::host, Stream::host); };
  EXPECT_DOUBLE_EQ(mean_computing_ranks({{span(0, 2), on_host(0, 2)}, {span(0, 2), on_host(0, 2)}}), 4);
  EXPECT_DOUBLE_EQ(mean_computing_ranks({{span(0, 1), on_host(1, 2)}}), 1);  // one after the other
  EXPECT_DOUBLE_EQ(mean_computing_ranks({{span(0, 3), on_host(0, 1)}}), 6.0 / 4);
}

/// The calibrated machine of the repository with another number of cores and room for 8 ranks.
class SharedCores : public testing::Test {
 protected:
  double epoch_seconds(const std::string& strategy, double cores) {
    std::ifstream file(STROBE_SOURCE_DIR "/results/measured/xeon-2core-2026-11-23/cluster.json");
    Json cluster = Json::parse(file);
    cluster["calibration"]["cores"] = cores;
    cluster["gpus_per_node"]["value"] = 8;
    std::ofstream(path_) << cluster.dump();
    const Json request = {{"workload", {{"name", "uniform"}, {"steps", 33}, {"vertices", 4096}, {"density", 3}}},
                          {"model", "cd-gcn"},
                          {"strategy", strategy},
                          {"ranks", 4},
                          {"device", "sim"},
                          {"cluster", path_},
                          {"epochs", 1},
                          {"warmup", 0}};
    const CaseResult result = run_case(case_from_json(request, ""));
    EXPECT_EQ(result.status, "ok") << result.reason;
    return result.samples.empty() ? 0 : result.samples.front().epoch_seconds;
  }
  void TearDown() override { std::filesystem::remove(path_); }

 private:
  std::string path_ =
      (std::filesystem::temp_directory_path() / ("strobe-shared-cores-" + std::to_string(getpid()) + ".json")).string();
};

TEST_F(SharedCores, RanksThatAllComputeTakeTurns) {
  const double ratio = epoch_seconds("snapshot", 2) / epoch_seconds("snapshot", 4);
  EXPECT_GT(ratio, 1.8);
  EXPECT_LE(ratio, 2.0);
}

TEST_F(SharedCores, RanksThatWaitForEachOtherHardlyDo) {
  const double ratio = epoch_seconds("pss", 2) / epoch_seconds("pss", 4);
  EXPECT_GE(ratio, 1.0);
  EXPECT_LT(ratio, 1.5);
}

}  // namespace
}  // namespace strobe
