// The manual page and the completions of shells come from the definitions of options, and agree with --help.
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class Manual : public Program {
 protected:
  std::vector<std::string> commands() {
    std::vector<std::string> names;
    std::istringstream lines(strobe({"--help"}).out);
    bool listed = false;
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (listed && std::regex_search(line, match, std::regex("^  ([a-z]+)\\s"))) names.push_back(match[1]);
      if (line.rfind("Subcommands:", 0) == 0) listed = true;
    }
    return names;
  }
  /// Flags of a command as its help shows them.
  std::set<std::string> flags(const std::string& command) {
    std::set<std::string> found;
    std::istringstream lines(strobe({command, "--help"}).out);
    const std::regex beginning("^  (-[-a-z,{}]+)"), flag("--[a-z][-a-z]*");
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (!std::regex_search(line, match, beginning)) continue;
      const std::string names = match[1];
      for (std::sregex_iterator it(names.begin(), names.end(), flag), end; it != end; ++it) found.insert(it->str());
    }
    return found;
  }
  /// The completions that bash offers while the last of the words is being typed.
  std::set<std::string> completions(const std::vector<std::string>& words) {
    std::string script = "source '" + path("completion") + "'; COMP_WORDS=(";
    for (const std::string& word : words) script += "'" + word + "' ";
    script += "); COMP_CWORD=" + std::to_string(words.size() - 1) + "; _strobe; printf '%s\\n' \"${COMPREPLY[@]}\"";
    write_text(folder_ / "script", script);
    const Outcome outcome = finish(start({"bash", path("script")}));
    EXPECT_EQ(outcome.err, "");
    std::set<std::string> result;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) result.insert(line);
    return result;
  }
};

TEST_F(Manual, BashCompletesEveryCommandAndFlag) {
  const Outcome script = strobe({"completion", "bash"});
  ASSERT_EQ(script.status, 0) << script.err;
  write_text(folder_ / "completion", script.out);
  const std::vector<std::string> names = commands();
  ASSERT_GE(names.size(), 10u);
  std::set<std::string> offered = completions({"strobe", ""});
  for (const std::string& name : names) {
    EXPECT_EQ(offered.count(name), 1u) << name;
    const std::set<std::string> known = flags(name), complete = completions({"strobe", name, "--"});
    EXPECT_FALSE(known.empty()) << name;
    for (const std::string& flag : known) EXPECT_EQ(complete.count(flag), 1u) << name << " " << flag;
  }
  EXPECT_EQ(completions({"strobe", "comp"}), (std::set<std::string>{"compare", "completion"}));
}

TEST_F(Manual, BashCompletesWhatOptionsTake) {
  write_text(folder_ / "completion", strobe({"completion", "bash"}).out);
  for (const auto& [option, kind] : std::vector<std::pair<std::string, std::string>>{
           {"--strategy", "strategies"}, {"--model", "models"}, {"--task", "tasks"}, {"--cluster", "clusters"}}) {
    const Json entries = Json::parse(strobe({"list", kind, "--json"}).out).at("entries");
    const std::set<std::string> complete = completions({"strobe", "run", option, ""});
    for (const Json& entry : entries)
      EXPECT_EQ(complete.count(entry.at("name").get<std::string>()), 1u) << entry.at("name");
  }
  EXPECT_EQ(completions({"strobe", "run", "--precision", "fp6"}), (std::set<std::string>{"fp64"}));
  EXPECT_EQ(completions({"strobe", "list", "strat"}), (std::set<std::string>{"strategies"}));
  write_text(folder_ / "mine.csv", "source,target,time\n");
  EXPECT_EQ(completions({"strobe", "run", "--out", path("mine")}), (std::set<std::string>{path("mine.csv")}));
  expect_refusal(strobe({"completion", "tcsh"}), 2, {"bash", "'tcsh'"});
}

TEST_F(Manual, ThePageHasEveryCommandFlagAndVariable) {
  const Outcome page = strobe({"man"});
  ASSERT_EQ(page.status, 0) << page.err;
  std::string text = page.out;  // as it reads: hyphens without their escapes
  for (std::size_t at = 0; (at = text.find("\\-", at)) != std::string::npos;) text.erase(at, 1);
  for (const std::string& name : commands()) {
    EXPECT_NE(text.find(".SS strobe " + name + " "), std::string::npos) << name;
    const std::size_t begin = text.find(".SS strobe " + name + " "), end = text.find("\n.SS ", begin);
    for (const std::string& flag : flags(name))
      EXPECT_NE(text.substr(begin, end - begin).find(flag), std::string::npos) << name << " " << flag;
  }
  // Variables that the source reads.
  const std::regex reads("getenv\\(\"(STROBE_[A-Z_]+)\"|\"(STROBE_(?:CACHE|CACHE_DIR|DATA_DIR|KEPT_PLANS_GIB))\"");
  std::set<std::string> variables;
  for (const char* folder : {"core", "backends/sim", "workloads", "harness"}) {
    for (const auto& item :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(STROBE_SOURCE_DIR) / folder)) {
      if (item.path().extension() != ".cpp" || item.path().filename() == "manual.cpp") continue;
      const std::string source = read_text(item.path());
      for (std::sregex_iterator it(source.begin(), source.end(), reads), end; it != end; ++it)
        variables.insert((*it)[1].matched ? (*it)[1].str() : (*it)[2].str());
    }
  }
  EXPECT_GE(variables.size(), 5u);
  for (const std::string& variable : variables)
    EXPECT_NE(text.find(".B " + variable + "\n"), std::string::npos) << variable;
}

TEST_F(Manual, ThePageIsTroffWithoutWarnings) {
  if (std::system("command -v groff > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no groff";
  write_text(folder_ / "strobe.1", strobe({"man"}).out);
  const Outcome outcome = finish(start({"groff", "-man", "-Tascii", "-P-cbu", "-ww", path("strobe.1")}));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* words : {"EXIT STATUS", "SYNOPSIS", "--strategy", "ENVIRONMENT"})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words;
}

}  // namespace
}  // namespace strobe::cli_test
