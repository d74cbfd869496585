// A signal during the planning of a later case of a sweep ends the program, and finished cases stay.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class PlanningStop : public Program {
 protected:
  void SetUp() override {
    if (!lists("partitioners", "metis")) GTEST_SKIP() << "this build has no partitioner that takes long";
  }

  Json rows() {
    const Json summary = Json::parse(read_text(folder_ / "out/summary.json"), nullptr, false);
    return summary.is_object() ? summary.at("rows") : Json::array();
  }

  std::ptrdiff_t lines() {
    const std::string text = read_text(folder_ / "out/samples.jsonl");
    return std::count(text.begin(), text.end(), '\n');
  }

  /// Waits for a row; false after half a minute without one.
  bool wait_for_a_row() {
    for (int tries = 0; tries < 1500; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (!rows().empty()) return true;
    }
    return false;
  }

  void interrupt_planning(int signal);
};

/// Partitioners run for seconds without checking for signals. A single signal must end the program at any moment.
void PlanningStop::interrupt_planning(int signal) {
  const std::string name = suite(R"({"cases": [
    {"workload": {"name": "uniform", "steps": 8, "vertices": 60}, "epochs": 1},
    {"workload": {"name": "uniform", "steps": 20, "vertices": 20000, "density": 3}, "epochs": 1, "ranks": 4,
     "strategy": {"name": "vertex", "partitioner": "metis"}}]})");
  // Plans are usually made once, before the first case. Without memory to keep them, each case is planned again.
  const pid_t pid = start({"env", "STROBE_KEPT_PLANS_GIB=0", STROBE_BINARY, "run", name, "--out", "out"});
  const bool first_finished = wait_for_a_row();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(pid, signal);
  const Outcome outcome = finish(pid);
  ASSERT_TRUE(first_finished) << outcome.err;
  EXPECT_EQ(outcome.status, 128 + signal) << outcome.err;
  EXPECT_NE(outcome.err.find("interrupted"), std::string::npos) << outcome.err;
  EXPECT_EQ(rows()[0].at("status"), "ok");
  EXPECT_EQ(lines(), 2) << "the second case was trained";
  EXPECT_EQ(rows().size(), 1u);
  EXPECT_NE(outcome.err.find("interrupted while a case was planned"), std::string::npos) << outcome.err;
}

TEST_F(PlanningStop, OneInterruptEndsPlanning) { interrupt_planning(SIGINT); }

TEST_F(PlanningStop, OneTerminationEndsPlanning) { interrupt_planning(SIGTERM); }

/// METIS catches SIGTERM, aborts its work and returns an error. At any moment of the signal, the program ends as by its
/// own handling, unless it had already finished.
TEST_F(PlanningStop, ATerminationWithinMetisIsNoFailure) {
  const std::vector<std::string> words = {STROBE_BINARY, "run",
                                          "--workload",  "uniform:steps=10,vertices=12000,density=3",
                                          "--strategy",  "vertex:partitioner=metis",
                                          "--ranks",     "64",
                                          "--dry-run"};
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(finish(start(words)).status, 0);
  const auto whole = std::chrono::steady_clock::now() - begin;
  for (int part = 2; part < 16; part += 3) {
    const pid_t pid = start(words);
    std::this_thread::sleep_for(whole * part / 20);
    kill(pid, SIGTERM);
    const Outcome outcome = finish(pid);
    EXPECT_TRUE(outcome.status == 0 || outcome.status == 128 + SIGTERM)
        << "at " << part << "/20: " << outcome.status << " " << outcome.err;
  }
}

}  // namespace
}  // namespace strobe::cli_test
