// The text of --help: the usage of the command, headings, and the kind of value that an option takes.
#include <array>
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

/// The word after a flag in the help of a command.
std::string word_behind(const std::string& help, const std::string& flag) {
  const std::size_t at = help.find("  " + flag + " ");
  if (at == std::string::npos) return "no such flag";
  const std::size_t word = help.find_first_not_of(' ', at + 2 + flag.size());
  return help.substr(word, help.find_first_of(" \n", word) - word);
}

TEST_F(Help, ValuesAreOfTheirKind) {
  const std::vector<std::array<std::string, 3>> expected = {{"run", "--nb", "N|auto"},
                                                            {"run", "--until", "METRIC=X"},
                                                            {"run", "--load-model", "FILE"},
                                                            {"run", "--cluster", "NAME|FILE"},
                                                            {"run", "--precision", "fp32|fp64"},
                                                            {"run", "--seed", "N"},
                                                            {"inspect", "--window", "TIME|N"},
                                                            {"inspect", "--steps", "A:B"},
                                                            {"inspect", "--figure", "FILE"},
                                                            {"compare", "--threshold", "X"},
                                                            {"compare", "--filter", "EXPR"},
                                                            {"compare", "--out", "DIR"},
                                                            {"validate", "--cluster", "NAME|FILE"},
                                                            {"validate", "--set", "KEY=VALUE"},
                                                            {"calibrate", "--out", "FILE"},
                                                            {"calibrate", "--chunk-count", "N"},
                                                            {"convert", "--ids", "auto|shared|offset"},
                                                            {"trace", "--most", "N"},
                                                            {"plan", "--model", "NAME"},
                                                            {"plan", "--deadline", "TIME"},
                                                            {"report", "--out", "FILE"}};
  for (const auto& [command, flag, word] : expected)
    EXPECT_EQ(word_behind(strobe({command, "--help"}).out, flag), word) << command << " " << flag;
}

TEST_F(Help, EveryCommandSaysHowItIsCalled) {
  for (const std::string& name : CommandRegistry::instance().names()) {
    const Outcome outcome = strobe({name, "--help"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("Usage: strobe " + name), std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.find("TEXT"), std::string::npos) << "an option that does not say what it takes";
  }
}

}  // namespace
}  // namespace strobe
