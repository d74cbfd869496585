// An installation by `cmake --install` works without the source tree, and after it is moved. It has the program with
// its files, and the package with which the strategy of README.md is built outside of the tree.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class Install : public Program {
 protected:
  void SetUp() override {
    const std::string build = std::filesystem::path(STROBE_BINARY).parent_path().string();
    const Outcome outcome = finish(start({"cmake", "--install", build, "--prefix", path("first")}));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    std::filesystem::rename(folder_ / "first", folder_ / "moved");
  }
  Outcome installed(const std::string& words, const std::string& before = "") {
    return finish(start_shell("cd '" + folder_.string() + "' && " + before + " moved/bin/strobe " + words));
  }
};

TEST_F(Install, TheProgramFindsItsFilesWhereItLies) {
  const std::string workloads = installed("list workloads --json").out;
  EXPECT_EQ(workloads,
            finish(start_shell("'" STROBE_BINARY "' list workloads --json | sed 's|" STROBE_SOURCE_DIR "/workloads|" +
                               path("moved/share/strobe/workloads") + "|'"))
                .out)
      << "the same sets, at other paths";
  Outcome outcome = installed("run --workload ucsocial:window=7d --epochs 1 --out o");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* suite : {"quickstart\n", "dgc/fusion\n"})
    EXPECT_NE(installed("list suites").out.find(suite), std::string::npos) << suite;
  std::filesystem::remove(folder_ / "moved/share/strobe/scripts/figures/volume.py");
  const std::string kinds = installed("plot").err;  // the installed kinds, not those of the source tree
  EXPECT_NE(kinds.find("scaling"), std::string::npos) << kinds;
  EXPECT_EQ(kinds.find("volume"), std::string::npos) << kinds;
  std::filesystem::remove_all(folder_ / "moved/share/strobe/results/published/collectives");
  EXPECT_NE(installed("validate --published collectives").status, 0) << "read from the source tree";
  expect_refusal(installed("calibrate smok"), 2, {"did you mean 'smoke'"});
  outcome = installed(
      "run --workload amazon --strategy snapshot --device sim --cluster p5-h100 --ranks 8 --epochs 1 --out s");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* file : {"share/man/man1/strobe.1", "share/bash-completion/completions/strobe"})
    EXPECT_GT(std::filesystem::file_size(folder_ / "moved" / file), 1000u) << file;
  if (std::system("python3 -c 'import json' 2> /dev/null") == 0) {
    outcome = installed("report o --out report.html");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(std::filesystem::exists(folder_ / "report.html"));
  }
}

TEST_F(Install, AStrategyOutsideOfTheTreeStandsAmongTheOthers) {
  const std::filesystem::path example = std::filesystem::path(STROBE_BINARY).parent_path() / "readme" / "cyclic.cpp";
  if (!std::filesystem::exists(example)) GTEST_SKIP() << "README.md's examples are not there";
  std::filesystem::create_directory(folder_ / "mine");
  std::filesystem::copy(example, folder_ / "mine" / "cyclic.cpp");
  write_text(folder_ / "mine" / "CMakeLists.txt",
             "cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES CXX)\nfind_package(strobe REQUIRED)\n"
             "strobe_plugin(cyclic cyclic.cpp)\n");
  Outcome outcome = finish(start_shell("cd '" + path("mine") + "' && cmake -S . -B build -DCMAKE_PREFIX_PATH='" +
                                       path("moved") + "' && cmake --build build"));
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const std::string plugins = "STROBE_PLUGINS='" + path("mine/build/cyclic.so") + "'";
  EXPECT_EQ(installed("list strategies").out.find("cyclic"), std::string::npos);
  outcome = installed("list strategies", plugins);
  EXPECT_NE(outcome.out.find("cyclic"), std::string::npos) << outcome.err;
  outcome = installed(
      "run --workload uniform:steps=6,vertices=60,density=3 --vary strategy=cyclic,vertex --ranks 3 --epochs 2 "
      "--precision fp64 --out o",
      plugins);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json rows = read_json(folder_ / "o" / "summary.json").at("rows");
  ASSERT_EQ(rows.size(), 2u);
  for (std::size_t e = 0; e < rows[1].at("loss").size(); ++e)
    EXPECT_NEAR(rows[0].at("loss")[e].get<double>(), rows[1].at("loss")[e].get<double>(), 1e-10);
  const Json loaded = read_json(folder_ / "o" / "env.json").at("plugins");
  ASSERT_EQ(loaded.size(), 1u);
  EXPECT_EQ(loaded[0].at("path"), path("mine/build/cyclic.so"));
  EXPECT_EQ(loaded[0].at("sha256").get<std::string>().size(), 64u);
}

TEST_F(Install, AKindOfTrainingOutsideOfTheTreeBringsAllThatTheOthersBring) {
  std::filesystem::create_directory(folder_ / "mine");
  std::filesystem::copy(std::string(STROBE_TEST_DIR) + "/plugins/toy_training.cpp", folder_ / "mine" / "toy.cpp");
  write_text(folder_ / "mine" / "CMakeLists.txt",
             "cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES CXX)\nfind_package(strobe REQUIRED)\n"
             "strobe_plugin(toy toy.cpp)\n");
  Outcome outcome = finish(start_shell("cd '" + path("mine") + "' && cmake -S . -B build -DCMAKE_PREFIX_PATH='" +
                                       path("moved") + "' && cmake --build build"));
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const std::string plugins = "STROBE_PLUGINS='" + path("mine/build/toy.so") + "'",
                    toy = "--workload uniform:steps=3,vertices=10,density=1 --model toy-model --task toy-task ";
  EXPECT_NE(installed("run --help", plugins).out.find("--dump-toy"), std::string::npos);
  EXPECT_EQ(installed("run --help").out.find("--dump-toy"), std::string::npos);
  outcome = installed("run " + toy + "--strategy toy:sums=2 --ranks 3 --out o --dump-toy toy.txt", plugins);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json row = read_json(folder_ / "o" / "summary.json").at("rows").at(0);
  EXPECT_EQ(row.at("toy_sums"), 2);
  EXPECT_EQ(row.at("sent_bytes").at("gradient"), 2 * 2 * 2 * 8);
  EXPECT_EQ(read_text(folder_ / "toy.txt").rfind("weight ", 0), 0u);
  outcome = installed("plan " + toy + "--strategy toy --clusters p5-h100 --nodes 1 --json", plugins);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* axis : {"\"sums\":1", "\"sums\":2"}) {
    std::string plan = outcome.out;
    std::erase_if(plan, [](char c) { return c == ' ' || c == '\n'; });
    EXPECT_NE(plan.find(axis), std::string::npos) << axis;
  }
  if (std::system("python3 -c 'import json' 2> /dev/null") != 0) return;
  ASSERT_EQ(installed("report o --out report.html", plugins).status, 0);
  EXPECT_NE(read_text(folder_ / "report.html").find("What the toy does"), std::string::npos);
  ASSERT_EQ(installed("report o --out report.html").status, 0) << "rows of a kind that is not loaded";
}

}  // namespace
}  // namespace strobe::cli_test
