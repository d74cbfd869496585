// Random search: draws, their laws, and the choice among trials, compared with a search over all rows and with a
// planted optimum.
#include "harness/measure/tuning/tuning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"
#include "harness/request/case_slots.hpp"

namespace strobe {
namespace {

Suite suite_to_tune(const Json& more = Json::object()) {
  Json json = {{"defaults",
                {{"workload", {{"name", "uniform"}, {"steps", 8}, {"vertices", 30}, {"density", 3}}},
                 {"task", {{"name", "link-prediction"}, {"split", "60/20/20"}}},
                 {"model", "t-gcn"},
                 {"optimizer", "adam"}}},
               {"cases", {{{"matrix", {{"seed", {5, 3}}}}}}}};
  json["defaults"].update(more);
  return expand_suite(json, {});
}

const TunedFamily& only_family(const Tuning& tuning) {
  EXPECT_EQ(tuning.families.size(), 1u);
  return tuning.families.front();
}

Tuning tuning_of(const Suite& suite, const std::string& text) {
  KeptPlans plans;
  return plan_tuning(suite, parse_tune(text), plans, Json::object());
}

TEST(Tuning, SettingsThatTablesDeclareAreValidEverywhere) {
  int declared = 0;
  for (const char* name : {"model", "optimizer"}) {
    const CaseSlot& slot = *find_case_slot(name);
    for (const std::string& plugin : slot.names()) {
      const FieldTable table = slot.fields(plugin, "/" + slot.name);
      for (const Field& field : table.fields()) {
        if (!field.searched) continue;
        ++declared;
        const OpenSettingOfTrial setting{slot.name, field.name, field.type, field.searched(false)};
        for (int draw = 0; draw < 20; ++draw)
          EXPECT_NO_THROW(slot.complete(plugin, {{field.name, drawn_value(setting, 3, draw)}}, "/" + slot.name))
              << plugin << " " << field.name;
      }
    }
  }
  EXPECT_GE(declared, 15);
}

TEST(Tuning, ARangeIsDrawnUniformlyByItsLogarithm) {
  const OpenSettingOfTrial rate{"optimizer", "rate", FieldType::real, {"0.0001..0.1"}};
  std::vector<double> shares;
  constexpr int draws = 4000;
  for (int i = 0; i < draws; ++i) {
    const double value = drawn_value(rate, 11, i).get<double>();
    EXPECT_GE(value, 0.0001);
    EXPECT_LE(value, 0.1);
    shares.push_back(std::log10(value / 0.0001) / 3);
  }
  std::sort(shares.begin(), shares.end());
  double distance = 0;  // of Kolmogorov and Smirnov
  for (int i = 0; i < draws; ++i) distance = std::fmax(distance, std::fabs(shares[i] - (i + 0.5) / draws));
  EXPECT_LT(distance, 1.63 / std::sqrt(draws)) << "1 % of uniform draws are farther apart";
  const OpenSettingOfTrial width{"model", "hidden", FieldType::integer, {"16", "32", "64"}};
  std::map<std::int64_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[drawn_value(width, 11, i).get<std::int64_t>()];
  ASSERT_EQ(counts.size(), 3u);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, draws / 3.0, 4 * std::sqrt(draws * 2.0 / 9)) << value;
}

TEST(Tuning, SmallerNumbersOfTrialsAreTheFirstOnesOfLargerNumbers) {
  const Suite suite = suite_to_tune();
  const Tuning many = tuning_of(suite, "24");
  const TunedFamily& all = only_family(many);
  ASSERT_EQ(all.settings.size(), 24u);
  EXPECT_EQ(
      all.settings.front().dump(),
      R"({"model.hidden":)" + case_to_json(suite.cases[0])["model"]["hidden"].dump() + R"(,"optimizer.rate":0.01})");
  for (const int few : {1, 2, 7}) {
    const Tuning fewer = tuning_of(suite, std::to_string(few));
    const TunedFamily& part = only_family(fewer);
    ASSERT_EQ(part.settings.size(), static_cast<std::size_t>(few));
    EXPECT_TRUE(std::equal(part.settings.begin(), part.settings.end(), all.settings.begin()));
  }
  std::set<std::string> different;
  for (const Json& settings : all.settings) different.insert(settings.dump());
  EXPECT_EQ(different.size(), 24u);
  for (const Case& trial : all.trials) EXPECT_EQ(trial.seed, 3) << "the least seed of the family";
}

TEST(Tuning, ASpaceThatIsUsedUpHasFewerTrials) {
  const Suite suite = suite_to_tune({{"optimizer", {{"name", "adam"}, {"rate", 0.02}}}});
  const Tuning tuning = tuning_of(suite, "50");
  const TunedFamily& family = only_family(tuning);
  ASSERT_EQ(family.open.size(), 1u) << "the rate is given";
  EXPECT_EQ(family.open.front().path(), "model.hidden");
  std::set<std::int64_t> widths;
  for (const Json& settings : family.settings) widths.insert(settings.at("model.hidden").get<std::int64_t>());
  std::set<std::int64_t> expected = {16, 32, 64, 128};
  expected.insert(case_to_json(suite.cases[0])["model"]["hidden"].get<std::int64_t>());
  EXPECT_EQ(widths, expected);
  EXPECT_EQ(family.settings.size(), expected.size());
}

TEST(Tuning, WhatCannotBeTunedIsRefused) {
  const auto refusal = [](const Json& more, const std::string& text) -> std::string {
    try {
      tuning_of(suite_to_tune(more), text);
    } catch (const InvalidRequest& error) {
      return error.where() + ": " + error.message();
    }
    return "accepted";
  };
  EXPECT_NE(refusal({{"task", "link-prediction"}}, "3").find("task.split=70/15/15"), std::string::npos);
  EXPECT_NE(refusal(Json::object(), "3:metric=auk").find("auk"), std::string::npos);
  EXPECT_NE(refusal({{"device", "sim"}, {"cluster", "p5-h100"}}, "3").find("/numerics"), std::string::npos);
  EXPECT_NE(
      refusal({{"model", {{"name", "t-gcn"}, {"hidden", 8}}}, {"optimizer", {{"name", "adam"}, {"rate", 0.1}}}}, "3")
          .find("leaves no setting open"),
      std::string::npos);
  EXPECT_EQ(refusal(Json::object(), "3:metric=ap"), "accepted");
  for (const char* text : {"", "0", "x", "3.5", "1001", "20:", "20:metric=", "20:seed=3"})
    EXPECT_THROW(parse_tune(text), InvalidRequest) << text;
}

/// A row of a trial with these values of the metric on both parts.
Row row_of_trial(const std::string& id, const std::string& metric, double validation, double test) {
  Row row;
  row.case_id = id;
  row.status = "ok";
  row.metrics["validation_" + metric] = std::vector<double>{0.99, validation};
  row.metrics[metric] = std::vector<double>{0.0, test};
  return row;
}

/// A quadratic of the logarithm of the rate, best at 0.004.
double planted(double rate) { return 1 - std::pow(std::log10(rate / 0.004), 2); }

TEST(Tuning, FindsAPlantedOptimumAndMoreTrialsAreNeverWorse) {
  const Suite suite = suite_to_tune({{"model", {{"name", "t-gcn"}, {"hidden", 8}}}});
  const Tuning tuning = tuning_of(suite, "64:metric=auc");
  const TunedFamily& family = only_family(tuning);
  std::vector<Row> rows;
  for (std::size_t k = 0; k < family.ids.size(); ++k)
    rows.push_back(row_of_trial(family.ids[k], "auc", planted(family.settings[k].at("optimizer.rate")), 0));
  double before = -std::numeric_limits<double>::infinity();
  for (std::size_t n = 1; n <= rows.size(); ++n) {
    TunedFamily part = family;
    part.ids.resize(n);
    const auto best = best_trial(part, rows);
    ASSERT_TRUE(best);
    EXPECT_GE(best->value, before);
    before = best->value;
    for (std::size_t k = 0; k < n; ++k) EXPECT_LE(rows[k].metrics.at("validation_auc")->back(), best->value);
  }
  const auto best = best_trial(family, rows);
  EXPECT_LT(std::fabs(std::log10(family.settings[best->trial].at("optimizer.rate").get<double>() / 0.004)), 0.15)
      << "the probability that 63 uniform draws leave out a tenth of the range is 0.1 %";
}

TEST(Tuning, TestMetricsAndFailedTrialsDoNotBearOnTheChoice) {
  const Suite suite = suite_to_tune();
  const Tuning tuning = tuning_of(suite, "6:metric=auc");
  const TunedFamily& family = only_family(tuning);
  const std::vector<double> validation = {0.5, 0.6, 0.8, 0.8, 0.99, std::nan("")};
  for (int world = 0; world < 20; ++world) {
    std::vector<Row> rows;
    for (std::size_t k = 0; k < 6; ++k)
      rows.push_back(row_of_trial(family.ids[k], "auc", validation[k], ((static_cast<int>(k) + world) % 6) / 5.0));
    rows[4].status = "failed";
    std::rotate(rows.begin(), rows.begin() + world % 6, rows.end());
    const auto best = best_trial(family, rows);
    ASSERT_TRUE(best);
    EXPECT_EQ(best->trial, 2u) << "the first of two equal ones";
    EXPECT_EQ(best->value, 0.8);
  }
  EXPECT_FALSE(best_trial(family, {}));
  const Tuning errors = tuning_of(
      suite_to_tune({{"task", {{"name", "vertex-regression"}, {"target", "degree"}, {"split", "60/20/20"}}}}), "2");
  ASSERT_EQ(errors.families[0].metric, "validation_rmse");
  const std::vector<Row> rows = {row_of_trial(errors.families[0].ids[0], "rmse", 2, 0),
                                 row_of_trial(errors.families[0].ids[1], "rmse", 1, 9)};
  EXPECT_EQ(best_trial(errors.families[0], rows)->trial, 1u);
}

TEST(Tuning, TheCasesOfAFamilyGetTheChosenSettingsUnderEachSeed) {
  const Suite suite = suite_to_tune();
  const Tuning tuning = tuning_of(suite, "5");
  Json tuned;
  const Suite best = tuned_suite(suite, tuning, {ChosenTrial{3, 0.75}}, tuned);
  ASSERT_EQ(best.cases.size(), 2u);
  const Json& settings = tuning.families[0].settings[3];
  for (std::size_t i = 0; i < 2; ++i) {
    const Json json = case_to_json(best.cases[i]);
    EXPECT_EQ(best.cases[i].seed, suite.cases[i].seed);
    EXPECT_EQ(json["model"]["hidden"], settings["model.hidden"]);
    EXPECT_EQ(json["optimizer"]["rate"], settings["optimizer.rate"]);
    const Json& stated = tuned.at(case_id(best.cases[i]));
    EXPECT_EQ(stated.at("trial"), 4);
    EXPECT_EQ(stated.at("trials"), 5);
    EXPECT_EQ(stated.at("value"), 0.75);
    EXPECT_EQ(stated.at("settings"), settings);
  }
  EXPECT_TRUE(tuned_suite(suite, tuning, {std::nullopt}, tuned).cases.empty());
}

TEST(Tuning, EveryFamilyGetsTheSameTrials) {
  const Suite suite = expand_suite(
      {{"defaults",
        {{"workload", {{"name", "uniform"}, {"steps", 8}, {"vertices", 30}, {"density", 3}}},
         {"task", {{"name", "link-prediction"}, {"split", "60/20/20"}}},
         {"until", "auc=0.7"}}},
       {"cases",
        {{{"matrix", {{"strategy", {"vertex", "snapshot"}}, {"model", {"t-gcn", "cd-gcn"}}, {"ranks", {1, 2}}}}}}}},
      {});
  const Tuning tuning = tuning_of(suite, "4");
  ASSERT_EQ(tuning.families.size(), 8u);
  for (const TunedFamily& family : tuning.families) {
    EXPECT_EQ(family.trials.size(), 4u);
    EXPECT_EQ(family.metric, "validation_auc");
    for (std::size_t k = 1; k < 4; ++k)  // the first has the case's own settings
      for (const char* path : {"model.hidden", "optimizer.rate"})
        EXPECT_EQ(family.settings[k].at(path), tuning.families[0].settings[k].at(path));
    for (const Case& trial : family.trials) EXPECT_EQ(trial.until, "") << "all of its epochs";
  }
}

}  // namespace
}  // namespace strobe
