// Runs whose output streams are closed, and two runs that need one directory.
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class RunStreams : public Program {
 protected:
  /// Runs one short case into `out`, with more shell text after the command.
  Outcome run_with(const std::string& out, const std::string& behind, const std::string& flags = "") {
    const std::string run =
        std::string("'" STROBE_BINARY "' run --workload ") + tiny + " --epochs 2 --out " + out + " ";
    return finish(start_shell("cd '" + folder_.string() + "' && " + run + flags + " " + behind));
  }

  std::size_t rows(const std::string& out) { return read_json(folder_ / out / "summary.json").at("rows").size(); }

  std::size_t sample_lines(const std::string& out) {
    const std::string text = read_text(folder_ / out / "samples.jsonl");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
};

TEST_F(RunStreams, WordsThatCannotBeWrittenChangeNothing) {
  int number = 0;
  for (const char* behind : {"2>/dev/full", "2>&-", "2>&- <&-"}) {
    SCOPED_TRACE(behind);
    const std::string out = "out" + std::to_string(++number);
    const Outcome outcome = run_with(out, behind);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_FALSE(outcome.out.empty());
    EXPECT_EQ(rows(out), 1u);
    EXPECT_EQ(sample_lines(out), 3u);
    EXPECT_EQ(run_with(out, behind).status, 2) << "the refusal of a second run";
  }
}

TEST_F(RunStreams, AReaderThatGoesAwayDoesNotEndTheRun) {
  const Outcome outcome =
      run_with("out", "2>&1 >table | true; for i in $(seq 100); do test -s table && break; sleep 0.1; done");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(rows("out"), 1u);
  EXPECT_FALSE(read_text(folder_ / "table").empty());
}

TEST_F(RunStreams, AClosedStandardOutputIsAFailureAndKeepsTheRow) {
  const Outcome outcome = run_with("out", ">&-");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("standard output"), std::string::npos) << outcome.err;
  EXPECT_EQ(rows("out"), 1u);
}

TEST_F(RunStreams, ASecondRunOfADirectoryIsRefusedWhileTheFirstLasts) {
  const std::string name = suite(R"({"defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60}},
    "cases": [{"epochs": 2}, {"epochs": 100000000}]})");
  const pid_t first = start({STROBE_BINARY, "run", name, "--out", "out"});
  for (int tries = 0; tries < 1500; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Json summary = Json::parse(read_text(folder_ / "out/summary.json"), nullptr, false);
    if (summary.is_object() && !summary.at("rows").empty()) break;
  }
  const std::string samples = read_text(folder_ / "out/samples.jsonl");
  const std::string second = "cd '" + folder_.string() + "' && '" STROBE_BINARY "' run " + name + " --out out --resume";
  EXPECT_EQ(std::system((second + " 2> refusal > /dev/null").c_str()) / 256, 2);
  EXPECT_NE(read_text(folder_ / "refusal").find("another run is writing into out"), std::string::npos)
      << read_text(folder_ / "refusal");
  EXPECT_EQ(read_text(folder_ / "out/samples.jsonl").rfind(samples, 0), 0u) << "lines of the first run were lost";
  kill(first, SIGKILL);  // so the run cannot release the directory itself
  finish(first);
  const int lock = open(path("out/logs/strobe.log").c_str(), O_RDWR);
  EXPECT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  close(lock);
}

}  // namespace
}  // namespace strobe::cli_test
