// The commands of docs/tutorial.md run unchanged, and the page shows their output.
#include <regex>
#include <set>

#include "tests/cli/program.hpp"
#include "tests/results/python.hpp"

namespace strobe::cli_test {
namespace {

class Tutorial : public Program {
 protected:
  const std::filesystem::path page_ = std::filesystem::path(STROBE_SOURCE_DIR) / "docs" / "tutorial.md";
};

TEST_F(Tutorial, ItsCommandsRun) {
  if (testing_results::find_python("matplotlib jinja2").empty()) GTEST_SKIP() << "no Python with matplotlib and Jinja2";
  const std::string script = std::string(STROBE_SOURCE_DIR) + "/scripts/tutorial";
  const Outcome outcome = finish(start({"python3", script, STROBE_BINARY}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::smatch match;
  ASSERT_TRUE(std::regex_search(outcome.out, match, std::regex("tutorial: ([0-9]+) commands"))) << outcome.out;
  EXPECT_GE(std::stoi(match[1]), 10);
}

TEST_F(Tutorial, ShowsWhatCommandsPrintNow) {
  // Times differ from run to run. Ids of cases differ only when a case has changed.
  std::set<std::string> shown;
  const std::string text = read_text(page_);
  const std::regex id("mine/t-gcn/[a-z]+/[a-z]+/r[0-9]+#[0-9a-f]{6}");
  for (std::sregex_iterator it(text.begin(), text.end(), id), end; it != end; ++it) shown.insert(it->str());
  ASSERT_GE(shown.size(), 6u);
  ASSERT_EQ(strobe({"convert", "ucsocial", "mine.strobe"}).status, 0);
  std::set<std::string> found;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--vary", "strategy=snapshot,vertex,pss", "--ranks", "2", "--epochs", "10"},
           {"--strategy", "vertex", "--ranks", "2", "--epochs", "2"},
           {"--strategy", "vertex", "--ranks", "2", "--epochs", "2", "--device", "sim", "--cluster", "p5-h100"},
           {"--strategy", "vertex", "--vary", "ranks=1,8,16", "--device", "sim", "--cluster", "p5-h100", "--epochs",
            "2"}}) {
    std::vector<std::string> all{"run",       "--workload", "mine.strobe:window=7d", "--model", "t-gcn",
                                 "--dry-run", "--json"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = strobe(all);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    for (std::sregex_iterator it(outcome.out.begin(), outcome.out.end(), id), end; it != end; ++it)
      found.insert(it->str());
  }
  EXPECT_EQ(shown, found) << "scripts/tutorial build/strobe --write";
}

}  // namespace
}  // namespace strobe::cli_test
