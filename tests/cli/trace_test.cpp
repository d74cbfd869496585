// Traces of real and of simulated runs: spans of the program's phases enclose every operation, arrows join ranks, and
// several traces go into one file or into a table. Checked by tests/results/trace_reader.hpp.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/program.hpp"
#include "tests/results/trace_reader.hpp"

namespace strobe::cli_test {
namespace {

class TraceCommand : public Program {
 protected:
  /// Runs one case with --trace and returns the path of its trace.
  std::string trace_of(const std::string& out, std::vector<std::string> words) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--trace", "--out", out});
    const Outcome outcome = strobe(words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    for (const auto& file : std::filesystem::directory_iterator(folder_ / out / "trace")) return file.path().string();
    ADD_FAILURE() << "no trace";
    return "";
  }
  static std::map<std::string, int> paths(const test::TraceReader& reader, int process) {
    std::map<std::string, int> counts;
    for (const auto& range : reader.ranges_of(process)) ++counts[range.path];
    return counts;
  }
};

TEST_F(TraceCommand, RangesAreTheProgramOfEveryRankRealAndSimulated) {
  const std::vector<std::string> words{"--workload", tiny, "--model",  "tm-gcn", "--strategy", "vertex",
                                       "--ranks",    "2",  "--epochs", "2",      "--warmup",   "1"};
  std::vector<std::string> simulated = words;
  simulated.insert(simulated.end(), {"--device", "sim"});
  for (const std::string& file : {trace_of("real", words), trace_of("simulated", simulated)}) {
    const test::TraceReader reader(read_json(file));
    EXPECT_TRUE(reader.complaints().empty()) << file << ": " << reader.complaints().front();
    for (const int process : {1, 2}) {
      const std::map<std::string, int> found = paths(reader, process);
      for (const std::string epoch : {"epoch 0", "epoch 1", "epoch 2"}) {
        EXPECT_EQ(found.count(epoch), 1u) << file << " " << epoch;
        for (const char* way : {"/forward", "/backward"}) {
          EXPECT_EQ(found.count(epoch + way), 1u) << file << " " << epoch << way;
          for (const char* layer : {"/layer 1", "/layer 2"})
            EXPECT_GE(found.count(epoch + way + layer), 1u) << file << " " << epoch << way << layer;
        }
      }
      EXPECT_EQ(found.count("epoch 3"), 0u);
    }
    EXPECT_FALSE(reader.flows().empty()) << file;
  }
}

TEST_F(TraceCommand, OtherKindsOfTrainingHaveTheirEpochsToo) {
  const std::vector<std::vector<std::string>> kinds{
      {"--workload", tiny, "--strategy", "hybrid_batch:vertices=50%,snapshots=50%", "--ranks", "2", "--epochs", "2"},
      {"--workload", "bursty_events:events=400,vertices=30", "--model", "jodie", "--task", "future-links", "--strategy",
       "event_batch:batch=100", "--ranks", "1", "--epochs", "2"},
      {"--workload", tiny, "--strategy", "snapshot", "--ranks", "2", "--nb", "2", "--epochs", "2"}};
  int n = 0;
  for (const std::vector<std::string>& words : kinds) {
    const test::TraceReader reader(read_json(trace_of("o" + std::to_string(n++), words)));
    EXPECT_TRUE(reader.complaints_of_ranges().empty()) << words[1] << ": " << reader.complaints_of_ranges().front();
    const std::map<std::string, int> found = paths(reader, 1);
    EXPECT_EQ(found.count("epoch 1"), 1u) << n;
    EXPECT_GE(found.count("epoch 1/forward"), 1u) << n;
    EXPECT_GE(found.count("epoch 1/backward"), 1u) << n;
  }
}

TEST_F(TraceCommand, EveryBlockingSpanOfAnEpochIsInItsRange) {
  const Json trace =
      read_json(trace_of("o", {"--workload", tiny, "--strategy", "snapshot", "--ranks", "2", "--device", "sim"}));
  const test::TraceReader reader(trace);
  const Json samples = read_json(folder_ / "o" / "summary.json").at("rows").at(0);
  // Phases are sums over blocking spans: those in the ranges of measured epochs must add up to the row's busy phases.
  double in_ranges = 0;
  for (const int process : {1, 2}) {
    for (const auto& range : reader.ranges_of(process)) {
      if (range.path.rfind("epoch ", 0) != 0 || range.path.find('/') != std::string::npos || range.path == "epoch 0")
        continue;
      for (const Json& event : trace.at("traceEvents")) {
        if (event.at("ph") != "X" || event.at("pid") != process || !event.at("args").value("blocking", false)) continue;
        const std::int64_t begin = std::llround(1000 * event.at("ts").get<double>());
        if (begin >= range.begin && begin < range.end) in_ranges += event.at("dur").get<double>() * 1e-6;
      }
    }
  }
  double phases = 0;
  for (const auto& [phase, seconds] : samples.at("phase_seconds").items())
    if (phase != "other" && seconds.is_number()) phases += seconds.get<double>();
  const double epochs = samples.at("epoch_seconds").at("n").get<double>();
  ASSERT_GT(phases, 0);
  // The row describes the slowest rank of each epoch, the trace both ranks.
  EXPECT_NEAR(in_ranges / 2 / epochs, phases, 0.02 * phases);
}

TEST_F(TraceCommand, MergeAndDiffTakeRealAndSimulated) {
  const std::vector<std::string> words{"--workload", tiny, "--strategy", "vertex", "--ranks", "2"};
  std::vector<std::string> simulated = words;
  simulated.insert(simulated.end(), {"--device", "sim"});
  const std::string a = trace_of("real", words), b = trace_of("simulated", simulated);
  Outcome outcome = strobe({"trace", "merge", a, b, "--out", "both.json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const test::TraceReader reader(read_json(folder_ / "both.json"));
  EXPECT_TRUE(reader.complaints().empty()) << reader.complaints().front();
  std::set<std::string> names;
  for (const auto& [process, name] : reader.processes()) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"1 wall rank 0", "1 wall rank 1", "2 virtual rank 0", "2 virtual rank 1"}));

  outcome = strobe({"trace", "diff", a, b});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("epoch (blocking spans)"), std::string::npos) << outcome.out;
  outcome = strobe({"trace", "diff", a, b, "--json"});
  const Json lines = Json::parse(outcome.out);
  double first = 0, second = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    first += lines[i].at("first_seconds").get<double>();
    second += lines[i].at("second_seconds").get<double>();
  }
  EXPECT_NEAR(first, lines[0].at("first_seconds").get<double>(), 1e-9);
  EXPECT_NEAR(second, lines[0].at("second_seconds").get<double>(), 1e-9);
  const Json same = Json::parse(strobe({"trace", "diff", a, a, "--json"}).out);
  for (const Json& line : same) EXPECT_EQ(line.at("first_seconds"), line.at("second_seconds")) << line;
}

TEST_F(TraceCommand, WrongRequestsSayWhatIsWanted) {
  expect_refusal(strobe({"trace"}), 2, {"strobe trace merge FILE", "strobe trace diff A B"});
  expect_refusal(strobe({"trace", "join", "a"}), 2, {"not 'join'"});
  expect_refusal(strobe({"trace", "merge", "a.json", "--out", "b.json"}), 2, {"two traces or more"});
  expect_refusal(strobe({"trace", "merge", "a.json", "b.json"}), 2, {"--out FILE"});
  expect_refusal(strobe({"trace", "diff", "a.json"}), 2, {"A and B"});
  expect_refusal(strobe({"trace", "diff", "a.json", "b.json"}), 2, {"a.json"});
  write_text(folder_ / "a.json", "{\"rows\": []}");
  expect_refusal(strobe({"trace", "diff", "a.json", "a.json"}), 2, {"a.json", "not a trace"});
  expect_refusal(strobe({"trace", "diff", "a.json", "a.json", "--most", "few"}), 2, {"--most"});
}

}  // namespace
}  // namespace strobe::cli_test
