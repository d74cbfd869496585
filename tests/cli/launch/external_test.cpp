// `--strategy external`: another program is a case like Strobe's own. It takes turns in rounds, its faults become rows
// with a remedy, and it ends with the run.
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe {
namespace {

using cli_test::Outcome;
using cli_test::Program;
using cli_test::read_json;
using cli_test::read_text;
using cli_test::tiny;
using cli_test::write_text;

class Externals : public Program {
 protected:
  /// A suite whose cases run these programs, with `more` keys for every case.
  void write_suite(const std::map<std::string, std::string>& programs, const Json& more = Json::object()) {
    Json strategies = Json::array();
    for (const auto& [name, command] : programs)
      strategies.push_back({{"name", "external"}, {"program", name}, {"command", command}});
    Json one{{"workload", "uniform"}, {"epochs", 3}, {"warmup", 1}};
    one.update(more);
    one["matrix"] = {{"strategy", strategies}};
    write_text(folder_ / "suite.json", Json{{"name", "programs"}, {"cases", {one}}}.dump());
  }
  Json row_of(const std::string& run, const std::string& program) {
    const Json summary = read_json(folder_ / run / "summary.json");
    for (const Json& row : summary.at("rows"))
      if (row.at("strategy").value("program", "") == program) return row;
    return Json();
  }
  /// A line that states one epoch after the other in these seconds.
  static std::string states(const std::vector<std::string>& seconds, const std::string& more = "") {
    std::string command;
    for (const std::string& one : seconds) command += "echo '{\"epoch_seconds\": " + one + more + "}'; ";
    return command;
  }
};

TEST_F(Externals, ARowHasTheTimesLossesAndWorkThatTheProgramStates) {
  write_suite(
      {{"p", states({"9", "2", "1", "4"}, R"(, "loss": 0.5, "metrics": {"mrr": 0.25}, "edges": 100, "updates": 1)")}});
  const Outcome done = strobe({"run", "suite.json", "--out", "o"});
  ASSERT_EQ(done.status, 0) << done.err;
  const Json row = row_of("o", "p");
  EXPECT_EQ(row.at("epoch_seconds").at("median"), 2);
  EXPECT_EQ(row.at("epoch_seconds").at("n"), 3);
  EXPECT_EQ(row.at("loss"), Json({0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(row.at("metrics").at("mrr").size(), 4U);
  EXPECT_EQ(row.at("throughput").at("edges_per_second"), 50);
  EXPECT_NE(row.at("exact"), true);
  for (const char* key : {"sent_bytes", "phase_seconds", "peak_bytes"}) {
    EXPECT_TRUE(row.at(key).is_null()) << key;
    EXPECT_NE(row.at("absent").at(std::string("/") + key).get<std::string>().find("another program"),
              std::string::npos);
  }
  EXPECT_EQ(strobe({"verify", "o"}).status, 0);
}

TEST_F(Externals, ComparesPerUnitOfWorkAndNotWithoutWork) {
  write_suite({{"fast", states({"1", "1", "1", "1"}, R"(, "edges": 100)")},
               {"slow", states({"3", "3", "3", "3"}, R"(, "edges": 150)")},
               {"silent", states({"1", "1", "1", "1"})}});
  ASSERT_EQ(strobe({"run", "suite.json", "--rounds", "3", "--out", "o"}).status, 0);
  const Json answer = Json::parse(strobe({"compare", "o", "--by", "strategy", "--json"}).out);
  const Json& question = answer.at("questions").at(0);
  EXPECT_EQ(question.at("unit"), "edge");
  int found = 0;
  for (const Json& one : question.at("contenders")) {
    const Json& ratio = one.at("times_the_fastest").at("ratio");
    if (one.at("value") == "slow") {
      ++found;
      EXPECT_NEAR(ratio.get<double>(), 2, 1e-9);
    }
    if (one.at("value") == "silent") {
      ++found;
      EXPECT_TRUE(ratio.is_null());
    }
  }
  EXPECT_EQ(found, 2) << answer.dump(1);
  EXPECT_NE(answer.dump().find("is not known"), std::string::npos) << answer.dump(1);
  EXPECT_EQ(row_of("o", "fast").at("rounds").at("median_seconds").size(), 3U);
  EXPECT_EQ(strobe({"verify", "o"}).status, 0);
}

TEST_F(Externals, FaultsBecomeRowsWithARemedyAndOtherCasesGoOn) {
  write_suite({{"silent", "echo hello"},
               {"dies", states({"1"}) + "echo 'no module torch' >&2; exit 3"},
               {"short", states({"1", "1"})},
               {"wrong", states({"1"}) + "echo '{\"epoch_seconds\": 1, \"los\": 2}'; sleep 60"},
               {"absent", "no-such-program"},
               {"fine", states({"1", "1", "1", "1"})}});
  EXPECT_EQ(strobe({"run", "suite.json", "--out", "o"}).status, 1);
  const auto reason = [&](const char* program) { return row_of("o", program).at("reason").get<std::string>(); };
  EXPECT_NE(reason("silent").find("append it to the file $STROBE_EPOCH_FILE"), std::string::npos);
  EXPECT_NE(reason("dies").find("status 3 after 1 of 4 epochs: no module torch"), std::string::npos) << reason("dies");
  EXPECT_NE(reason("short").find("stated 2 of 4 epochs; let it train $STROBE_EPOCHS"), std::string::npos);
  EXPECT_NE(reason("wrong").find("did you mean 'loss'"), std::string::npos) << reason("wrong");
  EXPECT_NE(reason("absent").find("status 127"), std::string::npos) << reason("absent");
  EXPECT_EQ(row_of("o", "fine").at("status"), "ok");
}

TEST_F(Externals, AProgramThatHangsIsEndedWithItsChildren) {
  write_text(folder_ / "hang.sh", "sleep 300 & echo $! > child; trap '' TERM; wait; sleep 300");
  const Outcome done =
      strobe({"run", "--workload", tiny, "--strategy", "external:command=sh hang.sh,patience=0.5", "--out", "o"});
  EXPECT_EQ(done.status, 1);
  const Json row = read_json(folder_ / "o" / "summary.json").at("rows").at(0);
  EXPECT_EQ(row.at("status"), "timeout");
  EXPECT_NE(row.at("reason").get<std::string>().find("stated no epoch for 500 ms"), std::string::npos)
      << row.at("reason");
  const pid_t child = std::stoi(read_text(folder_ / "child"));
  EXPECT_EQ(kill(child, 0), -1) << "process " << child << " runs on";
}

TEST_F(Externals, NothingThatTheProgramStartedSurvivesIt) {
  const std::string four = states({"1", "1", "1", "1"});
  write_text(folder_ / "leaves.sh", "sleep 300 & echo $! > own; setsid sh -c 'sleep 300 & echo $! > other; wait' &\n" +
                                        four + "until test -s other; do sleep 0.02; done");
  write_suite({{"p", "sh leaves.sh"}});
  const Outcome done = strobe({"run", "suite.json", "--out", "o"});
  ASSERT_EQ(done.status, 0) << done.err;
  for (const char* file : {"own", "other"}) {
    const pid_t left = std::stoi(read_text(folder_ / file));
    EXPECT_EQ(kill(left, 0), -1) << file << " process " << left << " runs on";
  }
}

TEST_F(Externals, OutputThatIsNoTextAndErrorsWithinALineLoseNothing) {
  write_suite({{"bytes", states({"1"}) + "printf 'a\\377b' >&2; exit 3"},
               {"wrong", "printf '{\"epoch_seconds\": 1, \"\\377\": 2}\\n'"},
               {"glued", "printf warning >&2; " + states({"1", "1", "1", "1"}, R"(, "loss": null)")}});
  EXPECT_EQ(strobe({"run", "suite.json", "--out", "o"}).status, 1);
  EXPECT_NE(row_of("o", "bytes").at("reason").get<std::string>().find(R"(: a\xffb)"), std::string::npos)
      << row_of("o", "bytes");
  EXPECT_NE(row_of("o", "wrong").at("reason").get<std::string>().find(R"("\xff": 2})"), std::string::npos)
      << row_of("o", "wrong");
  const Json glued = row_of("o", "glued");
  EXPECT_EQ(glued.at("status"), "ok") << glued;
  EXPECT_EQ(glued.at("loss"), Json({nullptr, nullptr, nullptr, nullptr}));
}

TEST_F(Externals, ALimitOfMemoryAndTheLaunchersVariablesAreNotTheProgramsOwn) {
  write_suite({{"p", "env | grep -c -E '^(RANK|PMI_RANK|PMIX_RANK|SLURM_PROCID|OMPI_COMM_WORLD_RANK)=' > seen; " +
                         states({"1", "1", "1", "1"})}},
              {{"host_memory_limit_gib", 1e-6}});
  const Outcome done = finish(start({"env", "RANK=1", "PMIX_RANK=1", "SLURM_PROCID=1", STROBE_BINARY, "run",
                                     "suite.json", "--comm", "local", "--out", "o"}));
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(row_of("o", "p").at("status"), "ok") << row_of("o", "p");
  EXPECT_EQ(read_text(folder_ / "seen"), "0\n");
}

TEST_F(Externals, ASignalEndsTheProgramAndResumeRunsTheRest) {
  write_text(folder_ / "wait.sh", "test -f go || { echo $$ > pid; sleep 300; }\n" + states({"1", "1", "1", "1"}));
  write_suite({{"a", states({"1", "1", "1", "1"})}, {"b", "exec sh wait.sh"}});
  const pid_t run = start({STROBE_BINARY, "run", "suite.json", "--out", "o", "--rounds", "2"});
  for (int i = 0; i < 1000 && read_text(folder_ / "pid").empty(); ++i) usleep(20'000);
  const pid_t child = std::stoi(read_text(folder_ / "pid"));
  kill(run, SIGINT);
  EXPECT_EQ(finish(run).status, 128 + SIGINT);
  EXPECT_EQ(kill(child, 0), -1) << "process " << child << " runs on";
  write_text(folder_ / "go", "");
  const std::string before = read_text(folder_ / "o" / "rounds.jsonl");
  EXPECT_NE(before.find("\"round\":0"), std::string::npos);
  EXPECT_EQ(strobe({"run", "--resume", "o"}).status, 0);
  EXPECT_EQ(row_of("o", "b").at("rounds").at("median_seconds").size(), 2U);
  EXPECT_EQ(read_text(folder_ / "o" / "rounds.jsonl").substr(0, before.size()), before) << "finished rounds are kept";
}

TEST_F(Externals, RefusesWhatAnotherProgramDoesNotHave) {
  const std::string external = "external:command=true";
  for (const auto& [words, why] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--strategy", "external"}, "name the program to measure"},
           {{"--strategy", external, "--cluster", "p5-h100", "--device", "sim"}, "leave it out"},
           {{"--strategy", external, "--repeat", "2"}, "use --rounds"},
           {{"--strategy", external, "--until", "loss=1"}, "as long as its program does"},
           {{"--strategy", external, "--save-model", "w.safetensors"}, "it writes its own files"},
           {{"--strategy", external, "--nb", "2"}, "leave it out"}}) {
    std::vector<std::string> all{"run", "--workload", tiny, "--out", "o"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome done = strobe(all);
    EXPECT_EQ(done.status, 2) << done.out << done.err;
    EXPECT_NE(done.err.find(why), std::string::npos) << done.err;
  }
}

}  // namespace
}  // namespace strobe
