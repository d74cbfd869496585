// The answer about families that --tune gave different settings, and about a metric over seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/errors.hpp"
#include "results/answer/answer.hpp"
#include "results/answer/case_difference.hpp"
#include "results/row/statistics.hpp"
#include "tests/results/made_run.hpp"

namespace strobe {
namespace {

using testing_results::MadeCase;
using testing_results::MadeRun;
using testing_results::TemporaryFolder;

Answers answers_in(const std::vector<std::string>& folders, const std::string& field) {
  std::vector<LoadedRun> runs;
  for (const std::string& folder : folders) runs.push_back(load_run(folder));
  return answer(runs, field);
}

std::string all_sentences(const Answer& answer) {
  std::string text;
  for (const std::string& sentence : answer.sentences) text += sentence + "\n";
  return text;
}

const Contender& contender_named(const Answer& answer, const std::string& value) {
  for (const Contender& one : answer.contenders)
    if (one.value == value) return one;
  throw Error("no contender " + value);
}

/// A case of a model whose width and rate --tune chose, or one of its trials.
MadeCase tuned_case(const std::string& model, int hidden, double rate, std::int64_t seed, double auc,
                    bool trial = false) {
  Json tuning = {{"trial", 2},
                 {"trials", 5},
                 {"epochs", 4},
                 {"metric", "validation_auc"},
                 {"settings", {{"model.hidden", hidden}, {"optimizer.rate", rate}}}};
  if (!trial) tuning["value"] = 0.75;
  return {
      .rounds = {1.0},
      .seed = seed,
      .settings = {{"model", {{"name", model}, {"hidden", hidden}}}, {"optimizer", {{"name", "adam"}, {"rate", rate}}}},
      .simulated = true,
      .facts = {{"tuning", tuning}},
      .metrics = {{"auc", auc}, {"mrr", 0.5}}};
}

TEST(TunedAnswer, FamiliesTunedToOtherSettingsCompare) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  const std::vector<double> of_a = {0.80, 0.84, 0.79}, of_b = {0.70, 0.75, 0.71};
  for (std::int64_t seed = 1; seed <= 3; ++seed) {
    run.add(tuned_case("t-gcn", 64, 0.01, seed, of_a[static_cast<std::size_t>(seed - 1)]));
    run.add(tuned_case("dysat", 16, 0.003, seed, of_b[static_cast<std::size_t>(seed - 1)]));
  }
  std::vector<Row> rows = load_run(folder.file("run")).summary.rows;
  EXPECT_EQ(natural_field(rows), "model") << "the settings that were tuned are no question";
  const Answers all = answers_in({folder.file("run")}, "model");
  ASSERT_EQ(all.questions.size(), 1u);
  const Answer& found = all.questions[0];
  ASSERT_EQ(found.contenders.size(), 2u);
  EXPECT_EQ(contender_named(found, "t-gcn").note, "tuned: model.hidden=64, optimizer.rate=0.01");
  EXPECT_EQ(contender_named(found, "t-gcn").case_ids.size(), 3u);
  EXPECT_EQ(found.metric, "auc") << "the metric that they were tuned by";
  // Student's t with 2 degrees of freedom: 4.302653 at 97.5 %.
  const double mean_a = (0.80 + 0.84 + 0.79) / 3, mean_worse = (0.10 + 0.09 + 0.08) / 3;
  const MetricLevel &a = contender_named(found, "t-gcn").metric, &b = contender_named(found, "dysat").metric;
  EXPECT_NEAR(a.mean, mean_a, 1e-12);
  const double deviation =
      std::sqrt((std::pow(0.80 - mean_a, 2) + std::pow(0.84 - mean_a, 2) + std::pow(0.79 - mean_a, 2)) / 2);
  EXPECT_NEAR(a.half95, 4.302653 * deviation / std::sqrt(3), 1e-6);
  EXPECT_NEAR(b.worse, mean_worse, 1e-12);
  EXPECT_NEAR(b.worse_half95, 4.302653 * 0.01 / std::sqrt(3), 1e-6) << "seeds are paired";
  EXPECT_NE(
      all_sentences(found).find("t-gcn has the best mean auc on the test samples, 0.81 ± 0.066 over 3 seeds; dysat "
                                "is 0.09 ± 0.025 worse (95 % intervals).\n"),
      std::string::npos)
      << all_sentences(found);
  EXPECT_NE(answers_text(all).find("0.81 ± 0.066"), std::string::npos) << answers_text(all);
  const Json json = answers_to_json(all).at("questions").at(0);
  EXPECT_EQ(json.at("metric"), "auc");
  for (const Json& one : json.at("contenders")) {
    const bool first = one.at("value") == "t-gcn";
    EXPECT_DOUBLE_EQ(one.at("metric_worse").at("value").get<double>(), first ? 0 : b.worse);
    EXPECT_DOUBLE_EQ(one.at("metric").at("ci95_low").get<double>(), first ? a.mean - a.half95 : b.mean - b.half95);
  }
}

TEST(TunedAnswer, TrialsAndRunsThatWereTunedApartAreNotPooled) {
  const TemporaryFolder folder;
  MadeRun trials(folder, "trials"), few(folder, "few"), many(folder, "many");
  trials.add(tuned_case("t-gcn", 64, 0.01, 1, 0.8, true));
  trials.add(tuned_case("t-gcn", 16, 0.01, 1, 0.7, true));
  const Answer of_trials = answers_in({folder.file("trials")}, "model.hidden").questions.at(0);
  ASSERT_EQ(of_trials.contenders.size(), 2u);
  EXPECT_EQ(of_trials.contenders[0].note, "");
  EXPECT_THROW(answers_in({folder.file("trials")}, "strategy"), NotComparable);
  for (const char* strategy : {"snapshot", "vertex"}) {
    MadeCase one = tuned_case("t-gcn", 64, 0.01, 1, 0.8), other = tuned_case("t-gcn", 32, 0.02, 1, 0.8);
    one.strategy = other.strategy = strategy;
    few.add(one);
    Json json = testing_results::case_json(2, strategy, "sim");
    json["seed"] = 1;
    json.update(other.settings);
    many.add_case(json, std::string("other settings of ") + strategy, other);
  }
  const Answers both = answers_in({folder.file("few"), folder.file("many")}, "strategy");
  std::vector<std::string> values;
  for (const Contender& one : both.questions.at(0).contenders) {
    values.push_back(one.value);
    EXPECT_EQ(one.case_ids.size(), 1u) << one.value;
  }
  ASSERT_EQ(values.size(), 4u) << "each run has chosen other settings";
  EXPECT_EQ(values[0], "snapshot hidden=64 rate=0.01");
}

TEST(TunedAnswer, AMetricThatSeedsDoNotDistinguishMayBeChance) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run"), same(folder, "same"), one(folder, "one");
  const std::vector<double> of_a = {0.80, 0.60, 0.90}, of_b = {0.70, 0.75, 0.71};
  const auto add = [](MadeRun& to, const char* strategy, std::int64_t seed, const char* metric, double value) {
    to.add({.strategy = strategy, .rounds = {1.0}, .seed = seed, .simulated = true, .metrics = {{metric, value}}});
  };
  for (std::int64_t seed = 1; seed <= 3; ++seed) {
    const auto at = static_cast<std::size_t>(seed - 1);
    add(run, "snapshot", seed, "mrr", of_a[at]), add(run, "pipad", seed, "mrr", of_b[at]);
    add(same, "snapshot", seed, "mrr", of_a[at]), add(same, "vertex", seed, "mrr", of_a[at] * (1 + 1e-7));
  }
  add(one, "snapshot", 1, "mrr", 0.8), add(one, "vertex", 1, "mrr", 0.2);
  const std::string text = all_sentences(answers_in({folder.file("run")}, "strategy").questions.at(0));
  EXPECT_NE(text.find("worse, which may be chance (95 % intervals)."), std::string::npos) << text;
  EXPECT_EQ(answers_in({folder.file("same")}, "strategy").questions.at(0).metric, "") << "strategies compute the same";
  EXPECT_EQ(answers_in({folder.file("one")}, "strategy").questions.at(0).metric, "") << "one seed has no interval";
}

TEST(TunedAnswer, SmallerErrorsAreBetter) {
  MetricLevel small, large;
  small.values = {{1, 0.5}, {2, 0.6}}, large.values = {{1, 0.8}, {2, 1.1}};
  small.mean = 0.55, large.mean = 0.95;
  EXPECT_TRUE(place_by_metric("rmse", {&large, &small}));
  EXPECT_TRUE(small.best);
  EXPECT_FALSE(large.best);
  EXPECT_NEAR(large.worse, 0.4, 1e-12);
  small.best = false;
  EXPECT_TRUE(place_by_metric("mrr", {&large, &small}));
  EXPECT_TRUE(large.best);
}

TEST(TunedAnswer, TheIntervalCoversTheTrueDifference) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  int covered = 0, wrong = 0;
  constexpr int studies = 2000;
  for (int study = 0; study < studies; ++study) {
    MetricLevel a, b;
    double sum_a = 0, sum_b = 0;
    for (std::int64_t seed = 1; seed <= 5; ++seed) {
      const double shared = 0.1 * normal(random);
      a.values[seed] = 1.0 + shared + 0.01 * normal(random), b.values[seed] = 0.9 + shared + 0.02 * normal(random);
      sum_a += a.values[seed], sum_b += b.values[seed];
    }
    a.mean = sum_a / 5, b.mean = sum_b / 5;
    place_by_metric("auc", {&a, &b});
    wrong += b.best ? 1 : 0;
    covered += std::fabs(b.worse - 0.1) <= b.worse_half95 ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_NEAR(covered, 0.95 * studies, 4 * std::sqrt(0.05 * 0.95 * studies));
}

TEST(TunedAnswer, TimesToTheSameWordsWithOtherValuesAreSetApart) {
  const TemporaryFolder folder;
  MadeRun apart(folder, "apart"), equal(folder, "equal"), seeds(folder, "seeds");
  const auto add = [](MadeRun& to, const char* strategy, std::int64_t seed, double value) {
    to.add({.strategy = strategy,
            .rounds = {1.0},
            .seed = seed,
            .until = 20,
            .simulated = true,
            .facts = {{"until_value", value}}});
  };
  add(apart, "snapshot", 1, 0.3), add(apart, "vertex", 1, 0.35);
  add(equal, "snapshot", 1, 0.3), add(equal, "vertex", 1, 0.3);
  // The second seed alone has another value.
  add(seeds, "snapshot", 1, 0.3), add(seeds, "snapshot", 2, 0.31);
  add(seeds, "vertex", 1, 0.3), add(seeds, "vertex", 2, 0.4);
  const Answer found = answers_in({folder.file("apart")}, "strategy").questions.at(0);
  EXPECT_NE(all_sentences(found).find(
                "times to mrr=0.3 are not compared: until=mrr=0.3 is 0.3 in one case and 0.35 in the other."),
            std::string::npos)
      << all_sentences(found);
  for (const Contender& one : found.contenders) EXPECT_TRUE(std::isnan(one.later.ratio));
  EXPECT_EQ(answers_in({folder.file("equal")}, "strategy").questions.at(0).until_apart, "");
  EXPECT_NE(answers_in({folder.file("seeds")}, "strategy").questions.at(0).until_apart.find("0.31 in one case and 0.4"),
            std::string::npos);
}

}  // namespace
}  // namespace strobe
