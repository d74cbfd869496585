// Suites that come with Strobe, by name.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class BundledSuites : public Program {
 protected:
  /// The hash of the plan of `strobe run SUITE`, which identifies its cases.
  std::string planned(const std::string& suite) {
    const Outcome outcome = strobe({"run", suite, "--dry-run", "--json"});
    EXPECT_EQ(outcome.status, 0) << suite << ": " << outcome.err;
    return outcome.status == 0 ? Json::parse(outcome.out).at("plan_hash").get<std::string>() : "no plan of " + suite;
  }
};

TEST_F(BundledSuites, TheListIsTheFolder) {
  const Outcome outcome = strobe({"list", "suites", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::vector<std::string> listed, present;
  const Json list = Json::parse(outcome.out);
  for (const Json& entry : list.at("entries")) {
    listed.push_back(entry.at("name"));
    EXPECT_TRUE(fs::is_regular_file(fs::path(STROBE_SOURCE_DIR) / entry.at("file").get<std::string>())) << entry;
    EXPECT_GT(entry.at("description").get<std::string>().size(), 20u) << entry.at("name");
  }
  const fs::path folder = fs::path(STROBE_SOURCE_DIR) / "suites";
  for (const auto& item : fs::recursive_directory_iterator(folder))
    if (item.path().extension() == ".json")
      present.push_back(fs::relative(item.path(), folder).replace_extension().generic_string());
  std::sort(present.begin(), present.end());
  EXPECT_EQ(listed, present);
  const std::string text = strobe({"list", "suites"}).out;
  for (const std::string& name : listed) EXPECT_NE(text.find(name + "\n"), std::string::npos) << name;
}

TEST_F(BundledSuites, ANameRunsWhatTheFileRuns) {
  for (const std::string name : {"smoke", "quickstart", "dynahb/layers"})
    EXPECT_EQ(planned(name), planned(STROBE_SOURCE_DIR "/suites/" + name + ".json")) << name;
}

TEST_F(BundledSuites, TheTasteRefusesATargetThatARuleReaches) {
  EXPECT_EQ(strobe({"run", "comparison/taste", "--dry-run"}).status, 0);
  expect_refusal(strobe({"run", "comparison/taste", "--dry-run", "--until", "mrr=0.1"}), 2,
                 {"asks for no learning", "recency", "mrr 0.1033"});
}

TEST_F(BundledSuites, AFileOfThatNameHereWinsAndAFolderDoesNot) {
  fs::create_directory(folder_ / "smoke");
  expect_refusal(strobe({"run", "smoke", "--dry-run"}), 2, {"folder", "--resume smoke"});
  fs::remove(folder_ / "smoke");
  write_text(folder_ / "smoke", R"({"cases": [{"workload": {"name": "uniform", "steps": 4, "vertices": 30}}]})");
  EXPECT_NE(planned("smoke"), planned(STROBE_SOURCE_DIR "/suites/smoke.json"));
}

TEST_F(BundledSuites, ARefusedNameSuggestsTheNearest) {
  expect_refusal(strobe({"run", "quikstart"}), 2, {"quikstart", "did you mean 'quickstart'", "strobe list suites"});
  expect_refusal(strobe({"run", "suites/dgc/fusoin.json"}), 2, {"did you mean 'dgc/fusion'"});
  expect_refusal(strobe({"run", "zzzzzzzzzzzz"}), 2, {"zzzzzzzzzzzz", "strobe list suites"});
  expect_refusal(strobe({"validate", "validat", "--cluster", "aimos-v100"}), 2, {"did you mean 'validate'"});
  expect_refusal(strobe({"calibrate", "calibrate-quik"}), 2, {"did you mean 'calibrate-quick'"});
  expect_refusal(strobe({"run"}), 2, {"strobe list suites"});
}

/// Without a named suite, a command runs its own default suite, even when the folder has a file of that name.
TEST_F(BundledSuites, ADefaultIsNotTakenFromTheFolder) {
  write_text(folder_ / "validate", "no suite");
  write_text(folder_ / "self-check", "no suite");
  const Outcome outcome = strobe({"validate", "--cluster", "aimos-v100", "--filter", "no-such-case"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("no-such-case"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace strobe::cli_test
