// Ratios over several seeds, against the formulas that they are defined by.
#include "results/answer/trial.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "results/answer/time_ratio.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

constexpr std::uint64_t trial_seed = 1;  // of the bootstrap
constexpr int redraws = 200;

Trial exact_trial(double seconds) { return {{{0, {seconds}}}, "", true}; }

Trial measured_trial(const std::vector<double>& rounds, const std::string& session = "") {
  Trial trial;
  for (std::size_t r = 0; r < rounds.size(); ++r) trial.rounds[static_cast<int>(r)] = {rounds[r]};
  trial.session = session;
  return trial;
}

Rounds rounds_of_one_epoch(const std::vector<double>& seconds) {
  Rounds rounds;
  for (const double each : seconds) rounds.push_back({each});
  return rounds;
}

TEST(Trials, ExactTimesOfOtherSeedsHaveNoError) {
  const auto ratio = ratio_of_trials({{1, exact_trial(2)}}, {{2, exact_trial(3)}}, redraws);
  ASSERT_TRUE(ratio);
  EXPECT_DOUBLE_EQ(ratio->value(), 1.5);
  EXPECT_EQ(ratio->standard_error, 0);
  EXPECT_GT(ratio->degrees, 1e6) << "nothing about it is estimated";
  EXPECT_NEAR(ratio->interval(0.99).low, 1.5, 1e-12);
  EXPECT_NEAR(ratio->interval(0.99).high, 1.5, 1e-12);
}

TEST(Trials, ErrorsOfBothSidesAddUpAsWelchSays) {
  const std::vector<double> few{1.0, 1.1, 1.3}, many{2.0, 2.2, 2.1, 2.5, 2.3};
  const LogEstimate before = *level_of_rounds(rounds_of_one_epoch(few), trial_seed, redraws),
                    after = *level_of_rounds(rounds_of_one_epoch(many), trial_seed, redraws);
  const double a = std::pow(before.standard_error, 2), b = std::pow(after.standard_error, 2);
  const auto ratio = ratio_of_trials({{1, measured_trial(few)}}, {{2, measured_trial(many)}}, redraws);
  ASSERT_TRUE(ratio);
  EXPECT_DOUBLE_EQ(ratio->log_value, after.log_value - before.log_value);
  EXPECT_DOUBLE_EQ(ratio->standard_error, std::sqrt(a + b));
  EXPECT_DOUBLE_EQ(ratio->degrees, (a + b) * (a + b) / (a * a / 2 + b * b / 4));
  const auto against_exact = ratio_of_trials({{1, exact_trial(1)}}, {{1, measured_trial(few)}}, redraws);
  ASSERT_TRUE(against_exact);
  EXPECT_DOUBLE_EQ(against_exact->standard_error, before.standard_error);
  EXPECT_DOUBLE_EQ(against_exact->degrees, 2);
}

TEST(Trials, TheSpreadOverSeedsIsThatOfTheirMean) {
  Trials base, changed;
  for (const int seed : {1, 2, 3}) {
    base[seed] = exact_trial(1);
    changed[seed] = exact_trial(std::exp(0.1 * seed));
  }
  const auto ratio = ratio_of_trials(base, changed, redraws);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->log_value, 0.2, 1e-12);
  EXPECT_NEAR(ratio->standard_error, std::sqrt(0.01 / 3), 1e-12) << "variance 0.01 of three seeds";
  EXPECT_EQ(ratio->degrees, 2);
  EXPECT_NEAR(level_of(changed), std::exp(0.2), 1e-12);
}

TEST(Trials, TheNoiseWithinSeedsCountsWhereItIsLarger) {
  const std::vector<double> before{1.0, 1.2, 1.1}, after{2.0, 2.1, 2.6};
  const LogEstimate one =
      *ratio_of_rounds(rounds_of_one_epoch(before), rounds_of_one_epoch(after), Pairing::none, trial_seed, redraws);
  const Trials base{{1, measured_trial(before)}, {2, measured_trial(before)}},
      changed{{1, measured_trial(after)}, {2, measured_trial(after)}};
  const auto found = ratio_of_trials(base, changed, redraws);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->standard_error, one.standard_error / std::sqrt(2));
  EXPECT_DOUBLE_EQ(found->degrees, 2 * one.degrees);
  const auto spread = ratio_of_trials(base, changed, redraws, SeedSpread::always);
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->standard_error, 0) << "both seeds have one ratio";
  EXPECT_EQ(spread->degrees, 1);
  EXPECT_FALSE(
      ratio_of_trials({{1, measured_trial(before)}}, {{1, measured_trial(after)}}, redraws, SeedSpread::always))
      << "one seed has no spread";
}

TEST(Trials, RoundsOfOneSessionArePairedIfBothSidesHaveThem) {
  const std::vector<double> before{1.0, 1.5, 2.0}, after{2.0, 3.0, 4.0};
  const auto error = [&](const Trial& base, const Trial& changed) {
    return ratio_of_trials({{1, base}}, {{1, changed}}, redraws)->standard_error;
  };
  EXPECT_NEAR(error(measured_trial(before, "s"), measured_trial(after, "s")), 0, 1e-12) << "each round doubles";
  EXPECT_GT(error(measured_trial(before, "s"), measured_trial(after, "t")), 0.1);
  EXPECT_GT(error(measured_trial(before), measured_trial(after)), 0.1) << "no session";
  Trial shifted = measured_trial(after, "s");
  shifted.rounds[3] = shifted.rounds[0];
  shifted.rounds.erase(0);
  EXPECT_GT(error(measured_trial(before, "s"), shifted), 0.1) << "other rounds";
}

TEST(Trials, OnlyWhatAllHaveIsKept) {
  Trials a{{1, measured_trial({1, 2, 3}, "s")}, {2, measured_trial({1}, "s")}},
      b{{1, measured_trial({4, 5}, "s")}, {3, measured_trial({1}, "s")}};
  keep_common({&a, &b});
  ASSERT_EQ(a.size(), 1u);
  ASSERT_EQ(b.size(), 1u);
  EXPECT_EQ(a.at(1).rounds, measured_trial({1, 2}).rounds);
  EXPECT_EQ(b.at(1).rounds, measured_trial({4, 5}).rounds);
  Trials c{{1, measured_trial({1, 2, 3}, "s")}}, d{{1, measured_trial({4, 5}, "t")}};
  keep_common({&c, &d});
  EXPECT_EQ(c.at(1).rounds.size(), 3u) << "another session's rounds are other rounds";
  Trials e{{1, measured_trial({1})}}, f{{2, measured_trial({1})}};
  keep_common({&e, &f});
  EXPECT_EQ(e.size() + f.size(), 2u) << "no seed in common";
}

TEST(Trials, TheReasonForNoIntervalCountsProcesses) {
  const std::string end = ": epochs of one process are not independent; measure with --rounds 5";
  EXPECT_EQ(why_no_interval({{1, measured_trial({1})}}, {{1, measured_trial({2})}}), "one process a side" + end);
  EXPECT_EQ(why_no_interval({{1, measured_trial({1, 2})}, {2, measured_trial({1, 2, 3})}}, {}),
            "2 processes against no process" + end);
}

TEST(TimeRatio, WithoutSamplesTheMediansOfTheRoundsAreTheTrial) {
  Row row = summarise(testing_results::case_json(), "c", testing_results::make_result());
  EXPECT_EQ(trial_of({}, row).rounds, (std::map<int, std::vector<double>>{{0, {row.epoch_seconds->median}}}));
  row.rounds = RoundTimes{"s", {1.0, std::nan(""), 2.0}};
  EXPECT_EQ(trial_of({}, row).rounds, (std::map<int, std::vector<double>>{{0, {1.0}}, {2, {2.0}}}));
  EXPECT_EQ(trial_of({}, row).session, "s");
  row.time_source = "virtual";
  EXPECT_TRUE(trial_of({}, row).exact);
}

}  // namespace
}  // namespace strobe
