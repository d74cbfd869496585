// --dump-samples: the file has the task's samples, is the same at every rank count, and labels edges and non-edges.
#include "harness/files/sample_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/errors.hpp"
#include "harness/full_batch/plan/data_keys.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "results/run/files.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

class SampleFile : public testing::Test {
 protected:
  SampleFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strobe-samples-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw SystemError("no temporary folder");
    folder_ = pattern;
  }
  ~SampleFile() override { std::filesystem::remove_all(folder_); }

  static Json request(const std::string& task) {
    return {{"workload", {{"name", "uniform"}, {"vertices", 40}, {"steps", 6}, {"density", 3}}},
            {"task", {{"name", task}}},
            {"epochs", 1},
            {"warmup", 0}};
  }

  std::string written(Json json, const std::string& strategy, int ranks) const {
    json["strategy"] = strategy;
    json["ranks"] = ranks;
    ModelOutputs outputs;
    outputs.files["samples"] = (folder_ / "samples.csv").string();
    const CaseResult result = run_case(case_from_json(json, ""), nullptr, outputs);
    EXPECT_EQ(result.status, "ok") << result.reason;
    return read_text_file(outputs.files["samples"]);
  }

  std::filesystem::path folder_;
};

std::vector<std::vector<std::string>> rows_of(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    line += ',';  // an empty last cell counts
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

TEST_F(SampleFile, IsTheSameAtEveryRankCount) {
  const std::string alone = written(request("link-prediction"), "sequential", 1);
  for (const std::string strategy : {"snapshot", "vertex"}) {
    for (const int ranks : {2, 3}) EXPECT_EQ(written(request("link-prediction"), strategy, ranks), alone) << strategy;
  }
  Json other = request("link-prediction");
  other["seed"] = 2;
  EXPECT_NE(written(other, "sequential", 1), alone);
}

TEST_F(SampleFile, LabelsTellEdgesFromOtherPairs) {
  const Json json = request("link-prediction");
  const auto rows = rows_of(written(json, "sequential", 1));
  ASSERT_GT(rows.size(), 10u);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"split", "step", "source", "target", "label", "value", "weight",
                                               "candidate_of"}));
  const Case c = case_from_json(json, "");
  const std::shared_ptr<const SnapshotGraph> graph = DataCache().get(GraphKey{{c.workload}, c.seed});
  const auto is_edge = [&](std::size_t step, long source, long target) {
    const Snapshot& snapshot = *graph->snapshots.at(step);
    const auto begin = snapshot.columns.begin() + snapshot.row_offsets[target];
    const auto end = snapshot.columns.begin() + snapshot.row_offsets[static_cast<std::size_t>(target) + 1];
    return std::binary_search(begin, end, static_cast<VertexId>(source));
  };
  std::map<std::string, int> seen;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), 8u) << i;
    // Test pairs belong to the step after the one whose embeddings score them.
    const bool train = rows[i][0] == "train";
    const std::size_t step = std::stoul(rows[i][1]) + (train ? 0 : 1);
    EXPECT_EQ(is_edge(step, std::stol(rows[i][2]), std::stol(rows[i][3])), rows[i][4] == "1") << i;
    ++seen[rows[i][0] + rows[i][4]];
  }
  for (const std::string kind : {"train0", "train1", "test0", "test1"}) EXPECT_GT(seen[kind], 0) << kind;
  EXPECT_EQ(seen["train0"], seen["train1"]);
}

TEST_F(SampleFile, RegressionHasValues) {
  const auto rows = rows_of(written(request("vertex-regression"), "sequential", 1));
  ASSERT_GT(rows.size(), 10u);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"split", "step", "vertex", "label", "value", "weight", "candidate_of"}));
  double largest = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) largest = std::max(largest, std::stod(rows[i].at(4)));
  EXPECT_GT(largest, 0.5);
}

}  // namespace
}  // namespace strobe
