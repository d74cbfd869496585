// The simulator on the command line: --byte-matrix for nccl-tests, prices with their age, what-if clusters.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class ByteMatrix : public Program {};

/// The numbers of a matrix file, read as nccl-tests does: each line is a sender, and white space separates numbers.
std::vector<std::vector<std::uint64_t>> read_matrix(const std::string& text) {
  std::vector<std::vector<std::uint64_t>> matrix;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    matrix.emplace_back();
    for (std::uint64_t bytes = 0; numbers >> bytes;) matrix.back().push_back(bytes);
    EXPECT_TRUE(numbers.eof()) << line;
  }
  return matrix;
}

std::uint64_t largest_sum(const std::vector<std::vector<std::uint64_t>>& matrix) {
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    std::uint64_t sent = 0, received = 0;
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      sent += matrix[i][j];
      received += matrix[j][i];
    }
    most = std::max({most, sent, received});
  }
  return most;
}

TEST_F(ByteMatrix, IsSquareAndHoldsTheBytesOfThePlan) {
  const Outcome outcome = strobe({"run", "--workload", "uniform:vertices=60,steps=12", "--strategy", "snapshot",
                                  "--ranks", "3", "--dry-run", "--json", "--byte-matrix", "matrices"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("byte matrix files into matrices"), std::string::npos) << outcome.err;
  const std::string plan = outcome.out;
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "matrices")) files.push_back(file.path());
  ASSERT_EQ(files.size(), 2u);  // only the first layer redistributes; the last one keeps its vertices
  std::uint64_t redistributed = 0;
  for (const auto& file : files) {
    const auto matrix = read_matrix(read_text(file));
    ASSERT_EQ(matrix.size(), 3u) << file;
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(matrix[i].size(), 3u) << file;
      EXPECT_EQ(matrix[i][i], 0u) << "own rows are not sent";
      const bool moves_all = file.string().find("-to-") != std::string::npos;
      for (const std::uint64_t bytes : matrix[i]) redistributed += moves_all ? bytes : 0;
    }
    EXPECT_NE(file.string().find(".e" + std::to_string(largest_sum(matrix)) + ".txt"), std::string::npos) << file;
  }
  // Every redistribution occurs in the forward pass and, reversed, in the backward pass.
  const Json planned = Json::parse(plan).at("cases").at(0).at("planned_bytes_per_epoch");
  EXPECT_EQ(2 * redistributed, planned.at("redistribute").get<std::uint64_t>());
}

TEST_F(ByteMatrix, GoesWithADryRunOnly) {
  const Outcome outcome = strobe({"run", "--workload", "uniform", "--byte-matrix", "matrices"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--dry-run"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "matrices"));
}

TEST_F(ByteMatrix, OneRankLeavesNoFile) {
  const Outcome outcome = strobe({"run", "--workload", "uniform", "--dry-run", "--byte-matrix", "matrices"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "matrices"));
}

class Prices : public Program {};

TEST_F(Prices, AreShownWithTheirAge) {
  const Outcome listed = strobe({"list", "clusters"});
  ASSERT_EQ(listed.status, 0) << listed.err;
  EXPECT_NE(listed.out.find("price: 55.04 USD per node hour, us-east-1, listed 2026-09-25, "), std::string::npos);
  EXPECT_NE(listed.out.find(" days ago"), std::string::npos);
  EXPECT_NE(listed.out.find("price: not sold"), std::string::npos);
  const Outcome ran = strobe(
      {"run", "--workload", tiny, "--device", "sim", "--cluster", "p5-h100", "--epochs", "1", "--out", "priced"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.err.find("price of p5-h100: 55.04 USD per node hour"), std::string::npos) << ran.err;
  EXPECT_GT(read_json(folder_ / "priced/summary.json").at("rows").at(0).at("dollars_per_epoch").get<double>(), 0.0);
}

class PredictedRun : public Program {
 protected:
  /// The row of a run on `ranks` ranks of a cluster.
  Json row(const std::string& cluster, int ranks, Outcome* said = nullptr) {
    const Outcome outcome = strobe({"run", "--workload", "uniform:vertices=300,steps=16", "--model", "cd-gcn",
                                    "--strategy", ranks == 1 ? "sequential" : "vertex", "--device", "sim", "--cluster",
                                    cluster, "--ranks", std::to_string(ranks), "--epochs", "1", "--json"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    if (said != nullptr) *said = outcome;
    return Json::parse(outcome.out).at("rows").at(0);
  }
};

TEST_F(PredictedRun, AChangedPriceHasNeitherDateNorRegion) {
  Outcome said;
  const Json listed = row("p5-h100", 9), changed = row("p5-h100:price_per_node_hour=10", 9, &said);
  EXPECT_NE(said.err.find("10 USD per node hour, changed by the command, instead of 55.04\n"), std::string::npos)
      << said.err;
  EXPECT_EQ(said.err.find("2026-09-25"), std::string::npos) << said.err;
  const std::string notes = changed.at("notes").dump();
  EXPECT_NE(notes.find("price 10 USD per node hour, changed by the command"), std::string::npos) << notes;
  EXPECT_EQ(notes.find("us-east-1"), std::string::npos) << notes;
  EXPECT_NE(listed.at("notes").dump().find("us-east-1, 2026-09-25"), std::string::npos) << listed.at("notes");
  EXPECT_EQ(changed.at("currency"), "USD");
  const double ratio = changed.at("dollars_per_epoch").get<double>() / listed.at("dollars_per_epoch").get<double>();
  EXPECT_NEAR(ratio, 10 / 55.04, 1e-12);
  EXPECT_EQ(row("aimos-v100", 1).at("currency"), "") << "not sold";
}

TEST_F(PredictedRun, HasABandOnlyWhereEpochsWereMeasured) {
  const Json one = row("p5-h100", 1);
  const double median = one.at("epoch_seconds").at("median");
  EXPECT_NEAR(one.at("epoch_seconds_band90").at("low"), 0.94 * median, 1e-12 * median);
  EXPECT_NEAR(one.at("epoch_seconds_band90").at("high"), 1.91 * median, 1e-12 * median);
  for (const auto& [cluster, ranks, why] : {std::tuple{"p5-h100", 2, "at most 1 rank"},
                                            {"p5-h100", 9, "at most 1 rank"},
                                            {"p5-h100:nodes=99999", 9, "not with nodes=99999"},
                                            {"p5-h100:gpu.launch_seconds=1e-5", 1, "unchanged"}}) {
    const Json of = row(cluster, ranks);
    EXPECT_TRUE(of.at("epoch_seconds_band90").is_null()) << cluster;
    const std::string said = of.at("absent").at("/epoch_seconds_band90");
    EXPECT_NE(said.find(why), std::string::npos) << said;
  }
}

TEST_F(ByteMatrix, WhatIfClustersAreSetByKey) {
  const Outcome outcome = strobe({"run", "--workload", "uniform:vertices=200,steps=40", "--strategy", "snapshot",
                                  "--device", "sim", "--ranks", "16", "--set", "cluster.nodes=1"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("1 nodes x 8 GPUs = 8"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace strobe::cli_test
