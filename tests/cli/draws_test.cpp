// --draws on the command line: rows keep the draws, and run, show, compare and plan say in how many of them each case
// is first.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

class DrawsCommand : public Program {
 protected:
  Outcome predict(const std::string& out, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"run",
                                      "--workload",
                                      tiny,
                                      "--device",
                                      "sim",
                                      "--cluster",
                                      "p5-h100",
                                      "--ranks",
                                      "4",
                                      "--epochs",
                                      "2",
                                      "--vary",
                                      "strategy=snapshot,vertex",
                                      "--draws",
                                      "30",
                                      "--out",
                                      out};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
  Json rows(const std::string& out) { return read_json(folder_ / out / "summary.json").at("rows"); }
};

TEST_F(DrawsCommand, RowsKeepThemAndTheAnswerCountsThem) {
  const Outcome ran = predict("run");
  ASSERT_EQ(ran.status, 0) << ran.err;
  const Json both = rows("run");
  ASSERT_EQ(both.size(), 2u);
  const Json a = both[0].at("time_draws"), b = both[1].at("time_draws");
  ASSERT_EQ(a.at("epoch_seconds").size(), 30u);
  EXPECT_EQ(a.at("of"), b.at("of"));
  EXPECT_EQ(both[0].at("settings").at("draws"), 30);
  int first = 0;
  for (std::size_t d = 0; d < 30; ++d)
    if (a.at("epoch_seconds")[d].get<double>() < b.at("epoch_seconds")[d].get<double>()) ++first;
  const std::string most = std::to_string(std::max(first, 30 - first));
  const std::string says = "is first in " + most + " of 30 draws of the cluster's uncertain constants";
  EXPECT_NE(ran.out.find(says), std::string::npos) << ran.out;
  EXPECT_EQ(strobe({"show", "run"}).out, ran.out);
  const Outcome compared = strobe({"compare", "run", "--by", "strategy", "--json"});
  ASSERT_EQ(compared.status, 0) << compared.err;
  const Json question = Json::parse(compared.out).at("questions")[0];
  EXPECT_EQ(question.at("draws"), 30);
  double sum = 0;
  for (const Json& one : question.at("contenders")) sum += one.at("draws_first").get<double>();
  EXPECT_DOUBLE_EQ(sum, 30);
  EXPECT_EQ(strobe({"verify", "run"}).status, 0);
}

TEST_F(DrawsCommand, AResumedRunHasTheDrawsOfAWholeOne) {
  ASSERT_EQ(predict("whole").status, 0);
  ASSERT_EQ(predict("part", {"--filter", "snapshot"}).status, 0);
  ASSERT_EQ(predict("cut").status, 0);
  Json summary = read_json(folder_ / "cut/summary.json");
  summary.at("rows").erase(1);  // as if the second case had never finished
  write_text(folder_ / "cut/summary.json", summary.dump());
  ASSERT_EQ(strobe({"run", "--resume", "cut"}).status, 0);
  EXPECT_EQ(rows("cut")[0].at("time_draws"), rows("whole")[0].at("time_draws"));
  EXPECT_EQ(rows("cut")[1].at("time_draws"), rows("whole")[1].at("time_draws"));
  EXPECT_EQ(rows("part")[0].at("time_draws"), rows("whole")[0].at("time_draws")) << "draws are of no other case";
}

TEST_F(DrawsCommand, TimesToAMetricHaveDrawsOfTheWholeTraining) {
  const Outcome ran = predict("until", {"--set", "numerics=cpu", "--until", "loss=0.1", "--set", "warmup=0"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  for (const Json& row : rows("until")) {
    const Json& draws = row.at("time_draws");
    ASSERT_EQ(draws.at("until_seconds").size(), 30u);
    const double epochs = row.at("loss").size();
    const double described = row.at("until_seconds").get<double>() / row.at("epoch_seconds").at("median").get<double>();
    EXPECT_NEAR(described, epochs, 0.5 * epochs);
    for (std::size_t d = 0; d < 30; ++d)
      EXPECT_NEAR(draws.at("until_seconds")[d].get<double>() / draws.at("epoch_seconds")[d].get<double>(), epochs,
                  0.5 * epochs);
  }
}

TEST_F(DrawsCommand, APlanCountsThemAtEachPlace) {
  const Outcome planned = strobe({"plan", "--workload", tiny, "--clusters", "p5-h100", "--nodes", "1", "--strategy",
                                  "snapshot,vertex:partitioner=hash", "--draws", "20", "--json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  bool counted = false;
  const Json json = Json::parse(planned.out);
  for (const Json& question : json.at("answers").at("questions")) {
    if (question.at("contenders").size() < 2) continue;
    counted = true;
    EXPECT_EQ(question.at("draws"), 20);
    double sum = 0;
    for (const Json& one : question.at("contenders")) sum += one.at("draws_first").get<double>();
    EXPECT_DOUBLE_EQ(sum, 20);
  }
  EXPECT_TRUE(counted);
}

TEST_F(DrawsCommand, AMeasuringDeviceRefusesThem) {
  expect_refusal(strobe({"run", "--workload", tiny, "--draws", "5"}), 2, {"--draws", "--device sim"});
  expect_refusal(strobe({"run", "--workload", tiny, "--draws", "five"}), 2, {"--draws"});
}

TEST_F(DrawsCommand, ADeviceThatFollowsInASetTakesThem) {
  const Outcome ran = strobe({"run", "--workload", tiny, "--draws", "5", "--set", "device=sim", "--set",
                              "cluster=p5-h100", "--epochs", "2", "--out", "set"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(rows("set")[0].at("time_draws").at("epoch_seconds").size(), 5u);
}

TEST_F(DrawsCommand, PassOverTheMeasuredCasesOfASuite) {
  const Json measured = {{"workload", "chess"}};
  const Json predicted = {{"workload", "chess"}, {"device", "sim"}, {"cluster", "p5-h100"}};
  write_text(folder_ / "both.json", Json{{"cases", {measured, predicted}}}.dump());
  const Outcome ran = strobe({"run", "both.json", "--epochs", "2", "--draws", "5", "--out", "both"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.err.find("1 case is measured and without draws"), std::string::npos) << ran.err;
  const Json both = rows("both");
  EXPECT_FALSE(both[0].at("settings").contains("draws"));
  EXPECT_TRUE(both[0].at("time_draws").is_null());
  EXPECT_EQ(both[1].at("time_draws").at("epoch_seconds").size(), 5u);
  expect_refusal(strobe({"run", "both.json", "--draws", "5", "--filter", "-sim"}), 2,
                 {"--draws", "device cpu measures"});
  write_text(folder_ / "wrong.json", R"({"cases": [{"workload": "chess", "draws": 5}]})");
  expect_refusal(strobe({"run", "wrong.json"}), 2, {"/cases/0/draws", "--device sim"});
}

}  // namespace
}  // namespace strobe::cli_test
