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
  /// The lines that a script of a shell prints, whose function completes the last of the words.
  std::set<std::string> lines_of(const std::string& shell, const std::string& script) {
    write_text(folder_ / "script", script);
    const Outcome outcome = finish(start({shell, path("script")}));
    EXPECT_EQ(outcome.err, "");
    std::set<std::string> result;
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
      if (!line.empty()) result.insert(line);
    return result;
  }
  void write_completion(const std::string& shell) {
    const Outcome script = strobe({"completion", shell});
    ASSERT_EQ(script.status, 0) << script.err;
    write_text(folder_ / "completion", script.out);
  }
  /// The words that bash offers to replace the end of the line, after the last blank, ':' and '='.
  std::set<std::string> completions(const std::string& line) {
    return lines_of("bash", "source '" + path("completion") + "'; strobe() { " + std::string(STROBE_BINARY) +
                                " \"$@\"; }\nCOMP_LINE='" + line +
                                "'; COMP_POINT=${#COMP_LINE}; _strobe; printf '%s\\n' \"${COMPREPLY[@]}\"");
  }
};

TEST_F(Manual, BashCompletesEveryCommandAndFlag) {
  write_completion("bash");
  const std::vector<std::string> names = commands();
  ASSERT_GE(names.size(), 10u);
  std::set<std::string> offered = completions("strobe ");
  for (const std::string& name : names) {
    EXPECT_EQ(offered.count(name), 1u) << name;
    const std::set<std::string> known = flags(name), complete = completions("strobe " + name + " --");
    EXPECT_FALSE(known.empty()) << name;
    for (const std::string& flag : known) EXPECT_EQ(complete.count(flag), 1u) << name << " " << flag;
  }
  EXPECT_EQ(completions("strobe comp"), (std::set<std::string>{"compare", "completion"}));
}

TEST_F(Manual, BashCompletesWhatOptionsTake) {
  write_completion("bash");
  for (const auto& [option, kind] : std::vector<std::pair<std::string, std::string>>{
           {"--strategy", "strategies"}, {"--model", "models"}, {"--task", "tasks"}, {"--cluster", "clusters"}}) {
    const Json entries = Json::parse(strobe({"list", kind, "--json"}).out).at("entries");
    const std::set<std::string> complete = completions("strobe run " + option + " ");
    for (const Json& entry : entries)
      EXPECT_EQ(complete.count(entry.at("name").get<std::string>()), 1u) << entry.at("name");
  }
  using Offered = std::set<std::string>;
  EXPECT_EQ(completions("strobe run --precision fp6"), Offered{"fp64"});
  EXPECT_EQ(completions("strobe run --precision=fp6"), Offered{"fp64"});
  EXPECT_EQ(completions("strobe list strat"), Offered{"strategies"});
  EXPECT_EQ(completions("strobe run --strategy sna"), (Offered{"snapshot", "snapshot_groups"}));
  EXPECT_EQ(completions("strobe run --strategy vertex:part"), Offered{"partitioner="});
  EXPECT_EQ(completions("strobe run --strategy vertex:partitioner=met"), Offered{"metis"});
  EXPECT_EQ(completions("strobe run --vary strategy=snapshot,vertex:partitioner=met"), Offered{"metis"});
  EXPECT_EQ(completions("strobe plan --strategy vertex:partitioner=metis,hybrid_b"), Offered{"metis,hybrid_batch"});
  EXPECT_EQ(completions("strobe plan --model t-gcn,jod"), Offered{"t-gcn,jodie"});
  EXPECT_EQ(completions("strobe run --set strategy.partitioner=hypergraph_"), Offered{"hypergraph_parallel"});
  EXPECT_EQ(completions("strobe run --vary ran"), Offered{"ranks="});
  EXPECT_EQ(completions("strobe plot phase_s"), Offered{"phase_split"});
  write_text(folder_ / "mine.csv", "source,target,time\n");
  EXPECT_EQ(completions("strobe run --out " + path("mine")), Offered{path("mine.csv")});
  expect_refusal(strobe({"completion", "tcsh"}), 2, {"bash", "zsh", "'tcsh'"});
}

TEST_F(Manual, FishCompletes) {
  if (std::system("command -v fish > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no fish";
  write_completion("fish");
  const auto offered = [&](const std::string& line) {
    return lines_of("fish", "function strobe; " + std::string(STROBE_BINARY) + " $argv; end\nsource '" +
                                path("completion") + "'\ncomplete -C '" + line + "'");
  };
  EXPECT_EQ(offered("strobe comp"), (std::set<std::string>{"compare", "completion"}));
  EXPECT_EQ(offered("strobe run --strategy vertex:partitioner=met"), std::set<std::string>{"vertex:partitioner=metis"});
  EXPECT_EQ(offered("strobe run --preci"), std::set<std::string>{"--precision"});
}

TEST_F(Manual, ZshCompletes) {
  if (std::system("command -v zsh > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no zsh";
  write_completion("zsh");
  const auto offered = [&](const std::string& words, int count) {  // compadd and _files are zsh's own; here they print
    return lines_of("zsh", "compdef() { }; compadd() { print -l -- \"$@\" }; _files() { print paths }\nstrobe() { " +
                               std::string(STROBE_BINARY) + " \"$@\" }\nsource '" + path("completion") + "'\nwords=(" +
                               words + "); CURRENT=" + std::to_string(count) + "; _strobe");
  };
  EXPECT_EQ(offered("strobe comp", 2), (std::set<std::string>{"--", "compare", "completion"}));
  EXPECT_EQ(offered("strobe run --strategy vertex:part", 4),
            (std::set<std::string>{"-S", "--", "vertex:partitioner="}));
  EXPECT_EQ(offered("strobe run --out ''", 4), (std::set<std::string>{"paths"}));
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
