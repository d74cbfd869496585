// Limits of the shell on a process: memory, threads, sizes of files, descriptors. Strobe names the limit that it
// reached.
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class ProcessLimits : public Program {
 protected:
  /// Runs the program under `ulimit` options; the shell text `after` follows the command.
  Outcome limited(const std::string& limit, const std::string& words, const std::string& after = "") {
    return finish(start_shell("cd '" + folder_.string() + "' && ulimit " + limit + " && '" STROBE_BINARY "' " + words +
                              " " + after));
  }
  /// The smallest address space, in MiB, in which the program and its libraries start; 0 when no size is enough.
  int least_memory() {
    for (int mebibytes = 16; mebibytes < 4096; mebibytes += 8)
      if (limited("-v " + std::to_string(mebibytes * 1024), "--version").status == 0) return mebibytes;
    return 0;
  }
};

TEST_F(ProcessLimits, OfMemoryAreARowOrALineThatSaysSo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve more address space than the limits";
#endif
  int ok = 0, failed = 0;
  const int least = least_memory();
  for (int mebibytes = least; mebibytes <= least + 320; mebibytes += 16) {
    const std::string out = "out" + std::to_string(mebibytes);
    const Outcome outcome = limited("-v " + std::to_string(mebibytes * 1024),
                                    "run --workload chess --epochs 1 --threads 2 --warmup 0 --out " + out);
    SCOPED_TRACE(std::to_string(mebibytes) + " MiB: " + outcome.err);
    for (const char* words : {"bad_alloc", "of 0 bytes", "strobe: Resource temporarily", "exception"})
      EXPECT_EQ(outcome.err.find(words), std::string::npos) << words;
    ok += outcome.status == 0 ? 1 : 0;
    if (outcome.status == 0) continue;
    ++failed;
    EXPECT_TRUE(outcome.status == 1 || outcome.status == 2) << outcome.status;
    const auto says = [&](const char* words) { return outcome.err.find(words) != std::string::npos; };
    EXPECT_TRUE(says("memory") || says("cannot start a thread") || says("cannot map") || says("Cannot allocate"));
    if (!std::filesystem::exists(folder_ / out / "summary.json")) continue;
    for (const Json& row : read_json(folder_ / out / "summary.json").at("rows")) {
      const std::string reason = row.at("reason");
      const bool memory = reason.find("memory") != std::string::npos;
      EXPECT_EQ(row.at("status") == "out_of_memory", memory) << reason;
    }
  }
  EXPECT_GT(ok, 0);
  EXPECT_GT(failed, 2);
}

TEST_F(ProcessLimits, OfFilesSizesAreReported) {
  for (const int blocks : {1, 2, 8}) {
    const std::string out = "out" + std::to_string(blocks);
    const Outcome outcome = limited("-f " + std::to_string(blocks), "run --workload ucsocial --epochs 1 --out " + out);
    SCOPED_TRACE(outcome.err);
    EXPECT_TRUE(outcome.status == 1 || outcome.status == 2) << outcome.status;
    EXPECT_NE(outcome.err.find("File too large"), std::string::npos);
  }
}

/// A test runner may leave files open, so the test searches for the smallest number of descriptors that is enough.
TEST_F(ProcessLimits, OfDescriptorsAreReported) {
  int begun = 0;
  for (int most = 4; most <= 24 && begun < 3; ++most) {
    const std::string limit = "-n " + std::to_string(most);
    const Outcome outcome = limited(limit, "inspect ucsocial");
    const bool loader =
        outcome.status == 127 || outcome.err.find("while loading shared libraries") != std::string::npos;
    if (loader) continue;
    ++begun;
    EXPECT_TRUE(outcome.status == 0 || outcome.err.find("Too many open files") != std::string::npos)
        << limit << ": " << outcome.err;
    EXPECT_EQ(limited(limit, "list workloads").err.find("cannot read this file"), std::string::npos) << limit;
  }
  EXPECT_GT(begun, 0);
}

TEST_F(ProcessLimits, AReaderThatGoesEndsTheProgramInSilence) {
  for (const std::string words : {"list workloads", "list models --json", "--help", "inspect ucsocial"}) {
    const Outcome outcome =
        finish(start_shell("cd '" + folder_.string() + "' && { sleep 0.3; '" STROBE_BINARY "' " + words +
                           "; echo $? > status; } | true; while ! test -s status; do sleep "
                           "0.1; done"));
    EXPECT_EQ(outcome.err, "") << words;
    EXPECT_EQ(read_text(folder_ / "status"), "141\n") << words;
    std::filesystem::remove(folder_ / "status");
  }
}

/// scripts/launch/with_memory ends what needs more than it may use, and leaves no control group.
TEST_F(ProcessLimits, OfAControlGroupEndWhatNeedsMore) {
  const std::string script = "'" STROBE_SOURCE_DIR "/scripts/launch/with_memory' ";
  const auto taking = [&](int mebibytes, const std::string& words) {
    return finish(start_shell(script + words + " python3 -c 'b = bytearray(" + std::to_string(mebibytes) + " << 20)'"));
  };
  const Outcome fits = taking(20, "100");
  if (fits.err.find("no control group") != std::string::npos) GTEST_SKIP() << fits.err;
  EXPECT_EQ(fits.status, 0) << fits.err;
  EXPECT_NE(fits.err.find("of 100 MiB"), std::string::npos) << fits.err;
  EXPECT_EQ(taking(300, "100").status, 137);
  EXPECT_EQ(taking(1, "x").status, 2);
  EXPECT_EQ(finish(start_shell(script + "100")).status, 2);
  for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/memory"}) {
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(root))
      EXPECT_EQ(entry.path().filename().string().find("with_memory_"), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace strobe::cli_test
