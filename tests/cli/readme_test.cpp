// The C++ examples of README.md and of the pages docs/howto/own_*.md are compiled into this program: each registers by
// its one file, and works.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>

#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "workloads/workload.hpp"

#ifdef STROBE_README_EXAMPLES
namespace strobe {
namespace {

CaseResult train(const std::string& model, const std::string& strategy, int ranks) {
  const Json workload{{"name", "uniform"}, {"steps", 6}, {"vertices", 50}, {"density", 3.0}};
  return run_case(case_from_json({{"workload", workload},
                                  {"model", model},
                                  {"strategy", strategy},
                                  {"ranks", ranks},
                                  {"epochs", 2},
                                  {"precision", "fp64"}},
                                 ""));
}

TEST(Readme, TheModelsTrainAndTheStrategyGivesTheSameLosses) {
  const CaseResult one = train("gcn", "sequential", 1);
  ASSERT_EQ(one.status, "ok") << one.reason;
  ASSERT_EQ(one.loss.per_epoch.size(), 3u);
  EXPECT_NE(one.loss.per_epoch.front(), one.loss.per_epoch.back());
  for (const char* model : {"gcn", "gru-gcn", "tm-gcn"}) {
    const CaseResult reference = train(model, "sequential", 1), dealt = train(model, "cyclic", 3);
    ASSERT_EQ(dealt.status, "ok") << dealt.reason;
    ASSERT_EQ(dealt.loss.per_epoch.size(), reference.loss.per_epoch.size());
    for (std::size_t i = 0; i < reference.loss.per_epoch.size(); ++i) {
      EXPECT_NEAR(dealt.loss.per_epoch[i], reference.loss.per_epoch[i], 1e-10 * reference.loss.per_epoch[i]);
    }
  }
}

TEST(Readme, TheFormatIsRecognisedAndNamesTheLineOfAnError) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("strobe-readme-triples-{}.txt", getpid());
  std::ofstream(path) << "triples\n5,9,10\n9,5,20.5\n";
  const EventGraph graph = read_events(path.string());
  EXPECT_EQ(graph.provenance.format, "triples");
  EXPECT_EQ(graph.events(), 2);
  EXPECT_EQ(graph.vertices, 2);
  std::ofstream(path) << "triples\n5,9,10\n9,5\n";
  try {
    read_events(path.string());
    ADD_FAILURE() << "a line of two fields was accepted";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.line(), 3u);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace strobe
#endif

namespace strobe {
namespace {

TEST(Additions, NamesTestsAndFilesThatAreThere) {
  const std::filesystem::path root = STROBE_SOURCE_DIR;
  const auto text_of = [](const std::filesystem::path& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string page = text_of(root / "docs/contributing/add_a_part.md");
  std::string tests;
  for (const auto& item : std::filesystem::recursive_directory_iterator(root / "tests"))
    if (item.path().extension() == ".cpp") tests += text_of(item.path());
  const std::regex test("`([A-Z]\\w+)\\.([A-Z]\\w+)`"), file("`(tests/[\\w/.]+)`");
  int named = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), test), end; it != end; ++it, ++named) {
    const std::string body = "(" + it->str(1) + ", " + it->str(2) + ")";
    EXPECT_NE(tests.find(body), std::string::npos) << body;
  }
  for (std::sregex_iterator it(page.begin(), page.end(), file), end; it != end; ++it, ++named)
    if (it->str(1).find("NAME") == std::string::npos) {
      EXPECT_TRUE(std::filesystem::exists(root / it->str(1))) << it->str(1);
    }
  EXPECT_GE(named, 5);
}

}  // namespace
}  // namespace strobe
