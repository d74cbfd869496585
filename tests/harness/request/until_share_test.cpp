// Targets of `until` as a share of the way from the best rule to the best known: what they resolve to, checked against
// the rules that evaluations state; and that training then ends where it ends with the value.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/request/until.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

std::optional<UntilRule> resolved(const std::string& text, const ReferenceLevels& levels) {
  Case c;
  c.until = text;
  return resolve_until(c, levels);
}

std::string share_refusal(const std::string& text, const ReferenceLevels& levels) {
  try {
    resolved(text, levels);
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/until");
    return error.message();
  }
  return "accepted";
}

const ReferenceLevels levels_of_share{{{"validation_mrr", 0.4}, {"validation_rmse", 2}},
                                      {{"validation_mrr", 0.9}},
                                      {{"validation_mrr", "recency"}, {"validation_rmse", "last_value"}}};

TEST(UntilShare, IsTheWayFromTheBestRuleToTheBestKnown) {
  const auto half = resolved("mrr=50%", levels_of_share);
  EXPECT_DOUBLE_EQ(half->value, 0.65);
  EXPECT_EQ(half->name_of_rule, "recency");
  EXPECT_DOUBLE_EQ(*half->best, 0.9);
  EXPECT_DOUBLE_EQ(resolved("validation_mrr=100%", levels_of_share)->value, 0.9);
  EXPECT_DOUBLE_EQ(resolved("mrr=50%,best=0.6", levels_of_share)->value, 0.5);
  const auto error = resolved("rmse=25%,best=1", levels_of_share);
  EXPECT_DOUBLE_EQ(error->value, 1.75);
  UntilWatch watch(*error);
  EXPECT_FALSE(watch.holds_after(1.76));
  EXPECT_TRUE(watch.holds_after(1.74));
  EXPECT_NE(note_on_target(*half, "mrr=50%").find("recency (0.4), to the best known (0.9)"), std::string::npos);
}

TEST(UntilShare, WithoutItsTwoEndsIsRefused) {
  EXPECT_NE(share_refusal("rmse=50%", levels_of_share).find("rmse=50%,best=X"), std::string::npos);
  EXPECT_NE(share_refusal("ap=50%", levels_of_share).find("no rule for ap"), std::string::npos);
  EXPECT_NE(share_refusal("mrr=50%,best=0.4", levels_of_share).find("no better than the best rule, recency (0.4)"),
            std::string::npos);
  EXPECT_NE(share_refusal("rmse=50%,best=2.5", levels_of_share).find("no better than the best rule"),
            std::string::npos);
  EXPECT_EQ(share_refusal("mrr=0.2", levels_of_share), "accepted");
  for (const char* text : {"mrr=0%", "mrr=101%", "mrr=-5%", "mrr=%", "mrr=x%", "loss=50%", "mrr=50%,", "mrr=50%,top=1",
                           "mrr=0.5,best=0.9", "mrr=50%,best=high", "best=0.9", "patience=5"})
    EXPECT_THROW(parse_until(text), InvalidRequest) << text;
}

TEST(UntilShare, ATargetThatARuleReachesAsksForNoLearning) {
  EXPECT_TRUE(resolved("mrr=0.4", levels_of_share)->reached_by_rule());
  EXPECT_FALSE(resolved("mrr=0.41", levels_of_share)->reached_by_rule());
  EXPECT_TRUE(resolved("rmse=2", levels_of_share)->reached_by_rule());
  EXPECT_FALSE(resolved("rmse=1.9", levels_of_share)->reached_by_rule());
  EXPECT_FALSE(resolved("ap=0", levels_of_share)->reached_by_rule()) << "it has no rule";
  EXPECT_FALSE(resolved("converged", levels_of_share)->reached_by_rule());
  EXPECT_FALSE(resolved("loss=5", levels_of_share)->reached_by_rule());
  const auto low = resolved("mrr=0.3", levels_of_share);
  EXPECT_NE(note_on_target(*low, "mrr=0.3").find("the rule recency has validation_mrr 0.4"), std::string::npos);
  EXPECT_THROW(refuse_target_of_rules(*low, "mrr=0.3"), InvalidRequest);
  EXPECT_EQ(note_on_target(*resolved("mrr=0.5", levels_of_share), "mrr=0.5"), "");
}

struct ShareOfTask {
  const char* name;
  Json json;
  std::string metric;
  std::vector<std::string> rules;
};

/// Every kind of training, and a metric whose smaller values are better.
std::vector<ShareOfTask> shares_of_tasks(const std::string& visits) {
  const Json snapshots = {{"name", "uniform"}, {"vertices", 40}, {"steps", 12}, {"density", 3}};
  const Json links = {{"name", "link-prediction"}, {"split", "60/20/20"}, {"ranking_negatives", 9}};
  const Json one{
      {"optimizer", {{"name", "adam"}, {"rate", 0.05}}}, {"precision", "fp64"}, {"epochs", 6}, {"warmup", 0}};
  const auto with = [&](Json more) {
    Json json = one;
    json.update(more);
    return json;
  };
  return {{"full batches",
           with({{"workload", snapshots}, {"task", links}, {"strategy", "vertex"}, {"ranks", 2}}),
           "auc",
           {"popularity_auc", "edgebank_auc"}},
          {"hybrid batches",
           with({{"workload", snapshots}, {"task", links}, {"strategy", "hybrid_batch"}, {"ranks", 2}}),
           "mrr",
           {"popularity_mrr"}},
          {"regression",
           with({{"workload", snapshots},
                 {"task", {{"name", "vertex-regression"}, {"target", "degree"}, {"split", "60/20/20"}}}}),
           "rmse",
           {"last_value_rmse"}},
          {"events",
           with({{"workload", {{"name", visits}}},
                 {"model", "jodie"},
                 {"strategy", {{"name", "event_batch"}, {"batch", 50}}},
                 {"task", {{"name", "future-links"}, {"batch", 50}, {"candidates", "9"}}}}),
           "mrr",
           {"edgebank_unlimited_mrr", "edgebank_window_mrr", "recency_mrr", "popularity_mrr"}}};
}

double last_of(const CaseResult& result, const std::string& metric) {
  return result.metrics.at("validation_" + metric).per_epoch.back();
}

TEST(UntilShare, OfATaskIsWhatItsEvaluationsStateAndEndsTrainingAsTheValueDoes) {
  const test::TemporaryFolder folder;
  for (ShareOfTask& task : shares_of_tasks(event_test::random_visits(folder, 7, 400))) {
    SCOPED_TRACE(task.name);
    const CaseResult whole = run_case(case_from_json(task.json, ""));
    ASSERT_EQ(whole.status, "ok") << whole.reason;
    const bool smaller = task.metric == "rmse";
    double best = last_of(whole, task.rules.front());
    for (const std::string& rule : task.rules)
      best = smaller ? std::fmin(best, last_of(whole, rule)) : std::fmax(best, last_of(whole, rule));
    const double known = smaller ? best / 2 : best + 0.5 * (1 - best);
    task.json["until"] = fmt::format("{}=40%,best={}", task.metric, known);
    const CaseResult share = run_case(case_from_json(task.json, ""));
    const double value = best + 0.4 * (known - best);
    EXPECT_NEAR(share.facts.get<double>("until_value"), value, 1e-12);
    EXPECT_NEAR(share.facts.get<double>("until_best_rule"), best, 1e-12);
    EXPECT_DOUBLE_EQ(share.facts.get<double>("until_best_known"), known);
    const auto named = share.facts.get<std::string>("until_rule") + "_" + task.metric;
    EXPECT_NEAR(last_of(whole, named), best, 1e-12);
    task.json["until"] = fmt::format("{}={}", task.metric, share.facts.get<double>("until_value"));
    const CaseResult plain = run_case(case_from_json(task.json, ""));
    EXPECT_EQ(plain.loss.per_epoch, share.loss.per_epoch);
    EXPECT_EQ(plain.until->reached, share.until->reached);
    EXPECT_EQ(plain.until->iterations, share.until->iterations);
    EXPECT_DOUBLE_EQ(plain.facts.get<double>("until_best_rule"), share.facts.get<double>("until_best_rule"));
    task.json["until"] = task.metric + "=40%";
    EXPECT_THROW(make_plan(case_from_json(task.json, "")), InvalidRequest) << "no best is known";
  }
}

}  // namespace
}  // namespace strobe
