#include "models/tasks/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "core/errors.hpp"

namespace strobe {
namespace {

TEST(Metrics, AccuracyIsOfThePredictedClass) {
  EXPECT_DOUBLE_EQ(accuracy({0, 1, 1, 0, 2, 2, 0, 5}, {1, 0, 0, 0}, 2), 0.75);  // the tie says class 0
  EXPECT_DOUBLE_EQ(accuracy({0, 1, 1, 0, 2, 2, 0, 5}, {1, 0, 1, 0}, 2), 0.5);
  EXPECT_DOUBLE_EQ(accuracy(std::vector<double>(8, 0.0), {0, 1, 0, 1}, 2), 0.5);  // a dead network
  EXPECT_DOUBLE_EQ(accuracy(std::vector<double>(16, 1.5), {0, 1, 2, 3}, 4), 0.25);
  EXPECT_DOUBLE_EQ(accuracy({NAN, 1, 0, NAN}, {0, 0}, 2), 0.0);  // no prediction at all
  const std::vector<double> logits = {1, 1, 0, 2, 2, 2, 0, 0, 3};
  const std::vector<std::int32_t> labels = {1, 0, 2};
  EXPECT_EQ(predicted_classes(logits, 3), (std::vector<std::int32_t>{0, 0, 2}));
  EXPECT_DOUBLE_EQ(accuracy(logits, labels, 3), 2.0 / 3);
  EXPECT_TRUE(std::isnan(accuracy({}, {}, 2)));
}

TEST(Metrics, ChanceOfTheReciprocalRankByHand) {
  EXPECT_DOUBLE_EQ(chance_of_mean_reciprocal_rank({0}), 1.0);
  EXPECT_DOUBLE_EQ(chance_of_mean_reciprocal_rank({1, 3}), (1.5 / 2 + (1 + 0.5 + 1.0 / 3 + 0.25) / 4) / 2);
  double harmonic = 0;
  for (int n = 1; n <= 50; ++n) harmonic += 1.0 / n;
  EXPECT_NEAR(chance_of_mean_reciprocal_rank({49, 49, 49}), harmonic / 50, 1e-15);
  EXPECT_TRUE(std::isnan(chance_of_mean_reciprocal_rank({})));
}

TEST(Metrics, EqualOutputsOfSeveralSamplesSayNothing) {
  EXPECT_TRUE(all_equal({1, 2, 1, 2, 1, 2}, 2));
  EXPECT_FALSE(all_equal({1, 2, 1, 2, 1, 3}, 2));
  EXPECT_TRUE(all_equal({0.5, 0.5}, 1));
  EXPECT_FALSE(all_equal({0.5}, 1));  // one sample is equal to nothing
  EXPECT_FALSE(all_equal({1, 2}, 2));
  EXPECT_FALSE(all_equal({}, 2));
  EXPECT_FALSE(all_equal({NAN, NAN}, 1));
}

TEST(Metrics, AreaUnderRocByHand) {
  EXPECT_DOUBLE_EQ(area_under_roc({0.1, 0.4, 0.35, 0.8}, {0, 0, 1, 1}), 0.75);
  EXPECT_DOUBLE_EQ(area_under_roc({1, 1, 1, 1}, {0, 1, 0, 1}), 0.5);
  EXPECT_DOUBLE_EQ(area_under_roc({3, 2, 1}, {0, 0, 1}), 0.0);
  EXPECT_TRUE(std::isnan(area_under_roc({1, 2}, {1, 1})));
}

TEST(Metrics, AveragePrecisionByHand) {
  // Ranked 1 0 1 0: precision 1 at the first positive, 2/3 at the second.
  EXPECT_DOUBLE_EQ(average_precision({0.9, 0.8, 0.7, 0.1}, {1, 0, 1, 0}), (1.0 + 2.0 / 3.0) / 2.0);
  // All scores equal: one threshold, precision = share of positives.
  EXPECT_DOUBLE_EQ(average_precision({1, 1, 1, 1}, {1, 0, 0, 0}), 0.25);
  EXPECT_TRUE(std::isnan(average_precision({1, 2}, {0, 0})));
}

TEST(Metrics, AveragePrecisionOfTiedPositivesIsThatOfTheirThreshold) {
  // Two of three positives at 0.5, where 2 of 4 are right; the third at 0.1, where 3 of 5 are.
  EXPECT_DOUBLE_EQ(average_precision({0.9, 0.5, 0.5, 0.5, 0.1}, {0, 1, 1, 0, 1}), 2.0 / 3 * 2 / 4 + 1.0 / 3 * 3 / 5);
  EXPECT_DOUBLE_EQ(average_precision({0.5, 0.1, 0.5, 0.5, 0.9}, {0, 1, 1, 1, 0}), 2.0 / 3 * 2 / 4 + 1.0 / 3 * 3 / 5);
  EXPECT_DOUBLE_EQ(average_precision({2, 2, 1}, {1, 1, 0}), 1.0);
}

TEST(Metrics, ScoredLabelsHaveTheBitsOfScoresAndLabels) {
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    std::mt19937 random(seed);
    std::vector<double> scores;
    std::vector<std::int32_t> labels;
    std::vector<std::uint64_t> both;
    for (int i = 0; i < 3000; ++i) {
      const std::uint64_t score = (seed % 2 == 0 ? std::uint64_t{1} << 33 : 0) + random() % (100 * seed);
      labels.push_back(random() % 3 == 0 ? 1 : 0);
      scores.push_back(static_cast<double>(score));
      both.push_back(scored_label(score, labels.back() == 1));
    }
    std::sort(both.begin(), both.end(), std::greater<>());
    EXPECT_EQ(area_under_roc(both), area_under_roc(scores, labels)) << seed;
    EXPECT_EQ(average_precision(both), average_precision(scores, labels)) << seed;
  }
  const std::vector<std::uint64_t> negatives{scored_label(4, false), scored_label(3, false)};
  EXPECT_TRUE(std::isnan(area_under_roc(negatives)));
  EXPECT_TRUE(std::isnan(average_precision(negatives)));
}

TEST(Metrics, MicroF1CountsALogitOfZeroAsNo) {
  EXPECT_DOUBLE_EQ(micro_f1({0, 1}, {0b01}, 2), 0.0);        // FN 1, FP 1
  EXPECT_DOUBLE_EQ(micro_f1({0, 1}, {0b10}, 2), 1.0);        // TP 1 and no FP at 0
  EXPECT_DOUBLE_EQ(micro_f1({0, 1}, {0b11}, 2), 2.0 / 3.0);  // TP 1, FN 1
  EXPECT_DOUBLE_EQ(micro_f1({-0.0, 0}, {0b00}, 2), 0.0);     // nothing said, nothing true
}

TEST(Metrics, ReciprocalRankByTieRule) {
  const std::vector<double> positives = {2, 0}, candidates = {2, 3, 0, -1};
  const std::vector<std::int32_t> of = {0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(mean_reciprocal_rank(positives, candidates, of, tie_rule("optimistic")), (0.5 + 1.0) / 2);
  EXPECT_DOUBLE_EQ(mean_reciprocal_rank(positives, candidates, of, tie_rule("average")), (0.4 + 1.0 / 1.5) / 2);
  EXPECT_DOUBLE_EQ(mean_reciprocal_rank(positives, candidates, of, tie_rule("pessimistic")), (1.0 / 3 + 0.5) / 2);
  EXPECT_TRUE(std::isnan(mean_reciprocal_rank({}, {}, {}, TieRule::average)));
  EXPECT_THROW(tie_rule("lucky"), Error);
}

/// A model that diverged must not look like one that ranks first.
TEST(Metrics, ScoresThatAreNoNumbersGiveNoMetric) {
  EXPECT_TRUE(std::isnan(mean_reciprocal_rank({NAN}, {1, 2}, {0, 0}, TieRule::optimistic)));
  EXPECT_TRUE(std::isnan(mean_reciprocal_rank({1}, {NAN}, {0}, TieRule::optimistic)));
  EXPECT_TRUE(std::isnan(area_under_roc({NAN, 1}, {1, 0})));
  EXPECT_TRUE(std::isnan(average_precision({NAN, 1}, {1, 0})));
  EXPECT_EQ(predicted_classes({NAN, 1, 0, 1}, 2), (std::vector<std::int32_t>{-1, 1}));
  EXPECT_TRUE(std::isnan(regression_error({NAN, 1}, {1, 1}).rmse));
}

TEST(Metrics, F1ByHand) {
  const std::vector<std::int32_t> labels = {0, 0, 0, 1, 1, 2}, said = {0, 0, 1, 1, 0, 0};
  EXPECT_DOUBLE_EQ(f1_score(said, labels, 0), 4.0 / 7.0);  // TP 2, FP 2, FN 1
  EXPECT_DOUBLE_EQ(f1_score(said, labels, 1), 0.5);        // TP 1, FP 1, FN 1
  EXPECT_DOUBLE_EQ(f1_score(said, labels, 2), 0.0);
  EXPECT_DOUBLE_EQ(macro_f1(said, labels, 5), (4.0 / 7.0 + 0.5) / 3.0);  // classes 3 and 4 do not occur
  EXPECT_DOUBLE_EQ(f1_score({0}, {0}, 1), 0.0);
  EXPECT_TRUE(std::isnan(macro_f1({}, {}, 2)));
  EXPECT_EQ(predicted_classes({1, 1, 0, 2}, 2), (std::vector<std::int32_t>{0, 1}));
}

TEST(Metrics, RegressionErrorsByHand) {
  const RegressionError error = regression_error({1, 3}, {1, 1});
  EXPECT_DOUBLE_EQ(error.rmse, std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(error.mae, 1.0);
  EXPECT_TRUE(std::isnan(error.r2));  // the targets are constant
  EXPECT_DOUBLE_EQ(regression_error({0, 2}, {0, 1}).r2, -1.0);
  EXPECT_DOUBLE_EQ(regression_error({NAN, 2}, {0, 1}, true).mae, 1.0);
  EXPECT_TRUE(std::isnan(regression_error({NAN}, {0}, true).mae));
}

}  // namespace
}  // namespace strobe
