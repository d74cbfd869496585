// A run directory that was changed in any place is found out, and one that was not is right.
#include "results/run/verify_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "core/hash.hpp"
#include "results/row/json_lines.hpp"
#include "results/run/case_values.hpp"
#include "results/run/loaded_run.hpp"
#include "results/run/row_against_samples.hpp"
#include "results/run/run_directory.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;
using testing_results::case_json;
using testing_results::make_result;
using testing_results::TemporaryFolder;
using testing_results::text_of;
using testing_results::write_text;

std::string id_of(const Json& json) { return "chess/tm-gcn#" + sha256_hex(json.dump()).substr(0, 6); }

const std::vector<std::string> run_files = {"plan.json",    "env.json",     "samples.jsonl",
                                            "values.jsonl", "summary.json", "summary.csv"};

class VerifyRun : public ::testing::Test {
 protected:
  VerifyRun() {
    RunDirectory run(path_, Json::array({one_, two_}), Json{{"host", "here"}}, false);
    for (const Json& json : {one_, two_}) {
      CaseResult result = make_result(8);
      result.loss.per_epoch = {0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.025};
      result.metrics["auc"] = {{0.5, 0.625}, ""};
      run.append_samples(id_of(json), result.samples);
      run.add_row(summarise(json, id_of(json), result));
    }
  }

  std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// All that is wrong or not proven, "NAME: what".
  std::string faults() const {
    std::string text;
    for (const FileVerdict& verdict : verify_run(path_)) {
      for (const std::string& fault : verdict.faults)
        text += fs::path(verdict.path).filename().string() + ": " + fault + "\n";
      if (!verdict.unproven.empty())
        text += fs::path(verdict.path).filename().string() + ": " + verdict.unproven + "\n";
    }
    return text;
  }
  void expect_fault(const std::string& words) const {
    EXPECT_NE(faults().find(words), std::string::npos) << words << "\n" << faults();
  }

  /// Changes the summary's JSON and gives its rows the digests of what they are then.
  void change_rows(const std::function<void(Json&)>& change) {
    Json summary = Json::parse(text_of(file("summary.json")));
    change(summary);
    for (Json& row : summary["rows"]) row = with_digest(row);
    write_text(file("summary.json"), summary.dump(2) + "\n");
  }
  std::string refusal_of_rows() const {
    try {
      check_rows(path_);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "read";
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.file("run");
  const Json one_ = case_json(2, "vertex"), two_ = case_json(2);
};

TEST_F(VerifyRun, AnUnchangedRunIsRight) {
  EXPECT_EQ(faults(), "");
  EXPECT_EQ(verify_run(path_).size(), run_files.size());
  RunDirectory(path_, Json::array({one_, two_}), Json{{"host", "there"}}, true);
  EXPECT_EQ(faults(), "") << "and so is one that was continued";
}

TEST_F(VerifyRun, NoChangedBitAndNoCutGoesUnseen) {
  std::mt19937 random(7);
  for (const std::string& name : run_files) {
    const std::string whole = text_of(file(name));
    for (int trial = 0; trial < 60; ++trial) {
      std::string damaged = whole;
      const std::size_t at = random() % whole.size();
      if (trial % 3 == 0)
        damaged.resize(at);
      else
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
      write_text(file(name), damaged);
      EXPECT_NE(faults(), "") << name << " byte " << at << " trial " << trial;
    }
    write_text(file(name), whole);
  }
  EXPECT_EQ(faults(), "");
}

TEST_F(VerifyRun, AMissingFileIsNamed) {
  for (const std::string& name : run_files) {
    fs::rename(file(name), file("aside"));
    expect_fault(name + ": is missing");
    fs::rename(file("aside"), file(name));
  }
}

/// Anyone who knows how digests are made can make them again. So the files are also checked against each other.
TEST_F(VerifyRun, RowsAreComparedWithValuesSamplesAndPlan) {
  const std::string summary = text_of(file("summary.json"));
  change_rows([](Json& json) { json["rows"][1]["loss"][2] = 0.55; });
  const std::string words = fmt::format("the row of case {} was changed: loss/2 is 0.55, but 0.5 in", id_of(two_));
  expect_fault(words);
  EXPECT_NE(refusal_of_rows().find(words), std::string::npos) << refusal_of_rows();
  change_rows([](Json& json) { json["rows"][1]["loss"][2] = 0.5, json["rows"][0]["metrics"]["auc"][1] = 0.75; });
  EXPECT_NE(refusal_of_rows().find("metrics/auc/1 is 0.75, but 0.625 in"), std::string::npos) << refusal_of_rows();
  write_text(file("summary.json"), summary);
  change_rows([](Json& json) { json["rows"][0]["epoch_seconds"]["median"] = 1e-9; });
  EXPECT_EQ(refusal_of_rows(), "read") << "its digest is right, and of times samples.jsonl tells";
  expect_fault("epoch_seconds/median is 1e-09 in the row, but");
  write_text(file("summary.json"), summary);
  change_rows([](Json& json) { json["rows"].erase(1); });
  expect_fault("it has no row of the planned case #");
  change_rows([](Json& json) { json["rows"][0]["case_id"] = "chess/tm-gcn#000000"; });
  expect_fault("case chess/tm-gcn#000000 is not in the plan");
}

TEST_F(VerifyRun, ARowWhoseDigestIsWrongIsNamed) {
  Json summary = Json::parse(text_of(file("summary.json")));
  summary["rows"][1]["reason"] = "another";
  write_text(file("summary.json"), summary.dump(2) + "\n");
  const std::string words = "summary.json: the row of case " + id_of(two_) + " is damaged, or changed";
  EXPECT_NE(refusal_of_rows().find(words), std::string::npos) << refusal_of_rows();
  EXPECT_THROW(RunDirectory(path_, Json::array({one_, two_}), Json::object(), true), InvalidInput);
  EXPECT_THROW(load_run(path_), InvalidInput);
}

TEST_F(VerifyRun, LinesThatAreGoneRepeatedOrOfAnotherRunAreFound) {
  const std::string samples = text_of(file("samples.jsonl"));
  const std::size_t line = samples.find('\n') + 1;
  write_text(file("samples.jsonl"), samples.substr(line));
  expect_fault("the row of case " + id_of(one_));
  write_text(file("samples.jsonl"), samples + samples.substr(0, line));
  expect_fault("repeats an epoch of a rank of case " + id_of(one_));
  write_text(file("samples.jsonl"), samples + R"({"case_id": "chess/tm)");
  expect_fault("its last line is cut off");
  write_text(file("samples.jsonl"), samples);
  Json plan = Json::parse(text_of(file("plan.json")));
  plan["cases"][1]["seed"] = 4;
  write_text(file("plan.json"), with_digest(plan).dump(2) + "\n");
  expect_fault("plan.json: its cases have the hash");
  expect_fault("case " + id_of(two_) + " is not in the plan");
}

TEST_F(VerifyRun, APlanWithoutCasesAndATraceWithoutEventsAreNone) {
  write_text(file("plan.json"), with_digest(Json{{"cases", 5}}).dump(2) + "\n");
  expect_fault("plan.json: " + file("plan.json") + ": it has no list of cases\n");
  fs::create_directories(file("trace"));
  write_text(file("trace/a.json"), "{}");
  expect_fault("a.json: " + file("trace/a.json") + ": is no trace\n");
}

/// Directories of older revisions have neither digests nor values.jsonl; rows also travel alone.
TEST_F(VerifyRun, AFileWithoutADigestIsReadAndNotProven) {
  for (const char* name : {"plan.json", "env.json"}) {
    Json json = Json::parse(text_of(file(name)));
    json.erase(digest_key);
    write_text(file(name), json.dump(2) + "\n");
  }
  Json summary = Json::parse(text_of(file("summary.json")));
  for (Json& row : summary["rows"]) row.erase(digest_key);
  write_text(file("summary.json"), summary.dump(2) + "\n");
  fs::remove(file("values.jsonl"));
  EXPECT_EQ(refusal_of_rows(), "read");
  expect_fault("plan.json: no digest");
  expect_fault("summary.json: 2 of 2 rows: no digest");
  fs::remove(file("samples.jsonl"));
  EXPECT_EQ(refusal_of_rows(), "read") << "as in a folder that only rows were copied into";
}

TEST(RowAgainstSamples, LossesGapsAndCountsAreCompared) {
  CaseResult result = make_result(8);
  const auto fault = [&](std::size_t losses, const std::vector<EpochSample>& samples) {
    result.loss.per_epoch.assign(losses, 0.5);
    return difference_from_samples(summarise(case_json(), "c", result), samples, true);
  };
  EXPECT_EQ(fault(9, result.samples), "");
  EXPECT_EQ(fault(8, result.samples), "it has 8 losses, but samples of epoch 8");
  EXPECT_EQ(fault(9, {}), "it has times, but no samples");
  std::vector<EpochSample> samples = result.samples;
  samples.pop_back();
  EXPECT_EQ(fault(9, samples), "epoch 8 of repetition 0 has 1 samples, but 2 ranks");
  samples = result.samples;
  std::erase_if(samples, [](const EpochSample& sample) { return sample.epoch == 4; });
  EXPECT_EQ(fault(9, samples), "repetition 0 has no samples of epoch 4");
  samples = {result.samples.begin() + 2, result.samples.end()};
  EXPECT_EQ(fault(9, samples), "repetition 0 has no samples of epoch 0");
  result.status = "timeout";
  EXPECT_EQ(fault(9, {result.samples.begin(), result.samples.end() - 2}), "it has 8 measured epochs, but samples of 7");
  EXPECT_EQ(fault(3, result.samples), "") << "the last epochs of a case that did not end well may be cut";
}

/// A row is written after its line. A row that is made several times, for example after each round, agrees with one of
/// them.
TEST(CaseValues, ARowAgreesWithOneOfItsLines) {
  const TemporaryFolder folder;
  CaseResult result = make_result();
  result.loss.per_epoch = {0.5};
  const Row before = summarise(case_json(), "c", result);
  result.loss.per_epoch = {0.5, 0.25};
  const Row after = summarise(case_json(), "c", result);
  write_text(folder.file("values.jsonl"), values_line(before) + values_line(after));
  const CaseValues values = read_case_values(folder.file("values.jsonl"));
  for (const Row& row : {before, after})
    EXPECT_NO_THROW(check_case_values(row_to_json(row), "summary.json", values, "values.jsonl"));
  result.loss.per_epoch = {0.25, 0.25};
  const Row other = summarise(case_json(), "c", result);
  EXPECT_THROW(check_case_values(row_to_json(other), "summary.json", values, "values.jsonl"), InvalidInput);
  EXPECT_NO_THROW(check_case_values(row_to_json(other), "summary.json", {}, "values.jsonl")) << "there is no line";
  result.loss = {{}, "numerics is none"};
  result.metrics.clear();
  EXPECT_EQ(values_line(summarise(case_json(), "c", result)), "") << "nothing to compare with";
}

}  // namespace
}  // namespace strobe
