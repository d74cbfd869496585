// Processes that run in turn: `strobe run --rounds`, `strobe compare --rerun` and `--self-check`. Comparisons by a
// field.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/program.hpp"
#include "tests/cli/support/edited_json.hpp"

namespace strobe::cli_test {
namespace {

std::vector<Json> lines_of(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

class Rounds : public Program {
 protected:
  std::vector<std::string> two_cases(const std::string& rounds) {
    return {"run",      "--workload", tiny,    "--vary", "strategy=sequential,snapshot", "--set", "epochs=4",
            "--rounds", rounds,       "--out", "two"};
  }
  Json rows_of(const std::string& run) { return read_json(folder_ / run / "summary.json").at("rows"); }
  /// Case ids of rounds.jsonl in the order in which they were measured.
  std::vector<std::pair<int, std::string>> turns(const std::string& run) {
    std::vector<std::pair<int, std::string>> order;
    for (const Json& line : lines_of(read_text(folder_ / run / "rounds.jsonl")))
      order.emplace_back(line.at("round").get<int>(), line.at("row").at("strategy").at("name").get<std::string>());
    return order;
  }
};

TEST_F(Rounds, CasesTakeTurnsAndEveryLineKnowsItsRound) {
  const Outcome outcome = strobe(two_cases("3"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  using Turn = std::pair<int, std::string>;
  EXPECT_EQ(
      turns("two"),
      (std::vector<Turn>{
          {0, "sequential"}, {0, "snapshot"}, {1, "snapshot"}, {1, "sequential"}, {2, "sequential"}, {2, "snapshot"}}));
  std::map<std::string, std::map<int, std::set<int>>> repetitions;
  for (const Json& sample : lines_of(read_text(folder_ / "two/samples.jsonl")))
    repetitions[sample.at("case_id")][sample.at("round")].insert(sample.at("repetition").get<int>());
  ASSERT_EQ(repetitions.size(), 2u);
  for (const auto& [id, rounds] : repetitions) {
    ASSERT_EQ(rounds.size(), 3u) << id;
    for (const auto& [round, of_round] : rounds) EXPECT_EQ(of_round, std::set<int>{round}) << id;
  }
  for (const Json& row : rows_of("two")) {
    EXPECT_EQ(row.at("status"), "ok") << row;
    EXPECT_EQ(row.at("epoch_seconds").at("n"), 12);
    EXPECT_EQ(row.at("rounds").at("median_seconds").size(), 3u);
    EXPECT_TRUE(row.at("epoch_seconds").at("ci95_low").is_number());
    EXPECT_FALSE(row.at("loss").is_null());
    EXPECT_TRUE(row.at("machine").is_object());
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "two/process"));
}

TEST_F(Rounds, ARunThatWasKilledGoesOnInTheMiddle) {
  ASSERT_EQ(strobe(two_cases("3")).status, 0);
  const std::string all = read_text(folder_ / "two/rounds.jsonl");
  // As if the run had been killed after three processes and the samples of a fourth.
  std::size_t end = 0;
  for (int line = 0; line < 3; ++line) end = all.find('\n', end) + 1;
  write_text(folder_ / "two/rounds.jsonl", all.substr(0, end));
  Json summary = read_json(folder_ / "two/summary.json");
  for (Json& row : summary["rows"]) row["status"] = "interrupted";
  write_text(folder_ / "two/summary.json", without_digests(summary).dump());
  const Outcome outcome = strobe({"run", "--resume", "two"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("[3/3]"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_text(folder_ / "two/rounds.jsonl").substr(0, end), all.substr(0, end));
  EXPECT_EQ(turns("two").size(), 6u);
  for (const Json& row : rows_of("two")) {
    EXPECT_EQ(row.at("status"), "ok");
    EXPECT_EQ(row.at("epoch_seconds").at("n"), 12);
  }
  EXPECT_EQ(lines_of(read_text(folder_ / "two/samples.jsonl")).size(), 2u * 3u * 5u);
  expect_refusal(strobe({"run", "--resume", "two", "--rounds", "4"}), 2, {"--rounds", "begun with 3 rounds"});
}

TEST_F(Rounds, ASignalKeepsWholeRoundsAndTheRestFollows) {
  const pid_t pid = start([&] {
    std::vector<std::string> words = two_cases("40");
    words.insert(words.begin(), STROBE_BINARY);
    return words;
  }());
  while (!std::filesystem::exists(folder_ / "two/rounds.jsonl") ||
         lines_of(read_text(folder_ / "two/rounds.jsonl")).size() < 3)
    usleep(20000);
  kill(pid, SIGTERM);
  EXPECT_EQ(finish(pid).status, 128 + SIGTERM);
  const std::size_t kept = lines_of(read_text(folder_ / "two/rounds.jsonl")).size();
  EXPECT_LT(kept, 80u);
  for (const Json& row : rows_of("two")) EXPECT_EQ(row.at("status"), "interrupted") << row;
}

TEST_F(Rounds, WhatDoesNotGoTogetherHasItsRowAndTakesNoTurn) {
  const Outcome outcome = strobe({"run", "--workload", tiny, "--vary", "strategy=sequential,snapshot", "--ranks", "2",
                                  "--set", "epochs=4", "--rounds", "2", "--out", "half"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  using Turn = std::pair<int, std::string>;
  EXPECT_EQ(turns("half"), (std::vector<Turn>{{0, "snapshot"}, {1, "snapshot"}}));
  std::map<std::string, Json> rows;
  for (const Json& row : rows_of("half")) rows[row.at("strategy").at("name")] = row;
  EXPECT_EQ(rows.at("snapshot").at("status"), "ok");
  EXPECT_EQ(rows.at("sequential").at("status"), "skipped");
  EXPECT_NE(rows.at("sequential").at("reason").dump().find("1 rank"), std::string::npos);
  const Outcome again = strobe({"compare", "half", "--rerun", "--rounds", "2", "--out", "again"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(rows_of("again/base").size(), 1u);
}

TEST_F(Rounds, VirtualTimeRunsOnceAndATraceIsOfTheFirstRound) {
  const Outcome outcome = strobe({"run", "--workload", tiny, "--strategy", "snapshot", "--ranks", "2", "--vary",
                                  "device=cpu,sim", "--epochs", "3", "--rounds", "2", "--trace", "--out", "mixed"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(turns("mixed").size(), 3u);
  for (const Json& row : rows_of("mixed")) {
    const bool is_virtual = row.at("time_source") == "virtual";
    EXPECT_EQ(row.at("rounds").is_null(), is_virtual);
    if (is_virtual) {
      EXPECT_NE(row.at("notes").dump().find("virtual time is the same in every process"), std::string::npos) << row;
    }
  }
  std::size_t traces = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder_ / "mixed/trace")) ++traces;
  EXPECT_EQ(traces, 2u);
}

TEST_F(Rounds, WhatCannotBeIsRefusedBeforeWorkBegins) {
  const std::vector<std::string> one{"run", "--workload", tiny, "--out", "one"};
  const auto refuse = [&](const std::vector<std::string>& more, const std::vector<std::string>& words) {
    std::vector<std::string> all = one;
    all.insert(all.end(), more.begin(), more.end());
    expect_refusal(strobe(all), 2, words);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "one/summary.json"));
  };
  refuse({"--rounds", "0"}, {"--rounds", "from 1 to"});
  refuse({"--rounds", "many"}, {"--rounds"});
  refuse({"--launch", "mpirun -n 2"}, {"--launch", "--rounds"});
  refuse({"--rounds", "2", "--launch", " "}, {"--launch", "is empty"});
  refuse({"--rounds", "2", "--save-model", "m.safetensors"}, {"--save-model", "one training"});
  refuse({"--rounds", "2", "--checkpoint", "c"}, {"--checkpoint", "one training"});
  refuse({"--rounds", "2", "--strategy", "sequential", "--ranks", "2"}, {"sequential"});
  const Outcome launched =
      finish(start_shell("cd '" + folder_.string() + "' && OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 exec '" +
                         STROBE_BINARY + "' run --workload " + tiny + " --comm mpi --ranks 2 --rounds 2"));
  if (lists("communicators", "mpi")) expect_refusal(launched, 2, {"--rounds", "new processes", "--launch"});
}

TEST_F(Rounds, APlanIsMeasuredTwiceByTwoPrograms) {
  ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "4", "--out", "before"}).status, 0);
  write_text(folder_ / "other",
             std::string("#!/bin/sh\necho used >> '") + path("used") + "'\nexec '" + STROBE_BINARY + "' \"$@\"\n");
  std::filesystem::permissions(folder_ / "other", std::filesystem::perms::owner_all);
  const Outcome outcome = strobe(
      {"compare", "before", "--rerun", "--new-program", path("other"), "--rounds", "2", "--out", "both", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  ASSERT_EQ(report.at("cases").size(), 1u);
  EXPECT_EQ(report.at("cases")[0].at("base_rounds"), 2);
  EXPECT_TRUE(report.at("cases")[0].at("ci99_low").is_number());
  EXPECT_EQ(read_text(folder_ / "used"), "used\nused\nused\n") << "its version and two rounds";
  EXPECT_EQ(read_json(folder_ / "both/base/summary.json")["rows"][0]["rounds"]["session"],
            read_json(folder_ / "both/new/summary.json")["rows"][0]["rounds"]["session"]);
  expect_refusal(strobe({"compare", "before", "--rerun", "--new-program", "/bin/true"}), 2,
                 {"--new-program", "is not strobe"});
  expect_refusal(strobe({"compare", "before", "--rerun", "--new-program", "/nowhere"}), 2, {"--new-program"});
  expect_refusal(strobe({"compare", "nowhere", "--rerun"}), 2, {"plan.json"});
  expect_refusal(strobe({"compare", "before", "before", "--rounds", "3"}), 2, {"--rounds", "--rerun"});
}

TEST_F(Rounds, OneProcessASideHasNoVerdictAndSaysWhy) {
  for (const char* name : {"a", "b"})
    ASSERT_EQ(strobe({"run", "--workload", tiny, "--epochs", "20", "--out", name}).status, 0);
  const Outcome outcome = strobe({"compare", "a", "b", "--fail-on-regression"});
  EXPECT_EQ(outcome.status, 7);
  EXPECT_NE(outcome.out.find("one process a side: epochs of one process are not independent"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("not decided: 0 of 1 case that both runs measured have a verdict"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(strobe({"compare", "a", "b"}).status, 0) << "no gate was asked for";
}

TEST_F(Rounds, ASelfCheckThatJudgedNothingSaysSoInItsStatus) {
  const Outcome outcome = strobe({"compare", "--self-check", "--filter", "power-law", "--rounds", "1", "--out", "one"});
  EXPECT_EQ(outcome.status, 7) << outcome.err;
  EXPECT_NE(outcome.out.find("nothing can be said of this machine"), std::string::npos) << outcome.out;
}

TEST_F(Rounds, ASelfCheckCountsItsVerdicts) {
  const Outcome outcome =
      strobe({"compare", "--self-check", "--filter", "power-law", "--rounds", "2", "--out", "check", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json check = Json::parse(outcome.out).at("self_check");
  EXPECT_EQ(check.at("judged"), 3);
  int sum = 0;
  for (const auto& [verdict, count] : check.at("verdicts").items()) sum += count.get<int>();
  EXPECT_EQ(sum, 3);
  EXPECT_EQ(check.at("half_widths_percent").size(), 3u);
  expect_refusal(strobe({"compare", "--self-check", "check/base", "check/new"}), 2, {"--self-check"});
}

TEST_F(Rounds, LaunchedProcessesAreFreshInEveryRound) {
  if (!lists("communicators", "mpi")) GTEST_SKIP() << "built without MPI";
  const Outcome outcome =
      strobe({"run", "--workload", tiny, "--strategy", "snapshot", "--ranks", "2", "--comm", "mpi", "--rounds", "2",
              "--launch", "mpirun --oversubscribe -n {ranks}", "--epochs", "3", "--out", "mpi"});
  ASSERT_EQ(outcome.status, 0) << outcome.err << read_text(folder_ / "mpi/summary.json");
  const Json row = read_json(folder_ / "mpi/summary.json").at("rows").at(0);
  EXPECT_EQ(row.at("epoch_seconds").at("n"), 6);
  EXPECT_EQ(row.at("comm"), "mpi");
}

TEST_F(Rounds, GoOnUntilTheIntervalIsNarrowEnough) {
  const std::vector<std::string> command{"run",
                                         "--workload",
                                         tiny,
                                         "--vary",
                                         "strategy=snapshot,vertex",
                                         "--epochs",
                                         "2",
                                         "--until-interval",
                                         "90%",
                                         "--out",
                                         "narrow",
                                         "--ranks",
                                         "1"};
  const Outcome ran = strobe(command);
  ASSERT_EQ(ran.status, 0) << ran.err;
  const Json question =
      Json::parse(strobe({"compare", "narrow", "--by", "strategy", "--json"}).out).at("questions").at(0);
  const Json &slow = question.at("contenders").at(1), &ratio = slow.at("times_the_fastest");
  const double reach = std::sqrt(ratio.at("ci99_high").get<double>() / ratio.at("ci99_low").get<double>()) - 1;
  EXPECT_GE(slow.at("rounds"), 5);
  EXPECT_TRUE(reach <= 0.9 || slow.at("rounds") == 101) << reach;
  expect_refusal(strobe({"run", "--workload", tiny, "--until-interval", "3"}), 2, {"--until-interval", "3% or 0.03"});
}

TEST_F(Rounds, CasesThatDifferInOneFieldAreToldApart) {
  const Outcome ran = strobe({"run", "--workload", tiny, "--vary", "strategy=snapshot,vertex", "--vary",
                              "model.hidden=6,12", "--ranks", "2", "--device", "sim", "--epochs", "2", "--out", "all"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const Json by = Json::parse(strobe({"compare", "all", "--by", "strategy", "--json"}).out);
  ASSERT_EQ(by.at("questions").size(), 2u);
  std::map<std::string, double> seconds;
  for (const Json& row : rows_of("all"))
    seconds[row.at("case_id")] = row.at("epoch_seconds").at("median").get<double>();
  for (const Json& group : by.at("questions")) {
    ASSERT_EQ(group.at("contenders").size(), 2u);
    const Json &fast = group.at("contenders")[0], &slow = group.at("contenders")[1];
    EXPECT_LE(seconds.at(fast.at("case_ids")[0]), seconds.at(slow.at("case_ids")[0]));
    EXPECT_NEAR(slow.at("times_the_fastest").at("ratio").get<double>(),
                seconds.at(slow.at("case_ids")[0]) / seconds.at(fast.at("case_ids")[0]), 1e-12);
    EXPECT_NE(group.at("common").dump().find("model.hidden"), std::string::npos);
    EXPECT_NE(group.at("why").get<std::string>().find("less "), std::string::npos) << group;
  }
  const Outcome text = strobe({"compare", "all", "--by", "model.hidden"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("12 is as fast as 6 per epoch within 5 %."), std::string::npos) << text.out;
  EXPECT_NE(ran.out.find("model.hidden 6: On 2 GPUs of "), std::string::npos) << ran.out;
  EXPECT_EQ(strobe({"show", "all"}).out, ran.out) << "both say the same";
  expect_refusal(strobe({"compare", "all", "--by", "stratgy"}), 2, {"--by", "did you mean 'strategy'"});
  expect_refusal(strobe({"compare", "all", "--by", "kernels"}), 4, {"no two cases differ in kernels alone"});
}

}  // namespace
}  // namespace strobe::cli_test
