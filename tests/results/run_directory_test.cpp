#include "results/run/run_directory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "core/content_digest.hpp"
#include "core/errors.hpp"
#include "results/row/sample_lines.hpp"
#include "results/row/value_types.hpp"
#include "results/run/files.hpp"
#include "results/run/loaded_run.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;
using testing_results::case_json;
using testing_results::make_result;
using testing_results::TemporaryFolder;
using testing_results::text_of;
using testing_results::write_text;

Json plan() { return Json::array({case_json(1, "sequential"), case_json(2)}); }
const Json env{{"host", "here"}};

void add_case(RunDirectory& run, const std::string& id, const CaseResult& result) {
  run.append_samples(id, result.samples);
  run.add_row(summarise(case_json(), id, result));
}

/// While it lives, this process cannot make a file longer than `bytes`: writes fail as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(RunDirectory, WritesPlanEnvironmentSamplesAndSummaries) {
  const TemporaryFolder folder;
  RunDirectory run(folder.file("a/b/run"), plan(), env, false);
  EXPECT_FALSE(run.finished("one"));
  add_case(run, "one", make_result());
  EXPECT_TRUE(run.finished("one"));
  const Json written_plan = Json::parse(text_of(run.file("plan.json")));
  EXPECT_EQ(written_plan["cases"], plan());
  EXPECT_EQ(written_plan["plan_hash"], plan_hash(plan()));
  EXPECT_EQ(Json::parse(text_of(run.file("env.json"))), with_digest(env));
  const Summary summary = read_summary(run.file("summary.json"));
  EXPECT_EQ(summary.plan_hash, plan_hash(plan()));
  ASSERT_EQ(summary.rows.size(), 1u);
  EXPECT_EQ(text_of(run.file("summary.csv")), rows_to_csv(summary.rows));
  EXPECT_EQ(read_samples(run.file("samples.jsonl")).at("one").size(), 6u);
  EXPECT_TRUE(fs::is_directory(fs::path(run.log_path()).parent_path()));
  for (const auto& entry : fs::recursive_directory_iterator(run.path())) {
    EXPECT_EQ(entry.path().string().find(".partial"), std::string::npos);
    EXPECT_EQ(entry.path().string().find("probe"), std::string::npos);
  }
}

TEST(RunDirectory, ExistingRunIsRefusedUnlessResumed) {
  const TemporaryFolder folder;
  { RunDirectory run(folder.path(), plan(), env, false); }
  try {
    RunDirectory run(folder.path(), plan(), env, false);
    FAIL() << "an existing run was overwritten";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "--out");
    EXPECT_NE(std::string(error.what()).find("--resume"), std::string::npos);
  }
  EXPECT_NO_THROW(RunDirectory(folder.path(), plan(), env, true));
}

TEST(RunDirectory, ResumeOfAnEmptyFolderStarts) {
  const TemporaryFolder folder;
  const RunDirectory run(folder.file("new"), plan(), env, true);
  EXPECT_TRUE(fs::exists(run.file("plan.json")));
}

TEST(RunDirectory, ResumeWithAnotherPlanNamesTheFieldAndBothValues) {
  const TemporaryFolder folder;
  { RunDirectory run(folder.path(), plan(), env, false); }
  const std::string before = text_of(folder.file("plan.json"));
  Json other = plan();
  other[1]["model"]["hidden"] = 16;
  try {
    RunDirectory run(folder.path(), other, env, true);
    FAIL() << "another plan was accepted";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "--resume");
    const std::string text = error.what();
    EXPECT_NE(text.find("/cases/1/model/hidden is 6 there and 16 in this request"), std::string::npos) << text;
  }
  other = plan();
  other.push_back(case_json(4));
  EXPECT_THROW(RunDirectory(folder.path(), other, env, true), InvalidRequest);
  EXPECT_EQ(text_of(folder.file("plan.json")), before);
}

TEST(RunDirectory, ResumedRunHasNoDuplicatesAndRedoesInterruptedCases) {
  const TemporaryFolder folder;
  {
    RunDirectory run(folder.path(), plan(), env, false);
    add_case(run, "one", make_result());
    CaseResult interrupted = make_result();
    interrupted.status = "interrupted";
    add_case(run, "two", interrupted);
    EXPECT_FALSE(run.finished("two"));
    run.append_samples("three", make_result().samples);  // the process died before its row was written
  }
  std::ofstream(folder.file("samples.jsonl"), std::ios::app) << R"({"case_id": "four", "repe)";
  RunDirectory run(folder.path(), plan(), Json{{"host", "there"}}, true);
  EXPECT_TRUE(run.finished("one"));
  EXPECT_FALSE(run.finished("two"));
  EXPECT_FALSE(run.finished("three"));
  EXPECT_EQ(read_samples(folder.file("samples.jsonl")).size(), 1u);
  add_case(run, "two", make_result());
  add_case(run, "three", make_result());
  const Summary summary = read_summary(folder.file("summary.json"));
  ASSERT_EQ(summary.rows.size(), 3u);
  for (const auto& [id, samples] : read_samples(folder.file("samples.jsonl"))) EXPECT_EQ(samples.size(), 6u) << id;
  EXPECT_EQ(Json::parse(text_of(folder.file("env.json")))["resumed"][0]["host"], "there");

  const TemporaryFolder uninterrupted;
  RunDirectory straight(uninterrupted.path(), plan(), env, false);
  for (const char* id : {"one", "two", "three"}) add_case(straight, id, make_result());
  for (const char* name : {"summary.json", "summary.csv", "samples.jsonl", "plan.json"}) {
    EXPECT_EQ(text_of(folder.file(name)), text_of(uninterrupted.file(name))) << name;
  }
}

TEST(RunDirectory, EpochsAppendedWhileTheirCaseRunsAreThereOnce) {
  const TemporaryFolder folder;
  const CaseResult result = make_result();
  const std::vector<EpochSample> early(result.samples.begin(), result.samples.begin() + 2);
  {
    RunDirectory run(folder.path(), plan(), env, false);
    run.append_epochs("one", early);
    EXPECT_EQ(read_samples(run.file("samples.jsonl")).at("one").size(), 2u);
    add_case(run, "one", result);
    EXPECT_EQ(read_samples(run.file("samples.jsonl")).at("one").size(), result.samples.size());
    run.append_epochs("two", early);
  }
  // The second case never got a row: continuing drops its samples and forgets them.
  RunDirectory again(folder.path(), plan(), env, true);
  EXPECT_EQ(read_samples(again.file("samples.jsonl")).count("two"), 0u);
  add_case(again, "two", result);
  EXPECT_EQ(read_samples(again.file("samples.jsonl")).at("two").size(), result.samples.size());
  EXPECT_EQ(read_samples(again.file("samples.jsonl")).at("one").size(), result.samples.size());
}

TEST(RunDirectory, SamplesOfACaseWithoutARowAreHandedToTheNextRun) {
  const TemporaryFolder folder;
  const CaseResult result = make_result();
  {
    RunDirectory run(folder.path(), plan(), env, false);
    run.append_epochs("one", result.samples);
    EXPECT_TRUE(run.left_samples("one").empty()) << "they are this run's own";
  }
  RunDirectory run(folder.path(), plan(), env, true);
  const std::vector<EpochSample> left = run.left_samples("one");
  EXPECT_EQ(sample_lines("one", left), sample_lines("one", result.samples));
  EXPECT_TRUE(run.left_samples("two").empty());
  EXPECT_EQ(text_of(run.file("samples.jsonl")), "") << "samples without a row stay out until it is made";
}

TEST(RunDirectory, SamplesThatAreTakenAwayUnderWayAreMissed) {
  const TemporaryFolder folder;
  RunDirectory run(folder.path(), plan(), env, false);
  add_case(run, "one", make_result());
  fs::remove(run.file("samples.jsonl"));
  EXPECT_THROW(run.append_samples("two", make_result().samples), SystemError);
  write_text(run.file("samples.jsonl"), "");
  EXPECT_THROW(run.append_epochs("two", make_result().samples), SystemError) << "it is another file";
}

TEST(RunDirectory, ARowWhoseSamplesAreGoneSaysSo) {
  const TemporaryFolder folder;
  {
    RunDirectory run(folder.path(), plan(), env, false);
    add_case(run, "one", make_result());
  }
  fs::remove(folder.file("samples.jsonl"));
  for (int times = 0; times < 2; ++times) {
    const RunDirectory run(folder.path(), plan(), env, true);
    const std::vector<std::string>& notes = run.rows().at(0).notes;
    EXPECT_EQ(std::count(notes.begin(), notes.end(), "samples.jsonl has no samples of this row any more"), 1);
  }
}

TEST(RunDirectory, LinksInItsPlacesLeadNowhere) {
  const TemporaryFolder folder;
  write_text(folder.file("victim"), "precious");
  const std::string out = folder.file("out");
  fs::create_directories(out + "/logs");
  for (const char* name : {"env.json", "summary.csv", "plan.json.partial", ".write_probe"})
    fs::create_symlink("../victim", out + "/" + name);
  {
    RunDirectory run(out, plan(), env, false);
    add_case(run, "one", make_result());
    EXPECT_EQ(Json::parse(text_of(run.file("env.json"))), with_digest(env));
  }
  EXPECT_EQ(text_of(folder.file("victim")), "precious");
  fs::remove(out + "/logs/strobe.log");
  fs::create_symlink("../../victim", out + "/logs/strobe.log");
  EXPECT_THROW(RunDirectory(out, plan(), env, true), SystemError);
  EXPECT_EQ(text_of(folder.file("victim")), "precious");
}

TEST(RunDirectory, FoldersInItThatAreLinksAreRefused) {
  for (const std::string name : {"logs", "trace"}) {
    const TemporaryFolder folder;
    fs::create_directories(folder.file("elsewhere"));
    fs::create_directories(folder.file("out"));
    fs::create_symlink("../elsewhere", folder.file("out/" + name));
    EXPECT_THROW(RunDirectory(folder.file("out"), plan(), env, false), SystemError) << name;
    EXPECT_TRUE(fs::is_empty(folder.file("elsewhere"))) << name;
  }
}

TEST(RunDirectory, RowOfTheSameCaseIsReplaced) {
  const TemporaryFolder folder;
  RunDirectory run(folder.path(), plan(), env, false);
  add_case(run, "one", make_result());
  add_case(run, "two", make_result());
  run.add_row(summarise(case_json(), "one", make_result(2, 5.0)));
  const Summary summary = read_summary(folder.file("summary.json"));
  ASSERT_EQ(summary.rows.size(), 2u);
  EXPECT_EQ(summary.rows[0].case_id, "one");
  EXPECT_GT(summary.rows[0].epoch_seconds->median, 4.0);
}

TEST(RunDirectory, FolderThatCannotBeIsASystemErrorWithItsPath) {
  const TemporaryFolder folder;
  write_text(folder.file("file"), "not a folder");
  try {
    RunDirectory run(folder.file("file/run"), plan(), env, false);
    FAIL() << "a folder under a file was accepted";
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find(folder.file("file/run")), std::string::npos) << error.what();
  }
  EXPECT_THROW(RunDirectory("/proc/strobe-run", plan(), env, false), SystemError);
}

TEST(RunDirectory, FailedWriteKeepsThePreviousSummary) {
  const TemporaryFolder folder;
  RunDirectory run(folder.path(), plan(), env, false);
  add_case(run, "one", make_result());
  const std::string summary = text_of(folder.file("summary.json")), samples = text_of(folder.file("samples.jsonl"));
  {
    const FileSizeLimit limit(samples.size() + 100);
    EXPECT_THROW(run.append_samples("two", make_result().samples), SystemError);
    EXPECT_THROW(run.add_row(summarise(case_json(), "two", make_result(30))), SystemError);
  }
  EXPECT_EQ(text_of(folder.file("summary.json")), summary);
  EXPECT_EQ(text_of(folder.file("samples.jsonl")), samples) << "half a write was left behind";
  EXPECT_FALSE(fs::exists(folder.file("summary.json.partial")));
  EXPECT_FALSE(run.finished("two"));
  add_case(run, "two", make_result());
  EXPECT_EQ(read_summary(folder.file("summary.json")).rows.size(), 2u);
}

TEST(RunDirectory, FullDiskIsASystemErrorThatSaysSo) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  try {
    append_durably("/dev/full", "text");
    FAIL() << "a full device took a write";
  } catch (const SystemError& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("/dev/full"), std::string::npos);
  }
}

TEST(RunDirectory, TraceGoesToAFileNamedAfterTheCase) {
  const TemporaryFolder folder;
  RunDirectory run(folder.path(), plan(), env, false);
  const std::string path = run.write_trace("chess/tm-gcn/r2#a1", {{}, {}}, "virtual");
  EXPECT_EQ(path, folder.file("trace/chess_tm-gcn_r2_a1.json"));
  EXPECT_TRUE(Json::parse(text_of(path)).contains("traceEvents"));
}

TEST(FirstDifference, FindsTheFirstPlace) {
  const Json a = Json::parse(R"({"x": [1, {"y/z": 2}], "only": 1})");
  EXPECT_FALSE(first_difference(a, Json::parse(R"({"only": 1, "x": [1, {"y/z": 2}]})")).differs) << "order of keys";
  EXPECT_EQ(first_difference(a, Json::parse(R"({"x": [1, {"y/z": 3}], "only": 1})")).pointer, "/x/1/y~1z");
  EXPECT_EQ(first_difference(a, Json::parse(R"({"x": [1], "only": 1})")).b, "absent");
  EXPECT_EQ(first_difference(a, Json::parse(R"({"x": [1, {"y/z": 2}]})")).pointer, "/only");
  EXPECT_EQ(first_difference(a, Json::parse(R"({"x": [1, {"y/z": 2}], "only": 1, "more": 0})")).a, "absent");
}

TEST(FirstDifference, APointerIsReadBackAsItsKey) {
  EXPECT_EQ(key_of_pointer("/~1data~0x~1"), "/data~x/");
  EXPECT_EQ(key_of_pointer("/~01"), "~1") << "what an escape leaves is none";
  EXPECT_EQ(key_of_pointer("/plain"), "plain");
}

TEST(LoadedRun, HasItsSamplesAndTheMachinesOfEveryContinuation) {
  const TemporaryFolder folder;
  {
    RunDirectory run(folder.path(), plan(), env, false);
    add_case(run, "one", make_result());
  }
  EXPECT_EQ(load_run(folder.path()).samples.at("one").size(), 6u);
  fs::remove(folder.file("samples.jsonl"));
  EXPECT_TRUE(load_run(folder.path()).samples.empty());
  write_text(folder.file("env.json"), R"({"host_class": {"text": "A"}, "resumed": [{"host_class": {"text": "B"}}]})");
  EXPECT_EQ(load_run(folder.path()).host_classes, (std::set<std::string>{"A", "B"}));
  write_text(folder.file("env.json"), R"({"resumed": 5})");
  try {
    load_run(folder.path());
    FAIL() << "a number of continuations was read";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.what(), folder.file("env.json") + ": 'resumed' is not a list");
  }
}

TEST(LoadedRun, AFileThatIsNoRunSaysWhatShowsAGraph) {
  const TemporaryFolder folder;
  const std::string graph = folder.file("calls.csv"), summary = folder.file("summary.json");
  write_text(graph, "source,target,time\n0,1,2\n");
  write_text(summary, "source,target,time\n0,1,2\n");
  const auto complaint = [](const std::string& path) {
    try {
      load_run(path);
    } catch (const InvalidInput& fault) {
      return std::string(fault.what());
    }
    return std::string("no complaint");
  };
  EXPECT_NE(complaint(graph).find("strobe inspect --workload " + graph), std::string::npos) << complaint(graph);
  EXPECT_EQ(complaint(summary).find("inspect"), std::string::npos) << complaint(summary);
  EXPECT_NE(complaint(summary).find("not valid JSON"), std::string::npos) << complaint(summary);
}

TEST(TypeComplaint, NamesTheFirstWrongValueInsideOthers) {
  const Json number{{"type", "integer"}}, list{{"type", "array"}, {"items", number}};
  const Json schema{{"type", "object"}, {"properties", {{"x", list}}}, {"additionalProperties", number}};
  EXPECT_EQ(type_complaint({{"x", {1, 2}}, {"y", 3}}, schema), "");
  EXPECT_EQ(type_complaint({{"x", {1, "a", 2}}}, schema), "/x/1 is \"a\", expected integer");
  EXPECT_EQ(type_complaint({{"x", {1, 2}}, {"y", 0.5}}, schema), "/y is 0.5, expected integer");
}

TEST(SummaryFile, WithAPlanHashThatIsNoTextIsRefused) {
  Json summary = Json::parse(text_of(std::string(STROBE_TEST_DIR) + "/results/golden/summary.json"));
  summary.erase("sha256");
  const testing_results::TemporaryFolder folder;
  const auto read = [&] {
    testing_results::write_text(folder.file("summary.json"), summary.dump());
    return read_summary(folder.file("summary.json"));
  };
  EXPECT_NO_THROW(read());
  summary["plan_hash"] = 5;
  EXPECT_THROW(read(), InvalidInput);
}

}  // namespace
}  // namespace strobe
