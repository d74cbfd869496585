// `strobe plan` reports the settings that it searches, and accepts any combination of them.
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class PlanSettings : public Program {
 protected:
  /// A plan of one GPU in one and two blocks, without other settings.
  Outcome more(const std::vector<std::string>& flags) {
    std::vector<std::string> words = {"plan", "--workload", tiny,     "--clusters", "p5-h100",   "--nodes",
                                      "1",    "--vary",     "nb=1,2", "--strategy", "sequential"};
    for (const char* given : {"inputs=streamed", "transfer=direct", "overlap=1"})
      words.insert(words.end(), {"--set", given});
    words.insert(words.end(), flags.begin(), flags.end());
    return strobe(words);
  }
};

TEST_F(PlanSettings, InputsAreSearchedAndTheReportSaysWhatOfAllCombinationsItIs) {
  const auto plan_of = [this](std::vector<std::string> more) {
    std::vector<std::string> words = {"plan", "--workload", "aml-sim",      "--clusters", "p5-h100", "--nodes",
                                      "2",    "--strategy", "snapshot,pss", "--vary",     "nb=1"};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  };
  const Json some = Json::parse(plan_of({"--json"}).out), all = Json::parse(plan_of({"--json", "--exhaustive"}).out);
  EXPECT_EQ(some.at("best"), all.at("best"));
  EXPECT_EQ(some.at("points")[0].at("choices").at("inputs"), "resident");
  EXPECT_EQ(some.at("points")[0].at("case").at("inputs"), "resident");
  EXPECT_EQ(all.at("search").at("left_out"), 0);
  EXPECT_EQ(all.at("search").at("exhaustive"), true);
  for (const Json* json : {&some, &all}) {
    const Json& search = json->at("search");
    EXPECT_EQ(search.at("settings"), Json::parse(R"({"inputs": ["streamed", "resident"],
                                                     "transfer": ["direct", "full", "difference"]})"));
    const std::int64_t points = static_cast<std::int64_t>(json->at("points").size());
    EXPECT_EQ(search.at("combinations").get<std::int64_t>(), points + search.at("cannot_combine").get<std::int64_t>() +
                                                                 search.at("without_effect").get<std::int64_t>() +
                                                                 search.at("left_out").get<std::int64_t>());
    bool streamed = false;  // the effect of streamed inputs on the best point is reported
    for (const Json& choice : json->at("other_choices")) streamed |= choice.at("value") == "streamed";
    EXPECT_TRUE(streamed) << json->at("other_choices");
  }
  const std::string text = plan_of({}).out;
  EXPECT_NE(text.find("settings tried: inputs=streamed|resident"), std::string::npos) << text;
  const Outcome explained = plan_of({"--explain", "p5-h100/2x8/snapshot/nb=1/transfer=full"});
  EXPECT_EQ(explained.status, 0) << explained.err;
  EXPECT_NE(explained.out.find("\"transfer\":\"full\""), std::string::npos) << explained.out;
  const Outcome refused = plan_of({"--set", "inputs=resident", "--vary", "transfer=direct,full"});
  EXPECT_EQ(refused.status, 0) << refused.err;
  EXPECT_NE(refused.out.find("cannot_combine"), std::string::npos) << refused.out;
}

TEST_F(PlanSettings, PointsThatBandsDoNotTellApartAreEqual) {
  const Json json = Json::parse(more({"--json"}).out);
  ASSERT_EQ(json.at("points").size(), 2u);
  const Json &best = json.at("points")[0], &other = json.at("points")[1];
  const double high = best.at("epoch_seconds_band90").at("high"), low = other.at("epoch_seconds_band90").at("low");
  EXPECT_EQ(other.at("equal_to_best"), low <= high) << "the other is slower, so its lower end decides";
  const std::string text = more({}).out;
  EXPECT_EQ(text.find("equal to the best one in time") != std::string::npos, low <= high) << text;
  EXPECT_NE(text.find("a job is the epochs alone"), std::string::npos) << text;
}

TEST_F(PlanSettings, OnePointIsExplained) {
  const Json json = Json::parse(more({"--json"}).out);
  const Json &best = json.at("points")[0], &other = json.at("points")[1];
  const std::string id = other.at("id");
  const Outcome explained = more({"--explain", id});
  ASSERT_EQ(explained.status, 0) << explained.err;
  EXPECT_EQ(explained.out.rfind(id + "\n", 0), 0u) << explained.out;
  for (const std::string& part :
       {"compared with " + best.at("id").get<std::string>(), std::string("compute"), std::string("memory/GPU"),
        std::string("90 % bands"), std::string("as a case of a suite")})
    EXPECT_NE(explained.out.find(part), std::string::npos) << part << "\n" << explained.out;
  EXPECT_NE(more({"--explain", id, "--start-up", "500s"}).out.find("500 s .. 500 s and 500 s .. 500 s: they "),
            std::string::npos)
      << "start-up is not in doubt";
  expect_refusal(more({"--explain", "sequential"}), 2, {"--explain", "2 points have 'sequential'"});
  expect_refusal(more({"--explain", "nothing"}), 2, {"--explain", "no point of this plan"});
}

}  // namespace
}  // namespace strobe::cli_test
