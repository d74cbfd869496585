// Ranks with different data, files or settings: no rank trains, each reports its own, and none waits.
#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/cli/launch/mpi_program.hpp"

namespace strobe::cli_test {
namespace {

/// Two processes, each in a folder of its own with files of its own.
class OtherRanks : public MpiProgram {
 protected:
  void SetUp() override {
    MpiProgram::SetUp();
    if (IsSkipped()) return;
    for (const char* folder : {"a", "b"}) {
      std::filesystem::create_directory(folder_ / folder);
      write_text(folder_ / folder / "x.csv", edges());
      write_features(folder, 8, 0);
    }
  }

  /// A ring of eight vertices in four windows of ten seconds; with `moved` its last edge differs.
  static std::string edges(bool moved = false) {
    std::string text = "source,target,time\n";
    for (int window = 0; window < 4; ++window)
      for (int v = 0; v < 8; ++v)
        text += std::to_string(v) + "," + std::to_string((v + 1) % 8) + "," + std::to_string(10 * window + v) + "\n";
    return text + (moved ? "3,7,39\n" : "3,6,39\n");
  }

  /// f.npy [8, 2] in fp32, the vertices' numbers; `shift` is added to the last value.
  void write_features(const std::string& folder, int vertices, float shift) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(vertices) + ", 2), }";
    header.resize(117, ' ');
    std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(118) + '\0' + header + '\n';
    for (int i = 0; i < 2 * vertices; ++i) {
      const float value = static_cast<float>(i) + (i + 1 == 2 * vertices ? shift : 0);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    write_text(folder_ / folder / "f.npy", bytes);
  }

  /// Runs both ranks, rank 0 in folder a and rank 1 in b; fails when that takes long.
  Outcome both(const std::string& first, const std::string& second) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string here = folder_.string(), strobe_in = "' '" STROBE_BINARY "' ";
    const Outcome outcome =
        finish(start_shell("cd '" + here + "' && exec timeout 200 mpirun -n 1 -wdir '" + here + "/a" + strobe_in +
                           first + " : -n 1 -wdir '" + here + "/b" + strobe_in + second));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
    return outcome;
  }

  std::string request(const std::string& more = "") const {
    return "run --workload x.csv:window=10s,features=f.npy --strategy vertex --ranks 2 --comm mpi --warmup 0 "
           "--epochs 2 --task link-prediction:theta=1 --out '" +
           path("out") + "' " + more;
  }

  /// Fails unless both end with status 2, rank 1 says `words`, and nothing is measured.
  void expect_refused(const Outcome& outcome, const std::vector<std::string>& words) {
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_NE(outcome.err.find("rank 1 on "), std::string::npos) << outcome.err;
    for (const std::string& word : words)
      EXPECT_NE(outcome.err.find(word), std::string::npos) << word << "\n" << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out/summary.json"));
  }
};

TEST_F(OtherRanks, TheSameFilesTrain) {
  const Outcome outcome = both(request(), request());
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(rows("out")[0].at("status"), "ok");
  EXPECT_EQ(rows("out")[0].at("threads_per_rank").size(), 2u);
  EXPECT_EQ(read_json(folder_ / "out/env.json").at("hosts").size(), 2u);
}

TEST_F(OtherRanks, OtherFeatures) {
  write_features("b", 8, 0.5f);
  expect_refused(both(request(), request()), {"differs from rank 0", "f.npy", "SHA-256"});
}

TEST_F(OtherRanks, AnEdgeThatIsAnother) {
  write_text(folder_ / "b/x.csv", edges(true));
  expect_refused(both(request(), request()), {"x.csv", "SHA-256"});
}

/// Rank 0 waits in the partition for a rank that never gets there.
TEST_F(OtherRanks, AFailureBeforeThePartitionEndsBoth) {
  std::filesystem::create_directory(folder_ / "a/sub");
  const std::string how = request("--set strategy.partitioner=ldg --checkpoint sub/state.safetensors");
  const Outcome outcome = both(how, how);
  EXPECT_NE(outcome.status, 0);
  EXPECT_NE(outcome.err.find("sub/state.safetensors"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/summary.json"));
}

TEST_F(OtherRanks, OtherSettings) {
  for (const auto& [flags, where] :
       {std::pair<std::string, std::string>{"--optimizer sgd:rate=0.5", "/cases/0/optimizer/rate"},
        {"--seed 2", "/cases/0/seed"},
        {"--set epochs=3", "/cases/0/epochs"},
        {"--overlap 2", "/cases/0/overlap"},
        {"--trace", "/flags/--trace"},
        {"--time-limit 1h", "/flags/--time-limit"}}) {
    std::string other = request(flags);
    if (flags.find("epochs") != std::string::npos) other.erase(other.find("--epochs 2 "), 11);
    const std::string own = flags.find("sgd") != std::string::npos ? request("--optimizer sgd:rate=0.4") : request();
    expect_refused(both(own, other), {where});
  }
}

TEST_F(OtherRanks, AFileThatOneOfThemLacks) {
  std::filesystem::remove(folder_ / "b/x.csv");
  const Outcome outcome = both(request(), request());
  expect_refused(outcome, {"x.csv"});
  std::filesystem::copy(folder_ / "a/x.csv", folder_ / "b/x.csv");
  std::filesystem::remove(folder_ / "a/x.csv");
  const Outcome first = both(request(), request());
  EXPECT_EQ(first.status, 2) << first.err;
  EXPECT_NE(first.err.find("rank 0 on "), std::string::npos) << first.err;
  EXPECT_NE(first.err.find("x.csv"), std::string::npos) << first.err;
}

/// With a limit the processes gather their planned bytes. One that cannot plan does not take part, and the other must
/// not wait for it or read its next message as bytes.
TEST_F(OtherRanks, AProcessThatCannotPlanEndsBothBeforeTheyGatherBytes) {
  for (const char* lacks : {"a", "b"}) {
    std::filesystem::rename(folder_ / lacks / "f.npy", folder_ / lacks / "g.npy");
    for (const std::string how : {"--host-memory-limit-gib 8", "--nb auto --memory-limit-gib 8"}) {
      const Outcome outcome = both(request(how), request(how));
      EXPECT_NE(outcome.status, 0) << how;
      EXPECT_NE(outcome.err.find("f.npy"), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.err.find("sends no planned peak"), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.err.find("does not say how much memory"), std::string::npos) << outcome.err;
      for (const char* twice : {": rank 0: ", ": rank 1: "})
        EXPECT_EQ(outcome.err.find(twice), std::string::npos) << "a second prefix: " << outcome.err;
      EXPECT_FALSE(std::filesystem::exists(folder_ / "out/summary.json"));
    }
    std::filesystem::rename(folder_ / lacks / "g.npy", folder_ / lacks / "f.npy");
  }
}

TEST_F(OtherRanks, ASuiteWhoseSecondCaseIsAnother) {
  const auto suite_with = [](const std::string& rate) {
    return R"({"defaults": {"workload": {"name": "x.csv", "window": "10s"}, "strategy": "vertex", "ranks": 2,
               "comm": "mpi", "epochs": 2}, "cases": [{}, {"optimizer": {"name": "sgd", "rate": )" +
           rate + "}}]}";
  };
  write_text(folder_ / "a/s.json", suite_with("0.25"));
  write_text(folder_ / "b/s.json", suite_with("0.5"));
  const std::string words = "run s.json --out '" + path("out") + "'";
  expect_refused(both(words, words), {"/cases/1/optimizer/rate", "0.25", "0.5"});
}

TEST_F(OtherRanks, OtherWeightsToStartFrom) {
  for (const std::string folder : {"a", "b"}) {
    const Outcome saved = finish(start_shell(
        "cd '" + (folder_ / folder).string() +
        "' && exec '" STROBE_BINARY "' run --workload x.csv:window=10s,features=f.npy --epochs 1 --seed " +
        std::to_string(folder == "a" ? 1 : 2) + " --task link-prediction:theta=1 --out o --save-model m.safetensors"));
    ASSERT_EQ(saved.status, 0) << saved.err;
  }
  expect_refused(both(request("--load-model m.safetensors"), request("--load-model m.safetensors")),
                 {"m.safetensors", "SHA-256"});
}

/// The second process has no run to continue: the first process decides which cases are finished.
TEST_F(OtherRanks, AContinuedRunIsTheFirstOnes) {
  const std::string in_own =
      "run --workload x.csv:window=10s --vary seed=1,2 --strategy vertex --ranks 2 --comm mpi "
      "--epochs 1 --warmup 0 --out r";
  ASSERT_EQ(both(in_own, in_own).status, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b/r"));
  const std::string one = read_text(folder_ / "a/r/summary.json");
  const Outcome again = both(in_own + " --resume", in_own + " --resume");
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(read_text(folder_ / "a/r/summary.json"), one);
}

TEST_F(OtherRanks, ThreadsOfEachAreItsShareOfTheNode) {
  const Outcome outcome = mpirun("3", {"run", "--workload", tiny, "--strategy", "vertex", "--ranks", "3", "--comm",
                                       "mpi", "--epochs", "1", "--out", "out"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json recorded = read_json(folder_ / "out/env.json");
  const int cores = recorded.at("cpu").at("cores").get<int>();
  const Json threads = rows("out")[0].at("threads_per_rank");
  ASSERT_EQ(threads.size(), 3u);
  for (const Json& each : threads) EXPECT_LE(each.get<int>(), std::max(1, cores / 3 + 1));
}

/// Processes of one launch with --comm local are independent: each has its own world, output and folder.
TEST_F(OtherRanks, IndependentProcessesDealASweepAmongThem) {
  const std::string own = std::string("run --workload ") + tiny + " --epochs 1 --comm local --out r --seed ";
  const Outcome outcome = both(own + "1", own + "2");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(rows("a/r")[0].at("seed"), 1);
  EXPECT_EQ(rows("b/r")[0].at("seed"), 2);
}

/// A partitioner that starts MPI does not wait for processes that never start it.
TEST_F(OtherRanks, IndependentProcessesDoNotMeetInMpi) {
  if (!lists("partitioners", "hypergraph")) GTEST_SKIP() << "this build has no partitioner hypergraph";
  const std::string own = std::string("run --workload ") + tiny + " --epochs 1 --comm local --ranks 2 --out r";
  const Outcome outcome =
      both(own + " --strategy vertex:partitioner=hypergraph", own + " --strategy vertex:partitioner=hash");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(rows("a/r")[0].at("status"), "ok");
  EXPECT_EQ(rows("b/r")[0].at("status"), "ok");
}

}  // namespace
}  // namespace strobe::cli_test
