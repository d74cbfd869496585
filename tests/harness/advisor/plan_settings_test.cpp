// The search over inputs, transfer and overlap, compared with the simulation of every combination.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/random.hpp"
#include "harness/advisor/choice_costs.hpp"
#include "harness/advisor/plan_explain.hpp"
#include "harness/advisor/plan_search.hpp"
#include "tests/harness/advisor/simulations.hpp"

namespace strobe {
namespace {

std::vector<PlanOutcome> simulate_all(const std::vector<PlanPoint>& points) { return evaluate(points, 10, 2); }

/// A random graph, model and place; with a limit some combinations do not fit.
PlanSpace random_space(std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::partition, 54);
  const auto among = [&](std::uint64_t which, const std::vector<std::string>& names) {
    return names[random.below(which, names.size())];
  };
  const std::uint64_t vertices = 40 + random.below(1, 1500);
  PlanSpace space;
  space.settings = {{"workload", "uniform", "--workload"},
                    {"workload.steps", std::to_string(6 + random.below(0, 14)), "--workload steps"},
                    {"workload.vertices", std::to_string(vertices), "--workload vertices"},
                    {"workload.density", among(2, {"2", "6", "20"}), "--workload density"},
                    {"model", among(3, {"tm-gcn", "cd-gcn", "t-gcn", "evolve-gcn-o"}), "--model"},
                    {"model.hidden", among(4, {"2", "6", "33"}), "--model"},
                    {"seed", std::to_string(seed), "--seed"}};
  if (random.below(5, 2) == 1) space.settings.push_back({"memory_limit_gib", "0.002", "--set"});
  space.clusters = {among(6, {"aimos-v100", "g4dn-t4", "dynahb-2080ti"}), among(7, {"p5-h100", "p3dn-v100"})};
  space.nodes = {1, 2};
  space.strategies = {{"sequential", {}},
                      {"snapshot", {}},
                      {"vertex", {{"partitioner", "hash"}}},
                      {"snapshot_groups", {{"partitioner", "hash"}, {"group_size", "2"}}}};
  space.knobs = {{"nb", {"1", "2"}, "--vary nb"}};
  return space;
}

/// The least value of `of` over the points within the deadline.
double least(const std::vector<PlanOutcome>& outcomes, double (*of)(const PlanOutcome&), double deadline = 1e300) {
  double best = std::numeric_limits<double>::infinity();
  for (const PlanOutcome& outcome : outcomes) {
    if (outcome.status == "ok" && outcome.job_seconds <= deadline) best = std::min(best, of(outcome));
  }
  return best;
}

double time_of(const PlanOutcome& outcome) { return outcome.job_seconds; }
double cost_of(const PlanOutcome& outcome) { return outcome.dollars.value_or(1e300); }
double memory_of(const PlanOutcome& outcome) { return static_cast<double>(outcome.peak_bytes); }

double soonest_for(const std::vector<PlanOutcome>& outcomes, double budget) {
  double best = std::numeric_limits<double>::infinity();
  for (const PlanOutcome& outcome : outcomes) {
    if (outcome.status == "ok" && cost_of(outcome) <= budget) best = std::min(best, outcome.job_seconds);
  }
  return best;
}

/// The search's points are those of the exhaustive simulation, and the best ones are among them.
void expect_best(const std::vector<PlanOutcome>& every, const std::vector<PlanOutcome>& found, std::uint64_t seed) {
  std::map<std::string, const PlanOutcome*> by_id;
  for (const PlanOutcome& outcome : every) by_id[outcome.point.id] = &outcome;
  for (const PlanOutcome& outcome : found) {
    const PlanOutcome& same = *by_id.at(outcome.point.id);
    EXPECT_EQ(outcome.status, same.status) << outcome.point.id;
    EXPECT_EQ(outcome.epoch_seconds, same.epoch_seconds) << outcome.point.id;
    EXPECT_EQ(outcome.peak_bytes, same.peak_bytes) << outcome.point.id;
  }
  EXPECT_EQ(least(found, time_of), least(every, time_of)) << "seed " << seed;
  EXPECT_EQ(least(found, cost_of), least(every, cost_of)) << "seed " << seed;
  EXPECT_LE(least(found, memory_of), 1.01 * least(every, memory_of)) << "seed " << seed;
  const double soonest = least(every, time_of);
  for (const double times : {1.0, 1.2, 1.7, 2.5, 4.0, 10.0}) {
    EXPECT_EQ(least(found, cost_of, times * soonest), least(every, cost_of, times * soonest))
        << "the cheapest within " << times << " times the soonest, seed " << seed;
    const double budget = times * least(every, cost_of);
    EXPECT_EQ(soonest_for(found, budget), soonest_for(every, budget))
        << times << " times the least cost, seed " << seed;
  }
}

struct Compared {
  std::size_t combinations = 0, simulated = 0, refused = 0, too_large = 0, varied_best = 0;
};

/// Compares the search with the simulation of every combination, on the spaces of these seeds.
Compared compare(std::uint64_t first, std::uint64_t last) {
  Compared sum;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const std::vector<PlanPoint> points = plan_points(random_space(seed));
    test::Simulations simulations;
    const std::vector<PlanOutcome> every = simulations(all_combinations(points));
    const SearchResult found = search_settings(points, {}, std::ref(simulations));
    expect_best(every, found.outcomes, seed);
    SearchRules soon;  // asks for the least memory among points that are not much later than the soonest
    soon.limits.deadline_seconds = 2.5 * least(every, time_of);
    const double deadline = *soon.limits.deadline_seconds;
    EXPECT_LE(least(search_settings(points, soon, std::ref(simulations)).outcomes, memory_of, deadline),
              1.01 * least(every, memory_of, deadline))
        << "seed " << seed;
    EXPECT_EQ(simulations.size(), every.size()) << "searches ask for nothing else";
    sum.combinations += every.size(), sum.simulated += found.counts.simulated;
    for (const PlanOutcome& outcome : every) {
      sum.refused += outcome.status == "cannot_combine";
      sum.too_large += outcome.status == "out_of_memory";
    }
    const auto best = std::min_element(every.begin(), every.end(), [](const PlanOutcome& a, const PlanOutcome& b) {
      return std::pair(a.status != "ok", a.job_seconds) < std::pair(b.status != "ok", b.job_seconds);
    });
    const Case& c = best->point.request;
    sum.varied_best += c.inputs != "streamed" || c.transfer != "direct" || c.overlap != 1;
  }
  testing::Test::RecordProperty("combinations", static_cast<int>(sum.combinations));
  testing::Test::RecordProperty("simulated", static_cast<int>(sum.simulated));
  return sum;
}

TEST(PlanSearch, FindsWhatTheSimulationOfEveryCombinationFinds) {
  const Compared sum = compare(1, 3);
  EXPECT_GE(sum.combinations, 2000u);
  EXPECT_LT(sum.simulated, sum.combinations / 2) << "the search leaves most of them out";
  EXPECT_GT(sum.refused, 100u);
  EXPECT_GE(sum.varied_best, 2u) << "without the settings these would be missed";
}

TEST(LongPlanSearch, FindsWhatTheSimulationOfEveryCombinationFinds) {
  const Compared sum = compare(4, 24);
  EXPECT_GE(sum.combinations, 15000u);
  EXPECT_LT(sum.simulated, sum.combinations / 2);
  EXPECT_GT(sum.too_large, 100u) << "limits make some combinations not fit";
  EXPECT_GE(sum.varied_best, 10u);
}

/// Checks the bounds that the search relies on, in the spaces of these seeds.
void expect_bounds(std::uint64_t first, std::uint64_t last) {
  std::size_t bounded = 0;
  double closest = 1e300, least_share = 1, least_exchanged = 1;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    for (const PlanPoint& point : plan_points(random_space(seed))) {
      const std::vector<PlanOutcome> all = simulate_all(all_combinations({point}));
      const PlanOutcome& base = all.front();
      if (base.status != "ok") continue;
      for (const PlanOutcome& other : all) {
        if (other.status != "ok") continue;
        const bool slices = other.point.request.overlap != 1;
        const double bound = least_epoch(base, slices ? Shortens::exchanges : Shortens::copies);
        EXPECT_GE(other.epoch_seconds, bound * (1 - 1e-9)) << other.point.id << " of seed " << seed;
        EXPECT_GE(memory_of(other) * memory_reach, memory_of(base)) << other.point.id << " of seed " << seed;
        closest = std::min(closest, other.epoch_seconds / bound);
        least_share = std::min(least_share, memory_of(other) / memory_of(base));
        const auto phase = [&](Phase p) { return base.phase_seconds[p]; };
        const double exchanged = phase(Phase::communicate);
        const double rest = base.epoch_seconds - phase(Phase::transfer) - phase(Phase::wait) - exchanged;
        if (!slices && exchanged > 0)
          least_exchanged = std::min(least_exchanged, (other.epoch_seconds - rest) / exchanged);
        ++bounded;
      }
    }
  }
  EXPECT_GE(bounded, 200u);
  EXPECT_LT(closest, 1.1) << "bounds say something";
  EXPECT_LT(least_share, 0.95) << "settings change what a rank needs";
  testing::Test::RecordProperty("least_memory_percent", static_cast<int>(100 * least_share));
  testing::Test::RecordProperty("least_exchanged_percent", static_cast<int>(100 * least_exchanged));
}

TEST(PlanSearch, NoCombinationIsShorterThanItsBoundOrNeedsLessThanTheReachSays) { expect_bounds(31, 32); }
TEST(LongPlanSearch, NoCombinationIsShorterThanItsBoundOrNeedsLessThanTheReachSays) { expect_bounds(33, 60); }

TEST(PlanSearch, CountsAddUpAndTheExhaustiveSearchLeavesNothingOut) {
  for (std::uint64_t seed = 41; seed <= 42; ++seed) {
    const std::vector<PlanPoint> points = plan_points(random_space(seed));
    SearchRules all;
    all.exhaustive = true;
    test::Simulations simulations;
    const SearchResult every = search_settings(points, all, std::ref(simulations)),
                       some = search_settings(points, {}, std::ref(simulations));
    EXPECT_EQ(every.counts.left_out, 0u);
    EXPECT_EQ(every.counts.combinations, some.counts.combinations);
    std::set<std::string> ids;
    for (const PlanOutcome& outcome : every.outcomes) EXPECT_TRUE(ids.insert(outcome.point.id).second);
    for (const PlanOutcome& outcome : some.outcomes) EXPECT_TRUE(ids.contains(outcome.point.id)) << outcome.point.id;
    EXPECT_LT(some.outcomes.size(), every.outcomes.size());
    for (const SearchResult* result : {&every, &some}) {
      const SearchCounts& counts = result->counts;
      EXPECT_EQ(counts.combinations,
                result->outcomes.size() + counts.cannot_combine + counts.without_effect + counts.left_out);
    }
  }
}

TEST(PlanSearch, WhatTheUserGivesIsNotSearchedAndShapesHaveWhatTheyCan) {
  PlanSpace space = random_space(1);
  const auto open_of = [](const PlanSpace& of) {
    std::map<std::string, std::size_t> values;
    for (const PlanPoint& point : plan_points(of)) {
      for (const OpenSetting& setting : point.open) values[setting.name] = setting.values.size();
    }
    return values;
  };
  EXPECT_EQ(open_of(space), (std::map<std::string, std::size_t>{{"inputs", 2}, {"transfer", 4}, {"overlap", 3}}));
  space.settings.push_back({"inputs", "resident", "--set"});
  space.knobs.push_back({"overlap", {"1", "2"}, "--vary"});
  EXPECT_EQ(open_of(space), (std::map<std::string, std::size_t>{{"transfer", 4}}));
  for (const PlanPoint& point : plan_points(space)) EXPECT_EQ(point.request.inputs, "resident");
  PlanSpace shape;
  shape.settings = {{"workload", "aml-sim", "--workload"}};
  shape.clusters = {"p5-h100"}, shape.nodes = {16};
  EXPECT_EQ(open_of(shape), (std::map<std::string, std::size_t>{{"inputs", 2}, {"transfer", 3}}));
  PlanSpace hybrid = random_space(1);
  hybrid.strategies = {{"hybrid_batch", {}}};
  hybrid.knobs.clear();
  EXPECT_TRUE(open_of(hybrid).empty()) << "such batches have no such settings";
}

TEST(PlanSearch, TheBestPointsOtherChoicesAreThere) {
  std::set<std::string> settings;
  for (std::uint64_t seed = 51; seed <= 53; ++seed) {
    const std::vector<PlanPoint> points = plan_points(random_space(seed));
    const SearchResult found = search_settings(points, {}, simulate_all);
    const std::vector<PlanVerdict> verdicts = find_front(found.outcomes, {}, PlanGoal::time);
    ASSERT_TRUE(verdicts.front().kept);
    const PlanOutcome& best = found.outcomes[verdicts.front().index];
    for (const ChoiceCost& cost : choice_costs(found.outcomes, best)) {
      settings.insert(cost.choice);
      const Case &a = found.outcomes[cost.index].point.request, &b = best.point.request;
      EXPECT_TRUE(cost.choice == "nb" || a.nb == b.nb) << cost.choice;
      EXPECT_TRUE(cost.choice == "inputs" || a.inputs == b.inputs) << cost.choice;
      EXPECT_TRUE(cost.choice == "transfer" || a.transfer == b.transfer) << cost.choice;
      EXPECT_TRUE(cost.choice == "overlap" || a.overlap == b.overlap) << cost.choice;
      EXPECT_TRUE(cost.times == 0 || cost.times >= 1) << "no other choice is sooner: " << cost.choice << cost.value;
    }
  }
  EXPECT_TRUE(settings.contains("inputs"));
  EXPECT_TRUE(settings.contains("nb"));
}

// Streamed inputs would take a third to half of the epoch, and another strategy would win.
TEST(PlanSearch, AmlSimOn128GpusNeedsResidentInputs) {
  PlanSpace space;
  space.settings = {{"workload", "aml-sim", "--workload"}};
  space.nodes = {16};
  for (const auto& [cluster, at_most] :
       {std::pair{"p5-h100:all_to_all_efficiency=1,all_to_all_peer_seconds=0", 4.81e-3}, {"p5-h100", 6.2e-3}}) {
    space.clusters = {cluster};
    const SearchResult found = search_settings(plan_points(space), {}, simulate_all);
    std::vector<PlanOutcome> streamed;
    for (const PlanOutcome& outcome : found.outcomes) {
      if (outcome.point.request.inputs == "streamed") streamed.push_back(outcome);
    }
    EXPECT_LE(least(found.outcomes, time_of) / 10, at_most) << cluster;
    EXPECT_GT(least(streamed, time_of) / 10, 1.4 * at_most) << "what it is without: " << cluster;
  }
}

TEST(PlanSearch, AnyCombinationCanBeExplained) {
  const std::vector<PlanPoint> points = plan_points(random_space(3));
  const std::string wanted = points.back().id + "/inputs=resident/overlap=4";
  EXPECT_EQ(id_called(points, wanted), wanted);
  EXPECT_EQ(id_called(points, points.front().id), points.front().id);
  EXPECT_THROW(id_called(points, "inputs=resident"), InvalidRequest) << "many have it";
  EXPECT_THROW(id_called(points, points.back().id + "/inputs=here"), InvalidRequest);
  SearchRules rules;
  rules.wanted = wanted;
  const SearchResult found = search_settings(points, rules, simulate_all);
  EXPECT_EQ(std::count_if(found.outcomes.begin(), found.outcomes.end(),
                          [&](const PlanOutcome& outcome) { return outcome.point.id == wanted; }),
            1);
}

}  // namespace
}  // namespace strobe
