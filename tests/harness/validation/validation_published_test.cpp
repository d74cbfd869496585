// Published values: every printed cell has a case or a reason, descriptions without content are refused, and shapes
// give the same bytes of graph differences as a graph.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/full_batch/block_store.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/validation/published_report.hpp"
#include "results/row/row.hpp"
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
      EXPECT_NE(value.has_case(), !value.reason.empty()) << value.experiment << " " << value.row << " " << value.column;
      for (const Json& c : value.cases) EXPECT_NO_THROW(case_from_json(c, "")) << c.dump();
      for (const SpeedupTerm& term : value.terms) {
        EXPECT_GE(term.cases.size(), value.quantity == "divergence" ? 1u : 2u);
        for (const std::vector<Json>& alternatives : term.cases) {
          for (const Json& c : alternatives) EXPECT_NO_THROW(case_from_json(c, "")) << c.dump();
        }
      }
      with_case += value.has_case();
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
      EXPECT_EQ(value.cases.size(), 5u);  // one for each number of blocks
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

Json printed_speedups() {
  return Json::parse(R"({"experiments": [{"id": "t", "rows": [
    {"name": "average", "values": {"2": 1.8}},
    {"name": "small below large"}]}]})");
}

/// Two sizes of a graph of events; the larger has its own batch on many ranks.
Json speedups() {
  return Json::parse(R"({"paper": "p", "citation": "c",
    "defaults": {"device": "sim", "cluster": "g4dn-t4", "epochs": 1, "warmup": 0,
                 "workload": {"name": "bursty_events", "vertices": 60, "span": 1000},
                 "model": {"name": "tgn-attn", "memory": 8, "time": 4},
                 "strategy": {"name": "event_batch", "batch": 20}, "task": {"name": "future-links", "candidates": "1"}},
    "experiments": {"t": {
      "labels": {"size": {"small": {"case": {"workload": {"events": 400}}},
                          "large": {"case": {"workload": {"events": 900}, "strategy": {"i": 2}},
                                    "over": {"strategy": {"i": 1}}, "assumes": ["large is large"]}}},
      "rows": {
        "average": {"columns": {
          "2": {"quantity": "speedup", "each": {"size": ["small", "large"]}, "case": {"ranks": 2}, "over": {"ranks": 1}},
          "4": {"quantity": "speedup", "withheld": true, "each": {"size": ["small"]}, "case": {"ranks": 4},
                "over": {"ranks": 1}}}},
        "small below large": {"columns": {
          "ratio": {"quantity": "speedup", "stated": 0.9, "each": {"size": ["small"]},
                    "over_each": {"size": ["large", "small"]}, "case": {"ranks": 2}}}}},
      "stated": [{"name": "in words", "columns": {
        "hours": {"quantity": "training_seconds", "stated": 1, "factor": 3600, "at_most": true, "times": 10,
                  "case": {"workload": {"events": 400}}},
        "a blink": {"quantity": "training_seconds", "stated": 1e-9, "at_most": true,
                    "case": {"workload": {"events": 400}}}}}]
    }}})");
}

/// Training events over the mean epoch of a case, from a run of its own.
double rate_of(const Json& of, int ranks, std::int64_t events, int i = 0) {
  Json json = of;
  json["ranks"] = ranks;
  json["workload"]["events"] = events;
  json["strategy"]["i"] = i;
  const Case c = case_from_json(json, "");
  double seconds = 0;
  const CaseResult result = run_case(c);
  for (const EpochSample& sample : result.samples) seconds = std::max(seconds, sample.epoch_seconds);
  return result.items_per_epoch / seconds;
}

TEST(Published, SpeedupsAreMeansOfRatiosOfThroughput) {
  PublishedPaper paper = read_published(printed_speedups(), speedups(), "d.json");
  ASSERT_EQ(paper.values.size(), 5u);
  predict(paper);
  const Json defaults = speedups().at("defaults");
  const double of_small = rate_of(defaults, 2, 400) / rate_of(defaults, 1, 400);
  const double of_large = rate_of(defaults, 2, 900, 2) / rate_of(defaults, 1, 900, 1);
  const PublishedValue& average = paper.values[0];
  EXPECT_NEAR(*average.predicted, (of_small + of_large) / 2, 1e-12);
  EXPECT_NEAR(average.error, *average.predicted / 1.8 - 1, 1e-12);
  ASSERT_EQ(average.terms.size(), 2u);
  EXPECT_EQ(average.terms[1].name, "size=large");
  EXPECT_NEAR(average.terms[1].rate / average.terms[1].over_rate, of_large, 1e-12);
  EXPECT_EQ(average.assumed, std::vector<std::string>{"large is large"});
  const PublishedValue& withheld = paper.values[1];
  EXPECT_FALSE(withheld.printed.has_value());
  EXPECT_TRUE(std::isnan(withheld.error));
  EXPECT_NEAR(*withheld.predicted, rate_of(defaults, 4, 400) / rate_of(defaults, 1, 400), 1e-12);
  const double own = rate_of(defaults, 2, 400), others = (rate_of(defaults, 2, 900, 2) + own) / 2;
  EXPECT_NEAR(*paper.values[2].predicted, own / others, 1e-12);
  EXPECT_DOUBLE_EQ(*paper.values[2].printed, 0.9);
}

TEST(Published, BoundsAreKeptOrNotAndHaveNoError) {
  PublishedPaper paper = read_published(printed_speedups(), speedups(), "d.json");
  predict(paper);
  const PublishedValue& hours = paper.values[3];
  const PublishedValue& blink = paper.values[4];
  EXPECT_EQ(hours.column, "hours");
  EXPECT_DOUBLE_EQ(*hours.printed, 3600);
  EXPECT_NEAR(*hours.predicted, 10 * *blink.predicted, 1e-12);
  EXPECT_TRUE(hours.keeps_bound());
  EXPECT_FALSE(blink.keeps_bound());
  EXPECT_TRUE(std::isnan(hours.error));
  const PublishedSummary summary = summarise_published({paper});
  EXPECT_EQ(summary.bounds.right, 1u);
  EXPECT_EQ(summary.bounds.of, 2u);
  EXPECT_EQ(summary.speedups.count, 2u);
  EXPECT_EQ(summary.times.count, 0u);
  EXPECT_EQ(summary.withheld, 1u);
  EXPECT_EQ(summary.predicted, 5u);
  const std::string text = published_text({paper});
  EXPECT_NE(text.find("printed bounds kept: 1 of 2"), std::string::npos) << text;
  EXPECT_EQ(text.find("times within"), std::string::npos) << text;
  const Json json = published_to_json({paper}).at("papers")[0].at("values");
  EXPECT_EQ(json[0].at("terms").size(), 2u);
  EXPECT_TRUE(json[3].at("at_most"));
  EXPECT_FALSE(json[0].at("at_most"));
}

TEST(Published, ASpeedupOfACaseThatFailsIsNotPredicted) {
  Json text = speedups();
  text["defaults"]["memory_limit_gib"] = 1e-6;
  PublishedPaper paper = read_published(printed_speedups(), text, "d.json");
  predict(paper);
  for (const PublishedValue& value : paper.values) {
    EXPECT_FALSE(value.predicted.has_value()) << value.column;
    EXPECT_EQ(value.status, "out_of_memory") << value.column;
  }
  const PublishedSummary summary = summarise_published({paper});
  EXPECT_EQ(summary.speedups.count, 0u);
  EXPECT_EQ(summary.bounds.right, 0u);
  EXPECT_EQ(summary.bounds.of, 2u);
  EXPECT_TRUE(
      published_to_json({paper}).at("papers")[0].at("values")[0].at("terms")[0].at("items_per_second").is_null());
}

TEST(Published, SpeedupsWithoutWhatTheyNeedAreRefused) {
  const char* const column = "/experiments/t/rows/average/columns/2";
  for (const char* gone : {"/each", "/over"}) {
    Json text = speedups();
    text.at(Json::json_pointer(column)).erase(std::string(gone).substr(1));
    EXPECT_THROW(read_published(printed_speedups(), text, "d.json"), InvalidInput) << gone;
  }
  Json both = speedups();
  both.at(Json::json_pointer(column))["over_each"] = {{"size", {"small"}}};
  EXPECT_THROW(read_published(printed_speedups(), both, "d.json"), InvalidInput);
  Json unknown = speedups();
  unknown.at(Json::json_pointer(column))["each"] = {{"size", {"medium"}}};
  EXPECT_THROW(read_published(printed_speedups(), unknown, "d.json"), InvalidInput);
  Json silent = speedups();
  silent["experiments"]["t"]["rows"]["average"]["columns"].erase("2");
  EXPECT_THROW(read_published(printed_speedups(), silent, "d.json"), InvalidInput);
}

/// Chunks of two small graphs: the imbalance of their ranks, and the transfers of inputs that fusion saves.
Json chunk_means() {
  return Json::parse(R"({"paper": "p", "citation": "c",
    "defaults": {"device": "sim", "cluster": "aimos-v100", "epochs": 1, "warmup": 1, "ranks": 2,
                 "workload": {"name": "uniform", "steps": 8, "density": 2}, "model": {"name": "mpnn-lstm"},
                 "strategy": {"name": "chunk"}},
    "experiments": {"t": {
      "labels": {"size": {"small": {"case": {"workload": {"vertices": 60}}},
                          "large": {"case": {"workload": {"vertices": 300}}}}},
      "rows": {
        "average": {"columns": {"2": {"quantity": "divergence", "each": {"size": ["small", "large"]}}}},
        "small below large": {"columns": {"saved": {
          "quantity": "loading_reduction", "stated": 90, "divisor": 100, "each": {"size": ["large"]},
          "over": {"strategy": {"fusion": "none"}}}}}}
    }}})");
}

Row row_of(Json json, std::int64_t vertices, const char* fusion) {
  json["workload"]["vertices"] = vertices;
  json["strategy"]["fusion"] = fusion;
  const Case c = case_from_json(json, "");
  return summarise(case_to_json(c), "r", run_case(c));
}

TEST(Published, DivergencesAndLoadingReductionsAreThoseOfTheRows) {
  PublishedPaper paper = read_published(printed_speedups(), chunk_means(), "d.json");
  ASSERT_EQ(paper.values.size(), 2u);
  predict(paper);
  const Json defaults = chunk_means().at("defaults");
  const Row small = row_of(defaults, 60, "both"), large = row_of(defaults, 300, "both");
  EXPECT_GT(large.imbalance->max_over_min, 1);
  EXPECT_NEAR(*paper.values[0].predicted, (small.imbalance->max_over_min + large.imbalance->max_over_min) / 2, 1e-12);
  const auto loading = [](const Row& row) { return (*row.phase_seconds)[Phase::transfer]; };
  const double saved = 1 - loading(large) / loading(row_of(defaults, 300, "none"));
  EXPECT_GT(saved, 0.1);
  EXPECT_NEAR(*paper.values[1].predicted, saved, 1e-12);
  EXPECT_NEAR(paper.values[1].error, saved / 0.9 - 1, 1e-12);
  for (const PublishedValue& value : paper.values) EXPECT_FALSE(value.baseline.has_value());
  const PublishedSummary summary = summarise_published({paper});
  EXPECT_EQ(summary.divergences.count, 1u);
  EXPECT_EQ(summary.loading_reductions.count, 1u);
  EXPECT_EQ(summary.speedups.count + summary.volumes.count + summary.times.count, 0u);
  Json over = chunk_means();
  over.at("/experiments/t/rows/average/columns/2"_json_pointer)["over"] = {{"ranks", 1}};
  EXPECT_THROW(read_published(printed_speedups(), over, "d.json"), InvalidInput);
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
    std::ofstream(path_) << to_json(measure_statistics(load_workload(name, Json::parse(parameters), 1), name)).dump();
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

/// A shape with lifetimes of edges gives the same sum of differences as the graph, except at the ends of blocks and
/// training.
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
