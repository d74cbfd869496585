// What --help says: how the command is called, headings, and what kind of value an option takes.
#include <set>
#include <sstream>

#include "harness/cli/command.hpp"
#include "tests/cli/program.hpp"

namespace strobe {
namespace {

using cli_test::Outcome;
using cli_test::Program;

class Help : public Program {};

TEST_F(Help, RunHasHeadingsExamplesAndNoOptionWithoutThem) {
  const Outcome outcome = strobe({"run", "--help"});
  ASSERT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("Usage: strobe run"), std::string::npos) << outcome.out;
  std::vector<std::string> headings;
  std::istringstream lines(outcome.out);
  std::set<std::string> under_options;
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > 1 && line.back() == ':' && line.front() != ' ') headings.push_back(line);
    const std::size_t flag = line.find("--");
    if (!headings.empty() && headings.back() == "Options:" && flag != std::string::npos && flag < 8)
      under_options.insert(line.substr(flag, line.find_first_of(" ,", flag) - flag));
  }
  for (const char* heading : {"What is trained:", "Where it runs:", "How data and memory are handled:",
                              "Several cases:", "The run and its directory:", "Files of one case:"})
    EXPECT_NE(std::find(headings.begin(), headings.end(), heading), headings.end()) << heading << "\n" << outcome.out;
  EXPECT_EQ(under_options, (std::set<std::string>{"--help"})) << "an option without a heading";
  EXPECT_EQ(outcome.out.find("TEXT"), std::string::npos) << "an option that does not say what it takes";
  for (const char* word : {"--device sim --cluster", "--trace", "seed=1..5", "KEY=VALUES", "fp32|fp64", "DIR"})
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
}

TEST_F(Help, EveryCommandSaysHowItIsCalled) {
  for (const std::string& name : CommandRegistry::instance().names()) {
    const Outcome outcome = strobe({name, "--help"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("Usage: strobe " + name), std::string::npos) << outcome.out;
  }
}

}  // namespace
}  // namespace strobe
