// A run refuses folders with other files in them, folders that it cannot write, and an empty name.
#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class RunFolder : public Program {
 protected:
  Outcome run_into(const std::string& out, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"run", "--workload", tiny, "--epochs", "1", "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
  std::size_t files(const std::string& folder) {
    const std::filesystem::recursive_directory_iterator all(folder_ / folder);
    return static_cast<std::size_t>(std::distance(all, {}));
  }
};

TEST_F(RunFolder, OfForeignFilesIsRefusedAndLeftAlone) {
  std::filesystem::create_directories(folder_ / "thesis/figures");
  write_text(folder_ / "thesis/main.tex", "text");
  expect_refusal(run_into("thesis"), 2, {"--out: 'thesis' holds files that are not part of a run", "empty or a new folder"});
  expect_refusal(run_into("thesis", {"--resume"}), 2, {"--out: 'thesis' holds files"});
  EXPECT_EQ(files("thesis"), 2u);
}

TEST_F(RunFolder, ThatIsEmptyOrHoldsWhatARunLeavesIsTaken) {
  std::filesystem::create_directories(folder_ / "out/logs");
  write_text(folder_ / "out/plan.json.partial", "{");
  write_text(folder_ / "out/.note", "mine");
  EXPECT_EQ(run_into("out").status, 0);
  EXPECT_EQ(run_into("out", {"--resume"}).status, 0);
  std::filesystem::create_directory(folder_ / "streams");
  const Outcome outcome = finish(start_shell("cd '" + folder_.string() + "' && '" STROBE_BINARY "' run --workload " +
                                             tiny + " --epochs 1 --out streams > streams/table 2> streams/words"));
  EXPECT_EQ(outcome.status, 0) << read_text(folder_ / "streams/words");
  std::filesystem::create_directory(folder_ / "weights");
  EXPECT_EQ(run_into("weights", {"--save-model", "weights/w"}).status, 0);
}

TEST_F(RunFolder, ThatCannotBeFilledIsAWrongRequest) {
  for (const std::string file : {"logs", "trace"}) {
    std::filesystem::create_directory(folder_ / ("with_" + file));
    write_text(folder_ / ("with_" + file) / file, "");
    expect_refusal(run_into("with_" + file), 2, {"--out: ", file});
  }
  for (const std::string folder : {"env.json", "summary.csv", "logs/strobe.log"}) {
    const std::string out = "out_" + std::to_string(folder.size());
    std::filesystem::create_directories(folder_ / out / folder);
    expect_refusal(run_into(out), 2, {"--out: ", folder});
  }
  expect_refusal(run_into(""), 2, {"--out: is empty"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs"));
}

TEST_F(RunFolder, EmptyValuesOfOptionsAreRefused) {
  for (const char* flag : {"--save-model", "--checkpoint", "--set", "--vary", "--filter", "--dump-embeddings"})
    expect_refusal(run_into("out", {flag, ""}), 2, {std::string(flag) + ": is empty"});
  expect_refusal(strobe({"run", ""}), 2, {"suite: is empty"});
  expect_refusal(strobe({"inspect", ""}), 2, {"W: is empty"});
  expect_refusal(strobe({"compare", "", "out"}), 2, {"BASE: is empty"});
}

TEST_F(RunFolder, ManyMoreRanksThanCoresAreWarnedOf) {
  const std::string words = "ranks are threads that take turns on";
  const auto on_one_core = [&](const std::string& ranks) {
    return finish(start_shell("cd '" + folder_.string() + "' && taskset -c 0 '" STROBE_BINARY "' run --workload " +
                              tiny + " --epochs 1 --strategy vertex --ranks " + ranks + " --out r" + ranks));
  };
  if (std::system("taskset -c 0 true") != 0) GTEST_SKIP() << "no taskset";
  EXPECT_EQ(on_one_core("4").err.find(words), std::string::npos);
  const Outcome crowded = on_one_core("5");
  EXPECT_EQ(crowded.status, 0) << crowded.err;
  EXPECT_NE(crowded.err.find("warning: 5 " + words + " 1 core;"), std::string::npos) << crowded.err;
}

}  // namespace
}  // namespace strobe::cli_test
