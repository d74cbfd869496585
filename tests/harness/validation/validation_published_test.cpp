// Published values: every printed cell has a case or a reason, descriptions are refused where they say nothing, and
// shapes give graph differences what a graph gives.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/run/run_case.hpp"
#include "harness/timeline/block_store.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/validation/published_report.hpp"
#include "tests/harness/plans.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

TEST(Published, EveryPrintedValueOfEveryPaperHasACaseOrAReason) {
  const std::vector<std::string> names = published_names();
  EXPECT_EQ(names, (std::vector<std::string>{"dgc", "disttgl", "dynahb", "esdg"}));
  std::size_t with_case = 0;
  for (const std::string& name : names) {
    const PublishedPaper paper = load_published(name);
    EXPECT_EQ(paper.name, name);
    EXPECT_FALSE(paper.citation.empty());
    EXPECT_FALSE(paper.values.empty());
    for (const PublishedValue& value : paper.values) {
      EXPECT_NE(value.cases.empty(), value.reason.empty())
          << value.experiment << " " << value.row << " " << value.column;
      for (const Json& c : value.cases) EXPECT_NO_THROW(case_from_json(c, "")) << c.dump();
      with_case += !value.cases.empty();
    }
  }
  EXPECT_GT(with_case, 20u);
}

TEST(Published, EsdgKeepsWithheldTimesAndPrintedUnits) {
  std::size_t withheld = 0;
  for (const PublishedValue& value : load_published("esdg").values) {
    if (value.quantity == "epoch_seconds" && !value.printed) {
      EXPECT_NE(value.row.find("ranks=64"), std::string::npos);
      ++withheld;
    }
    if (value.row == "model=tmgcn ranks=4" && value.column == "time_ms_snapshot") {
      EXPECT_DOUBLE_EQ(*value.printed, 3.396);
      EXPECT_EQ(value.order, "model=tmgcn");
      EXPECT_EQ(value.cases.size(), 5u);  // numbers of blocks to try
      EXPECT_EQ(value.cases[0].at("ranks"), 4);
    }
  }
  EXPECT_EQ(withheld, 4u);
}

TEST(Published, UnknownPaperNamesTheNearest) {
  try {
    load_published("esgd");
    FAIL();
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "--published");
    EXPECT_NE(error.message().find("esdg"), std::string::npos) << error.message();
  }
}

Json printed() {
  return Json::parse(R"({"experiments": [{"id": "t", "rows": [
    {"labels": {"ranks": 2, "system": "ours"}, "values": {"ms": 500, "rounds": 5}},
    {"labels": {"ranks": 4, "system": "ours"}, "values": {"ms": 400, "rounds": 4}},
    {"labels": {"ranks": 2, "system": "theirs"}, "values": {"ms": 900, "rounds": 3}},
    {"name": "words"}]}]})");
}

Json description() {
  return Json::parse(R"({"paper": "p", "citation": "c",
    "defaults": {"device": "sim", "cluster": "aimos-v100", "epochs": 1,
                 "workload": {"name": "uniform", "steps": 9, "vertices": 60}},
    "experiments": {"t": {
      "labels": {"ranks": {"*": {"case": {"ranks": "$"}}},
                 "system": {"ours": {"order": true, "case": {"strategy": "snapshot"}},
                            "theirs": {"reason": "not here"}}},
      "columns": {"ms": {"quantity": "epoch_seconds", "factor": 0.001, "divide_by": "rounds"},
                  "rounds": {"reason": "training"}}}}})");
}

TEST(Published, DescriptionsMapLabelsToCasesAndUnits) {
  PublishedPaper paper = read_published(printed(), description(), "d.json");
  ASSERT_EQ(paper.values.size(), 7u);
  EXPECT_DOUBLE_EQ(*paper.values[0].printed, 0.1);
  EXPECT_EQ(paper.values[2].cases.at(0).at("ranks"), 4);
  EXPECT_EQ(paper.values[1].reason, "training");
  EXPECT_EQ(paper.values[4].reason, "not here");
  EXPECT_FALSE(paper.values[6].reason.empty());
  predict(paper);
  const PublishedSummary summary = summarise_published({paper});
  EXPECT_EQ(summary.predicted, 2u);
  EXPECT_EQ(summary.times.count, 2u);
  EXPECT_EQ(summary.without_case, 5u);
  EXPECT_EQ(summary.order.of, 0u);  // 0.1 s both
  EXPECT_EQ(summary.memory.right, 2u);
  EXPECT_EQ(summary.memory.of, 2u);
  EXPECT_NEAR(paper.values[0].error, *paper.values[0].predicted / 0.1 - 1, 1e-12);
  EXPECT_GT(*paper.values[0].baseline, 0);
  EXPECT_NE(published_text({paper}).find("not here"), std::string::npos);
  EXPECT_EQ(published_to_json({paper}).at("papers")[0].at("values").size(), 7u);
}

TEST(Published, WhatRunsOutOfMemoryIsAWrongVerdictWhereThePaperRan) {
  Json text = description();
  text["defaults"]["memory_limit_gib"] = 1e-6;
  text["defaults"]["nb"] = {"1", "2"};
  text["experiments"]["t"]["columns"]["rounds"] = {{"quantity", "out_of_memory"}};
  PublishedPaper paper = read_published(printed(), text, "d.json");
  EXPECT_EQ(paper.values[0].cases.size(), 2u);
  predict(paper);
  EXPECT_FALSE(paper.values[0].predicted.has_value());
  EXPECT_EQ(paper.values[0].status, "out_of_memory");
  EXPECT_EQ(paper.values[0].blocks, "2");  // the last that was tried
  EXPECT_DOUBLE_EQ(*paper.values[1].predicted, 1);
  const PublishedSummary summary = summarise_published({paper});
  EXPECT_EQ(summary.times.count, 0u);
  EXPECT_EQ(summary.memory.of, 4u);
  EXPECT_EQ(summary.memory.right, 2u);
}

TEST(Published, DescriptionsThatSayNothingOfACellAreRefused) {
  for (const char* path : {"/experiments/t/columns/rounds", "/experiments/t/labels/ranks",
                           "/experiments/t/labels/system/theirs", "/experiments/t"}) {
    const Json::json_pointer pointer(path);
    Json text = description();
    text.at(pointer.parent_pointer()).erase(pointer.back());
    EXPECT_THROW(read_published(printed(), text, "d.json"), InvalidInput) << path;
  }
}

/// The shape of a workload, as a file.
class ShapeOf {
 public:
  explicit ShapeOf(const char* name, const char* parameters) {
    path_ =
        (std::filesystem::temp_directory_path() / ("strobe-difference-" + std::to_string(getpid()) + ".json")).string();
    std::ofstream(path_) << to_json(measure_shape(load_workload(name, Json::parse(parameters), 1), name)).dump();
  }
  ~ShapeOf() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::uint64_t moved(const Json& workload, const char* model, const char* strategy, int ranks, const char* transfer,
                    const char* format) {
  const Case c = case_from_json(Json{{"workload", workload},
                                     {"model", model},
                                     {"strategy", strategy},
                                     {"ranks", ranks},
                                     {"nb", "2"},
                                     {"transfer", transfer},
                                     {"transfer_format", format},
                                     {"device", "sim"},
                                     {"epochs", 1}},
                                "");
  const CaseResult result = run_case(c);
  EXPECT_EQ(result.status, "ok") << result.reason;
  std::uint64_t bytes = 0;
  for (const EpochSample& sample : result.samples) bytes += sample.epoch == 1 ? sample.transfer_bytes : 0;
  EXPECT_EQ(bytes, planned_transfer_bytes(*test::full_batch_plan(c)).total());
  return bytes;
}

/// Differences of a shape that knows how long edges live sum to the graph's, up to where blocks and training end.
TEST(Published, AShapeMovesTheGraphsDifferenceBytes) {
  const char* parameters = R"({"steps": 60, "vertices": 400, "edges": 2000, "overlap": 0.8})";
  const ShapeOf shape("power-law", parameters);
  Json graph = Json::parse(parameters);
  graph["name"] = "power-law";
  for (const char* model : {"tm-gcn", "cd-gcn"}) {
    for (const char* transfer : {"full", "difference"}) {
      for (const char* format : {"coo64", "csr32"}) {
        const auto real = static_cast<double>(moved(graph, model, "snapshot", 2, transfer, format));
        const auto counted =
            static_cast<double>(moved({{"name", shape.path()}}, model, "snapshot", 2, transfer, format));
        EXPECT_NEAR(counted, real, 0.05 * real) << model << " " << transfer << " " << format;
      }
    }
  }
}

TEST(Published, AShapeHasNoValuesToCompareAndIsNotCutAmongRanks) {
  const Json base = {{"workload", "aml-sim"}, {"model", "tm-gcn"}, {"device", "sim"}, {"ranks", 4}};
  for (const auto& [strategy, transfer] :
       {std::pair{"snapshot", "least"}, {"snapshot", "changed"}, {"vertex", "full"}}) {
    Json json = base;
    json["strategy"] = strategy, json["transfer"] = transfer;
    EXPECT_THROW(make_plan(case_from_json(json, "")), InvalidRequest) << strategy << " " << transfer;
  }
}

}  // namespace
}  // namespace strobe
