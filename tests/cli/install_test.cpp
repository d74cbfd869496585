// An installation by `cmake --install` works without the source tree, and after it is moved. It has the program with
// its files, and the package with which the strategies of docs/howto/own_strategy.md and
// docs/contributing/first_change.md are built outside of the tree.
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/program.hpp"
#include "tests/results/python.hpp"

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
  /// Builds `text` as the plug-in mine/build/NAME.so. Returns the variable that loads it.
  std::string built(const std::string& name, const std::string& text) {
    std::filesystem::create_directory(folder_ / "mine");
    write_text(folder_ / "mine" / (name + ".cpp"), text);
    write_text(folder_ / "mine" / "CMakeLists.txt",
               "cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES CXX)\nfind_package(strobe REQUIRED)\n"
               "strobe_plugin(" +
                   name + " " + name + ".cpp)\n");
    const Outcome outcome =
        finish(start_shell("cd '" + path("mine") + "' && cmake -S . -B build -DCMAKE_PREFIX_PATH='" + path("moved") +
                           "' && cmake --build build"));
    EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    return "STROBE_PLUGINS='" + path("mine/build/" + name + ".so") + "'";
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
  for (const char* file : {"share/man/man1/strobe.1", "share/bash-completion/completions/strobe",
                           "share/fish/vendor_completions.d/strobe.fish", "share/zsh/site-functions/_strobe"})
    EXPECT_GT(std::filesystem::file_size(folder_ / "moved" / file), 400u) << file;
  if (!testing_results::find_python("matplotlib jinja2").empty()) {
    outcome = installed("report o --out report.html");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(std::filesystem::exists(folder_ / "report.html"));
  }
}

TEST_F(Install, ADebianPackageHoldsAProgramThatRuns) {
  if (std::system("command -v cpack dpkg-deb dpkg-shlibdeps > /dev/null 2>&1") != 0) GTEST_SKIP() << "no Debian tools";
  const std::string build = std::filesystem::path(STROBE_BINARY).parent_path().string();
  Outcome outcome = finish(start_shell("cd '" + folder_.string() +
                                       "' && cpack -G DEB -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -B package --config '" +
                                       build + "/CPackConfig.cmake' && dpkg-deb -x package/strobe_*.deb unpacked && " +
                                       "dpkg-deb -f package/strobe_*.deb Depends Version"));
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("libc6"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("libopenmpi"), std::string::npos) << outcome.out;
  outcome = finish(start_shell("cd '" + folder_.string() +
                               "' && unpacked/usr/bin/strobe run --workload ucsocial:window=7d "
                               "--epochs 1 --out o && test -f unpacked/usr/share/man/man1/strobe.1"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(Install, AStrategyOutsideOfTheTreeStandsAmongTheOthers) {
  const std::filesystem::path example = std::filesystem::path(STROBE_BINARY).parent_path() / "readme" / "cyclic.cpp";
  if (!std::filesystem::exists(example)) GTEST_SKIP() << "the examples of the pages are not there";
  const std::string plugins = built("cyclic", read_text(example));
  EXPECT_EQ(installed("list strategies").out.find("\ncyclic\n"), std::string::npos);
  Outcome outcome = installed("list strategies", plugins);
  EXPECT_NE(outcome.out.find("\ncyclic\n"), std::string::npos) << outcome.err;
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
  const std::string plugins = built("toy", read_text(std::string(STROBE_TEST_DIR) + "/plugins/toy_training.cpp")),
                    toy = "--workload uniform:steps=3,vertices=10,density=1 --model toy-model --task toy-task ";
  EXPECT_NE(installed("run --help", plugins).out.find("--dump-toy"), std::string::npos);
  EXPECT_EQ(installed("run --help").out.find("--dump-toy"), std::string::npos);
  Outcome outcome = installed("run " + toy + "--strategy toy:sums=2 --ranks 3 --out o --dump-toy toy.txt", plugins);
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
  if (testing_results::find_python("matplotlib jinja2").empty()) return;
  ASSERT_EQ(installed("report o --out report.html", plugins).status, 0);
  EXPECT_NE(read_text(folder_ / "report.html").find("What the toy does"), std::string::npos);
  ASSERT_EQ(installed("report o --out report.html").status, 0) << "rows of a kind that is not loaded";
}

TEST_F(Install, TheLibraryOfResultsJudgesAProgramOutsideOfTheTree) {
  const std::string page = read_text(STROBE_SOURCE_DIR "/docs/howto/results_library.md");
  const auto block = [&](const std::string& begin) {
    const std::size_t from = page.find(begin) + begin.size();
    return page.substr(from, page.find("```", from) - from);
  };
  std::filesystem::create_directory(folder_ / "own");
  write_text(folder_ / "own" / "loops.cpp", block("```cpp\n"));
  write_text(folder_ / "own" / "CMakeLists.txt", block("```cmake\n"));
  const Outcome outcome = finish(start_shell("cd '" + path("own") + "' && cmake -S . -B build -DCMAKE_PREFIX_PATH='" +
                                             path("moved") + "' > log && cmake --build build >> log && build/loops"));
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("times the fastest"), std::string::npos) << outcome.out;
  const Json rows = read_json(folder_ / "own" / "loops" / "summary.json").at("rows");
  ASSERT_EQ(rows.size(), 2u);
  for (const Json& row : rows) EXPECT_EQ(row.at("rounds").at("median_seconds").size(), 7u);
  EXPECT_EQ(installed("compare own/loops --by strategy").out, outcome.out) << "the same answer";
}

/// Everything that docs/contributing/first_change.md tells a newcomer to do after the build.
const std::string first_change = read_text(STROBE_SOURCE_DIR "/docs/contributing/first_change.md");

std::vector<std::string> all_matches(const char* pattern) {
  const std::regex regex(pattern, std::regex::multiline);
  const std::sregex_iterator begin(first_change.begin(), first_change.end(), regex), end;
  std::vector<std::string> found;
  for (std::sregex_iterator match = begin; match != end; ++match) found.push_back(match->str(1));
  return found;
}

TEST_F(Install, TheStrategyOfTheFirstChangeGivesTheLossesAndBytesOfItsPage) {
  const std::size_t from = first_change.find("```cpp\n") + 7;
  const std::string plugins = built("striped", first_change.substr(from, first_change.find("```", from) - from));
  const std::vector<std::string> commands = all_matches("^build-dev/strobe (.+)$");
  ASSERT_EQ(commands.size(), 3u);
  for (const std::string& command : commands) {
    const Outcome outcome = installed(command, plugins);
    ASSERT_EQ(outcome.status, 0) << command << outcome.err;
    EXPECT_NE(outcome.out.find("striped"), std::string::npos) << command << outcome.out;
  }
  const Json rows = read_json(folder_ / "runs/first/summary.json").at("rows");
  ASSERT_EQ(rows.size(), 6u);
  for (const Json& row : rows)
    EXPECT_NEAR(row.at("loss").back().get<double>(), std::stod(all_matches("the loss ([\\d.]+),").at(0)), 5e-6);
  const auto megabytes = [&](std::size_t row) { return rows[row].at("sent_bytes").at("total").get<double>() / 1e6; };
  EXPECT_NEAR(megabytes(1), std::stod(all_matches("`striped` sends ([\\d.]+) MB").at(0)), 5e-3);
  EXPECT_NEAR(megabytes(4), std::stod(all_matches("`vertex` ([\\d.]+) MB").at(0)), 5e-3);
}

TEST(FirstChange, NamesTestsPresetsAndFilesThatAreThere) {
  const std::string build = std::filesystem::path(STROBE_BINARY).parent_path().string();
  const auto tests = all_matches("^ctest --preset dev -R '([^']+)'");
  EXPECT_EQ(tests.size(), 2u);
  for (const std::string& test : tests)
    EXPECT_EQ(
        std::system(("ctest --test-dir '" + build + "' -N --no-tests=error -R '" + test + "' >/dev/null").c_str()), 0)
        << test;
  std::vector<std::string> presets;
  const Json all = read_json(STROBE_SOURCE_DIR "/CMakePresets.json");
  for (const Json& preset : all.at("testPresets")) presets.push_back(preset.at("name"));
  for (const std::string& preset : all_matches("(?:preset|or) `(\\w+)`"))
    EXPECT_NE(std::find(presets.begin(), presets.end(), preset), presets.end()) << preset;
  const auto files = all_matches("((?:scripts|\\.ci|core|backends|workloads|models|results|harness|tests)/[\\w/.]*)");
  EXPECT_GE(files.size(), 20u);
  for (const std::string& file : files)
    if (file.find("striped") == std::string::npos && file != "scripts/check_") {
      EXPECT_TRUE(std::filesystem::exists(std::string(STROBE_SOURCE_DIR "/") + file)) << file;
    }
}

}  // namespace
}  // namespace strobe::cli_test
