// The constants that turn a plan's winner, judged by simulating both points on changed clusters from the beginning.
#include "harness/advisor/turning.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/cluster.hpp"
#include "core/random.hpp"
#include "harness/advisor/plan_points.hpp"

namespace strobe {
namespace {

struct TurnedPlan {
  std::vector<PlanOutcome> outcomes;
  std::vector<PlanVerdict> verdicts;
  TurningRules rules;
  TurningStudy study;

  const PlanOutcome& best() const { return outcomes[verdicts.front().index]; }
  const PlanOutcome& called(const std::string& id) const {
    return *std::find_if(outcomes.begin(), outcomes.end(), [&](const PlanOutcome& o) { return o.point.id == id; });
  }
};

TurnedPlan turned_plan(std::uint64_t seed, PlanGoal goal) {
  const RandomStream random(seed, random_purpose::partition, 62);
  PlanSpace space;
  space.settings = {{"workload", "uniform", "--workload"},
                    {"workload.steps", std::to_string(8 + random.below(0, 8)), "--workload steps"},
                    {"workload.vertices", std::to_string(100 + random.below(1, 3000)), "--workload vertices"},
                    {"model", random.below(2, 2) == 0 ? "t-gcn" : "tm-gcn", "--model"},
                    {"model.hidden", random.below(3, 2) == 0 ? "6" : "64", "--model"}};
  space.clusters = {"p3dn-v100", "g4dn-t4"};
  space.nodes = {1, 2};
  space.strategies = {{"sequential", {}}, {"snapshot", {}}, {"vertex", {{"partitioner", "hash"}}}};
  space.knobs = {{"nb", {"1", "2"}, "--vary nb"}};
  TurnedPlan plan;
  plan.rules = {{}, {}, goal, 10, 2};
  plan.outcomes = evaluate(plan_points(space), 10, 2);
  plan.verdicts = find_front(plan.outcomes, {}, goal);
  plan.study = study_turning(plan.outcomes, plan.verdicts, plan.rules, {});
  return plan;
}

/// The outcome of a point when the constant of the best point's cluster has `factor` times its value, by `evaluate`.
PlanOutcome evaluated_at(const TurnedPlan& plan, const PlanOutcome& outcome, const TurnedConstant& constant,
                         double factor) {
  if (outcome.point.cluster != plan.best().point.cluster) return outcome;
  if (constant.key == "price_per_node_hour") {
    PlanOutcome priced = outcome;
    if (priced.dollars) *priced.dollars *= factor;
    return priced;
  }
  PlanPoint point = outcome.point;
  const double value = constant.value * factor;
  point.request.cluster =
      change_cluster(point.request.cluster, constant.key,
                     fmt::format("{:.17g}", constant.key == "gpu.memory_bytes" ? std::round(value) : value));
  return evaluate({point}, plan.rules.epochs, 1).front();
}

bool rival_wins(const TurnedPlan& plan, const std::string& rival, const TurnedConstant& constant, double factor) {
  const PlanVerdict first = find_front({evaluated_at(plan, plan.best(), constant, factor),
                                        evaluated_at(plan, plan.called(rival), constant, factor)},
                                       plan.rules.limits, plan.rules.goal)
                                .front();
  return first.kept && first.index == 1;
}

TEST(Turning, EveryTurnIsExactAndWithoutOneTheBestPointStaysAheadAtTheEnds) {
  const double step = std::exp(std::log(widest_factor) / (1 << factor_halvings));
  std::size_t turns = 0, none = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const TurnedPlan plan = turned_plan(seed, seed % 2 == 0 ? PlanGoal::dollars : PlanGoal::time);
    ASSERT_FALSE(plan.study.rivals.empty());
    ASSERT_LE(plan.study.rivals.size(), most_rivals);
    for (const TurnedConstant& constant : plan.study.constants) {
      for (const auto& [turn, end] : {std::pair{constant.below, 1 / widest_factor}, {constant.above, widest_factor}}) {
        if (turn) {
          ++turns;
          EXPECT_TRUE(rival_wins(plan, turn->point, constant, turn->factor)) << constant.key << " seed " << seed;
          const double inner = turn->factor < 1 ? turn->factor * step * 1.001 : turn->factor / step / 1.001;
          if (std::abs(std::log(turn->factor)) > std::log(step) * 1.5) {
            EXPECT_FALSE(rival_wins(plan, turn->point, constant, inner)) << constant.key << " seed " << seed;
          }
          continue;
        }
        ++none;
        const std::string& rival = plan.study.rivals[none % plan.study.rivals.size()];
        EXPECT_FALSE(rival_wins(plan, rival, constant, end)) << constant.key << " " << end << " seed " << seed;
      }
    }
  }
  EXPECT_GE(turns, 3u) << "the seeds have some turns";
  EXPECT_GE(none, 20u);
}

TEST(Turning, RivalsAreOtherChoicesAndTheCountOfSimulationsIsBounded) {
  const TurnedPlan plan = turned_plan(5, PlanGoal::time);
  const auto choice = [](const PlanOutcome& o) {
    return fmt::format("{} {} {}", o.point.request.strategy.at("name").dump(), o.point.cluster, o.point.request.ranks);
  };
  std::vector<std::string> choices{choice(plan.best())};
  for (const std::string& rival : plan.study.rivals) choices.push_back(choice(plan.called(rival)));
  std::sort(choices.begin(), choices.end());
  EXPECT_EQ(std::unique(choices.begin(), choices.end()), choices.end());
  EXPECT_LE(plan.study.simulations,
            plan.study.constants.size() * 2 * (1 + factor_halvings) * 2 * plan.study.rivals.size());
  EXPECT_GT(plan.study.simulations, 0u);
  EXPECT_NE(plan.study.summary.find(fmt::format("{} re-simulations", plan.study.simulations)), std::string::npos);
}

TEST(Turning, DoesNotDependOnThreads) {
  TurnedPlan plan = turned_plan(6, PlanGoal::time);
  plan.rules.threads = 1;
  const TurningStudy alone = study_turning(plan.outcomes, plan.verdicts, plan.rules, {});
  EXPECT_EQ(alone.summary, plan.study.summary);
  EXPECT_EQ(alone.simulations, plan.study.simulations);
}

TEST(Turning, AnOnlyChoiceHasNoRival) {
  TurnedPlan plan = turned_plan(7, PlanGoal::time);
  const std::vector<PlanOutcome> one{plan.best()};
  const TurningStudy study = study_turning(one, find_front(one, {}, PlanGoal::time), plan.rules, {});
  EXPECT_TRUE(study.rivals.empty());
  EXPECT_EQ(study.simulations, 0u);
  EXPECT_NE(study.summary.find("the only choice"), std::string::npos);
}

TEST(Turning, ConstantsAreNumbersOfTheFileThatTheReaderTakesBack) {
  for (const std::string& cluster : cluster_names()) {
    const auto constants = constants_of(cluster, "fp32");
    EXPECT_GE(constants.size(), 7u) << cluster;
    for (const TurnedConstant& constant : constants) {
      EXPECT_GT(constant.value, 0) << cluster << " " << constant.key;
      if (constant.key == "price_per_node_hour") continue;
      EXPECT_NO_THROW(load_cluster(change_cluster(cluster, constant.key, fmt::format("{:.17g}", constant.value))));
    }
  }
}

}  // namespace
}  // namespace strobe
