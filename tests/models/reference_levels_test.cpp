// The best rule of a metric: by hand, and against a search over all rules of drawn names and values.
#include "models/tasks/reference_levels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "core/metric_names.hpp"
namespace strobe {
namespace {

TEST(ReferenceLevels, TakeTheBestRuleOfTheMetricAndItsPart) {
  const std::map<std::string, double> values = {{"recency_mrr", 0.7},
                                                {"validation_recency_mrr", 0.5},
                                                {"validation_popularity_mrr", 0.6},
                                                {"validation_mrr", 0.9},  // the model's
                                                {"validation_mrr_chance", 0.95},
                                                {"validation_inductive_recency_mrr", 0.8},
                                                {"validation_popularity_auc", 0.99},
                                                {"validation_last_value_rmse", 3},
                                                {"validation_mean_rmse", 2}};
  ReferenceLevels levels;
  for (const char* metric : {"validation_mrr", "mrr", "validation_inductive_mrr", "validation_rmse", "validation_ap"})
    add_best_rule(metric, values, levels);
  EXPECT_EQ(levels.best_rule,
            (std::map<std::string, double>{
                {"validation_mrr", 0.6}, {"mrr", 0.7}, {"validation_inductive_mrr", 0.8}, {"validation_rmse", 2}}));
  EXPECT_EQ(levels.rule, (std::map<std::string, std::string>{{"validation_mrr", "popularity"},
                                                             {"mrr", "recency"},
                                                             {"validation_inductive_mrr", "recency"},
                                                             {"validation_rmse", "mean"}}));
}

TEST(ReferenceLevels, AreTheExtremesOfDrawnRules) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 200; ++round) {
    const bool errors = round % 2 == 0;
    const std::string metric = errors ? "mae" : "ap";
    std::map<std::string, double> values;
    double best = std::numeric_limits<double>::quiet_NaN();
    for (int rule = 0; rule < 6; ++rule) {
      const double value = rule == round % 6 ? std::nan("") : uniform(random);
      values["rule" + std::to_string(rule) + "_" + metric] = value;
      if (!std::isnan(value))
        best = std::isnan(best) ? value : errors ? std::fmin(best, value) : std::fmax(best, value);
    }
    ReferenceLevels levels;
    add_best_rule(metric, values, levels);
    EXPECT_EQ(levels.best_rule.at(metric), best);
    EXPECT_EQ(values.at(levels.rule.at(metric) + "_" + metric), best);
  }
}

TEST(ReferenceLevels, OfTheLossAndOfErrorsAreBetterTheSmallerTheyAre) {
  for (const char* metric : {"loss", "rmse", "last_value_mae", "validation_rmse"})
    EXPECT_TRUE(smaller_is_better(metric)) << metric;
  for (const char* metric : {"mrr", "auc", "r2", "macro_f1", "accuracy"}) EXPECT_FALSE(smaller_is_better(metric));
}

}  // namespace
}  // namespace strobe
