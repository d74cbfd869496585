// Printed values that are the largest of several cases, ratios to the first reference that runs, or parts of an epoch.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "harness/run/run_case.hpp"
#include "harness/validation/published.hpp"
#include "results/row/row.hpp"

namespace strobe {
namespace {

Json printed_terms() {
  return Json::parse(R"({"experiments": [{"id": "t", "rows": [
    {"name": "average", "values": {"2": 1.8}},
    {"name": "in words"}]}]})");
}

/// Snapshots moved whole or as differences, on several rank counts, for two random graphs.
Json transfers() {
  return Json::parse(R"({"paper": "p", "citation": "c",
    "defaults": {"device": "sim", "cluster": "aimos-v100", "epochs": 1, "warmup": 1, "nb": ["2", "1"],
                 "workload": {"name": "uniform", "steps": 13}, "model": {"name": "evolve-gcn-o"},
                 "strategy": {"name": "snapshot"}, "transfer": "difference"},
    "experiments": {"t": {
      "labels": {"size": {"small": {"case": {"workload": {"vertices": 60, "density": 2}}},
                          "large": {"case": {"workload": {"vertices": 90, "density": 5}}}},
                 "system": {"ours": {}, "theirs": {}, "rarely": {}}},
      "columns": {"to_gpu": {"quantity": "transfer_seconds", "case": {"ranks": 2},
                             "for": {"system": {"theirs": {"reason": "moved once"}, "rarely": {"factor": 0.5}}}},
                  "upda": {"quantity": "update_seconds", "case": {"ranks": 2}}},
      "rows": {"average": {"columns": {
        "2": {"quantity": "loading_speedup", "largest": true, "each": {"size": ["small", "large"]}, "case": {"ranks": 2},
              "over": {"transfer": "full"}},
        "epoch": {"quantity": "epoch_reduction", "withheld": true, "each": {"size": ["large"]}, "case": {"ranks": 2},
                  "over": {"transfer": "full"}},
        "ideal": {"quantity": "speedup", "withheld": true, "each": {"size": ["small"]}, "case": {"ranks": 6},
                  "over": [{"ranks": 1, "memory_limit_gib": 1e-6}, {"ranks": 3}], "over_per_rank": true}}}}}}})");
}

Row transfer_row(Json json, const char* size, int ranks, const char* transfer) {
  json.update({{"ranks", ranks}, {"nb", ranks < 7 ? "2" : "1"}, {"transfer", transfer}});
  const bool small = std::string_view(size) == "small";
  json["workload"].update({{"vertices", small ? 60 : 90}, {"density", small ? 2 : 5}});
  const Case c = case_from_json(json, "");
  return summarise(case_to_json(c), "r", run_case(c));
}

TEST(Published, TermsAreTheLargestOverTheFirstThatRunsAsOneOfItsRanks) {
  PublishedPaper paper = read_published(printed_terms(), transfers(), "d.json");
  ASSERT_EQ(paper.values.size(), 4u);  // one row has only words
  predict(paper);
  const Json defaults = transfers().at("defaults");
  const auto loading = [](const Row& row) { return (*row.phase_seconds)[Phase::transfer]; };
  std::vector<double> speedups;
  for (const char* size : {"small", "large"})
    speedups.push_back(loading(transfer_row(defaults, size, 2, "full")) /
                       loading(transfer_row(defaults, size, 2, "difference")));
  EXPECT_NE(speedups[0], speedups[1]);
  EXPECT_NEAR(*paper.values[0].predicted, std::max(speedups[0], speedups[1]), 1e-12);
  EXPECT_FALSE(paper.values[0].baseline.has_value());
  const auto epoch = [&](const char* transfer) {
    return transfer_row(defaults, "large", 2, transfer).epoch_seconds->mean;
  };
  EXPECT_NEAR(*paper.values[1].predicted, 1 - epoch("difference") / epoch("full"), 1e-12);
  // One rank does not fit, so the reference is three times the time of three ranks.
  const double ideal = transfer_row(defaults, "small", 3, "difference").epoch_seconds->mean /
                       transfer_row(defaults, "small", 6, "difference").epoch_seconds->mean * 3;
  EXPECT_NEAR(*paper.values[2].predicted, ideal, 1e-9);
}

TEST(Published, TransfersAndUpdatesArePredictedExceptForExceptions) {
  const Json rows = Json::parse(R"({"experiments": [{"id": "t", "rows": [
    {"labels": {"size": "small", "system": "ours"}, "values": {"to_gpu": 1, "upda": 1}},
    {"labels": {"size": "small", "system": "theirs"}, "values": {"to_gpu": 1, "upda": 1}},
    {"labels": {"size": "small", "system": "rarely"}, "values": {"to_gpu": 1}}]}]})");
  PublishedPaper paper = read_published(rows, transfers(), "d.json");
  predict(paper);
  ASSERT_EQ(paper.values.size(), 5u);
  EXPECT_EQ(paper.values[4].printed, 0.5);
  EXPECT_EQ(paper.values[4].predicted, paper.values[0].predicted);
  const Row row = transfer_row(transfers().at("defaults"), "small", 2, "difference");
  EXPECT_NEAR(*paper.values[0].predicted, (*row.phase_seconds)[Phase::transfer], 1e-12);
  EXPECT_EQ(paper.values[2].reason, "moved once");
  EXPECT_FALSE(paper.values[2].predicted.has_value());
  // This model exchanges gradients and the loss, a few bytes each, so latency dominates and each takes half. The term
  // of the gradients includes the optimiser's step, which is one launch.
  const double exchange = (*row.phase_seconds)[Phase::communicate];
  const double launch = load_cluster("aimos-v100")->gpu.launch_seconds;
  EXPECT_GT(launch, 0);
  EXPECT_NEAR(*paper.values[1].predicted, exchange / 2 + launch, 0.01 * exchange);
  EXPECT_EQ(paper.values[1].predicted, paper.values[3].predicted);
}

}  // namespace
}  // namespace strobe
