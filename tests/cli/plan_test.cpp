// `strobe plan`: its output and refusals, for graphs, files and shapes. Also runs of shapes.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "tests/cli/program.hpp"

namespace strobe::cli_test {
namespace {

namespace fs = std::filesystem;

class Plan : public Program {
 protected:
  Outcome plan(std::vector<std::string> arguments) {
    std::vector<std::string> words = {"plan",    "--workload", tiny,     "--clusters", "aimos-v100",
                                      "--nodes", "1,2",        "--vary", "nb=1"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return strobe(words);
  }
  Json facts(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const Outcome outcome = plan(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return Json::parse(outcome.out.empty() ? "{}" : outcome.out);
  }
};

TEST_F(Plan, EveryKeyOfTheJsonIsDocumentedAndEveryDocumentedKeyIsThere) {
  const Json json = facts({"--clusters", "g4dn-t4", "--budget", "500usd", "--deadline", "2h"});
  const std::string guide = read_text(fs::path(STROBE_SOURCE_DIR) / "docs" / "reference" / "plan_json.md");
  std::set<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.insert(key);
  for (const auto& [key, value] : json.at("points")[0].items()) keys.insert(key);
  for (const std::string& key : keys) EXPECT_NE(guide.find("`" + key + "`"), std::string::npos) << key;
  for (const char* key : {"best", "points", "counts", "scaling", "notes", "schema_version", "deadline_seconds"})
    EXPECT_TRUE(json.contains(key)) << key;
  EXPECT_EQ(json.at("deadline_seconds"), 7200.0);
  EXPECT_EQ(json.at("budget"), 500.0);
}

TEST_F(Plan, RanksBeyondEverySourceAreNamed) {
  const auto noted = [this](const std::string& cluster) {
    const Outcome outcome = strobe(
        {"plan", "--workload", tiny, "--clusters", cluster, "--nodes", "2", "--vary", "nb=1", "--strategy", "vertex"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const bool named = outcome.out.find("extrapolated beyond ") != std::string::npos;
    EXPECT_EQ(outcome.out.find("uncalibrated, extrapolated") != std::string::npos, named) << outcome.out;
    return named;
  };
  EXPECT_FALSE(noted("dynahb-2080ti"));
  EXPECT_TRUE(noted("dynahb-2080ti:covered_ranks=1"));
}

TEST_F(Plan, CountsAddUpAndTheBestIsKept) {
  const Json json = facts({});
  std::size_t total = 0;
  for (const auto& [cause, count] : json.at("counts").items()) total += count.get<std::size_t>();
  EXPECT_EQ(total, json.at("points").size());
  EXPECT_EQ(json.at("points")[0].at("id"), json.at("best"));
  EXPECT_EQ(json.at("points")[0].at("verdict"), "kept");
  for (const Json& point : json.at("points")) {
    EXPECT_EQ(point.at("verdict") == "discarded", point.at("cause").is_string()) << point.dump();
    if (point.at("cause") == "dominated") {
      EXPECT_TRUE(point.at("dominated_by").is_string());
    }
    if (point.at("status") == "ok") {
      EXPECT_NEAR(point.at("job_seconds").get<double>(), 100 * point.at("epoch_seconds").get<double>(), 1e-9);
    }
  }
  EXPECT_FALSE(json.at("scaling").at("points").empty());
}

TEST_F(Plan, SaysHowFarItIsTenTimesHoweverFewPointsThereAre) {
  const Outcome outcome = plan({});
  const std::size_t first = outcome.err.find("simulating ");
  ASSERT_NE(first, std::string::npos) << outcome.err;
  const int points = std::stoi(outcome.err.substr(first + 11));
  ASSERT_GE(points, 10);
  const int tenth = points / 10;
  for (const int done : {tenth, 5 * tenth, points})
    EXPECT_NE(outcome.err.find(std::to_string(done) + " of " + std::to_string(points) + " points"), std::string::npos)
        << outcome.err;
}

TEST_F(Plan, TheSameWordsGiveTheSameBytesWhateverTheThreads) {
  const Outcome one = plan({"--json", "--threads", "1"}), two = plan({"--json", "--threads", "2"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.out, two.out);
}

TEST_F(Plan, TextShowsTheFrontTheDiscardsAndWhyItStops) {
  const Outcome outcome = plan({});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  for (const char* words : {"best", "uncalibrated", "discarded", "dominated", "cannot_divide",
                            "why the best point stops scaling", "efficiency", "job is 100 epochs"})
    EXPECT_NE(outcome.out.find(words), std::string::npos) << words << "\n" << outcome.out;
}

TEST_F(Plan, StartUpAndBillingUnitsAreCostsAndABudgetPaysForEpochs) {
  std::vector<std::string> words{"--clusters", "g4dn-t4", "--budget", "50usd", "--strategy", "snapshot,vertex,chunk"};
  const Json plain = facts(words);
  words.insert(words.end(), {"--start-up", "90s", "--billing-unit", "1h"});
  const Json more = facts(words);
  std::map<std::string, Json> by_id;
  for (const Json& point : plain.at("points")) by_id[point.at("id")] = point;
  std::size_t priced = 0;
  for (const Json& point : more.at("points")) {
    if (point.at("status") != "ok" || !by_id.contains(point.at("id"))) continue;  // costs decide which are varied
    const Json& before = by_id.at(point.at("id"));
    const double job = before.at("job_seconds").get<double>() + 90, epoch = before.at("epoch_seconds");
    EXPECT_NEAR(point.at("job_seconds").get<double>(), job, 1e-9);
    EXPECT_NEAR(point.at("billed_seconds").get<double>(), 3600 * std::ceil(job / 3600), 1e-9);
    if (point.at("dollars").is_null()) continue;
    ++priced;
    const double rate = before.at("dollars").get<double>() / before.at("job_seconds").get<double>();
    EXPECT_NEAR(point.at("dollars").get<double>() / (rate * 3600 * std::ceil(job / 3600)), 1, 1e-9);
    const double hours = std::floor(50 / (3600 * rate));  // whole hours that the budget pays for
    EXPECT_NEAR(point.at("epochs_for_budget").get<double>(), std::max(0.0, std::floor((3600 * hours - 90) / epoch)), 1);
  }
  EXPECT_GT(priced, 0u);
  for (const auto& [flag, value] : {std::pair{"--start-up", "soon"}, {"--billing-unit", "-1s"}})
    expect_refusal(plan({flag, value}), 2, {flag});
}

TEST_F(Plan, AnEpochIsShownWithItsBandWhereTheClusterHasOne) {
  const std::vector<std::string> words = {"plan",    "--workload", tiny,     "--clusters", "p5-h100",
                                          "--nodes", "1",          "--vary", "nb=1"};
  const Outcome text = strobe(words);
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("uncalibrated, 90 % in "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("90 % band: measured over predicted"), std::string::npos) << text.out;
  std::vector<std::string> as_json = words;
  as_json.push_back("--json");
  const Json json = Json::parse(strobe(as_json).out);
  std::size_t of_one = 0, of_more = 0;
  for (const Json& point : json.at("points")) {
    if (point.at("status") != "ok") continue;
    const Json& band = point.at("epoch_seconds_band90");
    if (point.at("ranks") != 1) {
      EXPECT_TRUE(band.is_null()) << "no epoch on several GPUs was measured: " << point.at("id");
      ++of_more;
      continue;
    }
    const double epoch = point.at("epoch_seconds");
    EXPECT_NEAR(band.at("low"), 0.94 * epoch, 1e-9 * epoch);
    EXPECT_NEAR(band.at("high"), 1.91 * epoch, 1e-9 * epoch);
    ++of_one;
  }
  EXPECT_GE(of_one, 1u);
  EXPECT_GT(of_more, 3u);
  EXPECT_NE(json.at("notes").dump().find("no 90 % band: the band of p5-h100 is of measurements on at most 1 rank"),
            std::string::npos)
      << json.at("notes");
  as_json[4] = "p5-h100:nodes=4";
  EXPECT_EQ(strobe(as_json).out.find("\"low\""), std::string::npos) << "a changed cluster was not measured";
  EXPECT_EQ(plan({"--strategy", "snapshot"}).out.find("90 % "), std::string::npos) << "aimos-v100 has none";
}

TEST_F(Plan, ACommaBeginsANameOrGoesOnWithParameters) {
  const Json json = facts({"--strategy", "snapshot,vertex:partitioner=hash,pss"});
  std::set<std::string> ids;
  for (const Json& point : json.at("points")) ids.insert(point.at("id").get<std::string>());
  for (const char* strategy : {"snapshot/nb=1", "vertex/partitioner=hash/nb=1", "pss/nb=1"})
    EXPECT_EQ(ids.count(std::string("aimos-v100/1x2/") + strategy), 1u) << strategy;
  const Json two = facts({"--strategy", "snapshot", "--clusters", "aimos-v100:nodes=4,gpus_per_node=2,g4dn-t4"});
  std::set<std::string> clusters;
  for (const Json& point : two.at("points")) clusters.insert(point.at("cluster").get<std::string>());
  EXPECT_EQ(clusters.count("aimos-v100:nodes=4,gpus_per_node=2") + clusters.count("g4dn-t4"), 2u);
}

TEST_F(Plan, MoreNodesThanAClusterCanHaveAreDiscardedWithTheReason) {
  const Json json = facts({"--clusters", "dynahb-a6000", "--strategy", "vertex:partitioner=hash"});
  std::size_t discarded = 0;
  for (const Json& point : json.at("points")) {
    if (point.at("cluster") != "dynahb-a6000") continue;
    EXPECT_EQ(point.at("status").get<std::string>(), point.at("nodes") == 1 ? "ok" : "cannot_extend") << point;
    if (point.at("nodes") == 1) continue;
    ++discarded;
    EXPECT_NE(point.at("reason").get<std::string>().find("inter_node_bytes_per_second"), std::string::npos) << point;
  }
  EXPECT_GT(discarded, 0u);
  const Outcome alone =
      strobe({"plan", "--workload", tiny, "--clusters", "dynahb-a6000", "--strategy", "vertex", "--vary", "nb=1"});
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_NE(alone.out.find("cannot_extend"), std::string::npos) << "the study of scaling:\n" << alone.out;
}

TEST_F(Plan, AnUnsoldClusterIsNoAnswerToABudget) {
  expect_refusal(plan({"--budget", "10usd"}), 2, {"--budget", "none of these clusters has a price"});
}

TEST_F(Plan, AFileIsAWorkload) {
  ASSERT_EQ(strobe({"convert", "ucsocial", "events.csv"}).status, 0);
  const Outcome outcome = strobe({"plan", "--workload", "events.csv", "--model", "cd-gcn", "--clusters", "aimos-v100",
                                  "--nodes", "1", "--vary", "nb=1", "--strategy", "snapshot,sequential"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("snapshot"), std::string::npos) << outcome.out;
}

TEST_F(Plan, AShapeIsAWorkloadAndItsAssumptionsAreNamed) {
  const Outcome outcome = strobe({"plan", "--workload", "amazon", "--model", "tm-gcn", "--clusters", "aimos-v100",
                                  "--nodes", "2,4", "--vary", "nb=1", "--strategy", "snapshot,vertex"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\nnotes\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("vertices of shape amazon"), std::string::npos) << outcome.out;
}

TEST_F(Plan, DrawsItsFigure) {
  const Outcome outcome = plan({"--figure", "front.png"});
  if (outcome.status == 5) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GT(fs::file_size(path("front.png")), 10000u);
  EXPECT_GT(fs::file_size(path("front.svg")), 10000u);
}

/// One machine with a price in dollars, and a copy of it with a price in yen.
class Currencies : public Plan {
 protected:
  void SetUp() override {
    Json file = read_json(fs::path(STROBE_SOURCE_DIR) / "backends" / "clusters" / "p3dn-v100.json");
    for (const auto& [name, price, currency] : {std::tuple{"dollars", 31.212, "usd"}, {"yen", 4800.0, "JPY"}}) {
      file["name"] = name;
      file["price_per_node_hour"]["value"] = price;
      file["price_per_node_hour"]["currency"] = currency;
      write_text(path(std::string(name) + ".json"), file.dump());
    }
  }
  Outcome both(std::vector<std::string> more, const std::string& clusters = "dollars.json,yen.json") {
    std::vector<std::string> words = {"plan",       "--workload", "amazon",  "--model", "tm-gcn",
                                      "--clusters", clusters,     "--nodes", "1,2",     "--strategy",
                                      "snapshot",   "--vary",     "nb=1"};
    words.insert(words.end(), more.begin(), more.end());
    return strobe(words);
  }
};

TEST_F(Currencies, DoNotCompare) {
  const Outcome outcome = both({"--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  std::map<std::string, std::set<std::string>> kept;  // the points on the front, by currency
  for (const Json& point : json.at("points")) {
    if (point.at("status") != "ok") continue;
    const std::string id = point.at("id").get<std::string>();
    if (point.at("verdict") == "kept") kept[point.at("currency")].insert(id.substr(id.find('/')));
    if (point.at("cause") != "dominated") continue;
    EXPECT_EQ(id.substr(0, id.find('/')), point.at("dominated_by").get<std::string>().substr(0, id.find('/')));
  }
  EXPECT_FALSE(kept["USD"].empty());
  EXPECT_EQ(kept["USD"], kept["JPY"]) << "the machines differ only in their price";
  EXPECT_TRUE(json.at("currency").is_null());
  EXPECT_NE(json.at("notes").dump().find("costs are in JPY and USD and are not compared"), std::string::npos);
  EXPECT_EQ(Json::parse(both({"--json"}, "dollars.json").out).at("currency"), "USD") << "written usd in the file";
}

TEST_F(Currencies, HaveAxesOfTheirOwnInTheFigure) {
  const Outcome outcome = both({"--figure", "front.png"});
  if (outcome.status == 5) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string drawn = read_text(path("front.svg"));
  for (const char* label : {"cost of the job [JPY]", "cost of the job [USD]"})
    EXPECT_NE(drawn.find(label), std::string::npos) << label;
}

TEST_F(Currencies, HaveNoCheapestPointUnlessABudgetChooses) {
  expect_refusal(both({"--goal", "dollars"}), 2, {"--goal", "JPY and USD", "--budget"});
  expect_refusal(both({"--deadline", "2h"}), 2, {"--deadline", "JPY and USD", "--goal time"});
  expect_refusal(both({"--budget", "500"}), 2, {"--budget", "JPY and USD"});
  EXPECT_EQ(both({"--deadline", "2h", "--goal", "time"}).status, 0);
  const Outcome outcome = both({"--goal", "dollars", "--budget", "1e3 jpy", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("currency"), "JPY");
  EXPECT_EQ(json.at("budget"), 1000.0);
  for (const Json& point : json.at("points")) {
    if (point.at("verdict") == "kept") {
      EXPECT_EQ(point.at("currency"), "JPY");
    }
    if (point.at("status") == "ok" && point.at("currency") == "USD") {
      EXPECT_EQ(point.at("cause"), "other_currency");
    }
  }
}

TEST_F(Currencies, ABudgetIsANumberAndThenACurrency) {
  const auto budget = [this](const std::string& text, const std::string& cluster = "dollars.json") {
    const Outcome outcome = both({"--json", "--budget", text}, cluster);
    EXPECT_LE(outcome.status, 1) << text << ": " << outcome.err;
    const Json json = Json::parse(outcome.out.empty() ? "{}" : outcome.out);
    return std::pair(json.value("budget", Json(nullptr)), json.value("currency", Json(nullptr)));
  };
  for (const auto& [text, amount] : {std::pair{"500usd", 500.0},
                                     {"500 USD", 500.0},
                                     {"5e2usd", 500.0},
                                     {"1e10", 1e10},
                                     {"5e10", 5e10},
                                     {"500", 500.0},
                                     {" 500usd ", 500.0},
                                     {".5usd", 0.5}}) {
    EXPECT_EQ(budget(text), (std::pair<Json, Json>(amount, "USD"))) << text;
  }
  EXPECT_EQ(budget("500", "yen.json").second, "JPY") << "the currency of the clusters";
  EXPECT_EQ(budget("1e1usd").first, 10.0);
  for (const char* text : {"500eur", "1e1eur"})
    expect_refusal(both({"--budget", text}, "dollars.json"), 2,
                   {"--budget", "none of these clusters is priced in EUR"});
  for (const char* text : {"$500", "500k", "1,000usd", "usd", "", " ", "-3usd", "0usd", "5E10X", "500us", "500 usd usd",
                           "inf", "nanusd", "1e999usd", "0x10usd", "500abc"}) {
    if (*text != '\0') expect_refusal(both({"--budget", text}, "dollars.json"), 2, {"--budget", "500usd"});
  }
}

TEST_F(Plan, RefusesWrongRequests) {
  expect_refusal(strobe({"plan"}), 2, {"--workload"});
  expect_refusal(plan({"--deadline", "soon"}), 2, {"--deadline", "soon"});
  expect_refusal(plan({"--budget", "-3usd"}), 2, {"--budget"});
  expect_refusal(plan({"--budget", "3 dollars"}), 2, {"--budget", "500usd"});
  expect_refusal(plan({"--goal", "speed"}), 2, {"--goal", "time, dollars, memory"});
  expect_refusal(plan({"--epochs", "0"}), 2, {"--epochs"});
  expect_refusal(plan({"--strategy", "snapsot"}), 2, {"--strategy", "snapshot"});
  expect_refusal(plan({"--set", "ranks=4"}), 2, {"--set ranks", "--nodes"});
  expect_refusal(plan({"--set", "model.widow=4"}), 2, {"--set model.widow", "window"});
  expect_refusal(plan({"--vary", "model.window"}), 2, {"--vary", "key=value"});
  expect_refusal(plan({"--figure", "front.gif"}), 2, {"--figure"});
  expect_refusal(strobe({"plan", "--workload", tiny, "--clusters", "aimos-v10"}), 2, {"--clusters: ", "aimos-v100"});
  expect_refusal(strobe({"plan", "--workload", tiny, "--clusters", "aimos-v100:gpus=2"}), 2, {"--clusters: ", "gpus"});
  expect_refusal(strobe({"plan", "--workload", "amazn"}), 2, {"amazon"});
  expect_refusal(strobe({"plan", "--workload", tiny, "--nodes", "1.5"}), 2, {"--nodes"});
}

class ShapeRun : public Program {};

TEST_F(ShapeRun, TheSimulatorRunsAPublishedShape) {
  const Outcome outcome =
      strobe({"run", "--device", "sim", "--workload", "aml-sim", "--strategy", "snapshot", "--ranks", "64", "--epochs",
              "1", "--warmup", "0", "--json", "--set", "model.window=20", "--out", "r"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const Json row = Json::parse(outcome.out).at("rows")[0];
  EXPECT_EQ(row.at("status"), "ok");
  // ESDG section 4.2: T N F floats x (1 - 1/P) there and back, forward and backward; 199 steps are trained on.
  const double rows = 199.0 * 1e6, expected = 2 * 2 * 4 * 6 * rows;
  EXPECT_NEAR(row.at("sent_bytes").at("redistribute").get<double>() / (expected * 63 / 64), 1, 1e-4);
  EXPECT_NE(row.at("notes").dump().find("a window that is not printed"), std::string::npos) << row.at("notes");
}

TEST_F(ShapeRun, IsRefusedWhereValuesOrStructureAreNeeded) {
  expect_refusal(strobe({"run", "--workload", "aml-sim"}), 2, {"aml-sim is a shape", "numerics none"});
  expect_refusal(strobe({"run", "--device", "sim", "--numerics", "cpu", "--workload", "aml-sim"}), 2,
                 {"aml-sim is a shape"});
  expect_refusal(strobe({"run", "--device", "sim", "--workload", "aml-sim", "--strategy", "vertex:partitioner=metis",
                         "--ranks", "8"}),
                 2, {"metis", "structure"});
  expect_refusal(strobe({"run", "--device", "sim", "--workload", "wikipedia"}), 2,
                 {"does not know its steps", "workload.steps"});
  expect_refusal(strobe({"run", "--device", "sim", "--workload", "aml-sim", "--task", "vertex-classification"}), 2,
                 {"labels"});
}

TEST_F(ShapeRun, AMeasuredShapeStandsForItsGraph) {
  ASSERT_EQ(strobe({"inspect", "ucsocial", "--shape", "s.json"}).status, 0);
  const auto sent = [&](const std::string& workload) {
    const Outcome outcome =
        strobe({"run", "--device", "sim", "--workload", workload, "--strategy", "vertex:partitioner=hash", "--ranks",
                "4", "--epochs", "1", "--warmup", "0", "--json", "--out", workload == "ucsocial" ? "graph" : "shape"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return Json::parse(outcome.out).at("rows")[0].at("sent_bytes").at("total").get<double>();
  };
  EXPECT_NEAR(sent("./s.json") / sent("ucsocial"), 1, 0.05);
}

}  // namespace
}  // namespace strobe::cli_test
