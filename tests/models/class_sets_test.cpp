// Events with several classes: the rule that names one set for all of them against all sets there are, F1-micro against
// its definition, pair by pair.
#include "models/tasks/class_sets.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/metrics.hpp"
#include "tests/workloads/generators/bursty_support.hpp"
#include "workloads/graph/event_data.hpp"

namespace strobe {
namespace {

/// Logits of n samples, an eighth of them exactly 0, and sets with bits past the classes, which count nothing.
struct RandomSamples {
  std::vector<double> logits;
  std::vector<std::int64_t> sets;

  RandomSamples(std::uint64_t seed, std::int64_t samples, std::int64_t classes) {
    const RandomStream random(seed, random_purpose::test, 190);
    for (std::int64_t i = 0; i < samples; ++i)
      sets.push_back(static_cast<std::int64_t>(random.bits(static_cast<std::uint64_t>(i))));
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(samples * classes); ++i) {
      const double logit = 2.0 * random.uniform(1'000'000 + 2 * i) - 1.0;
      logits.push_back(random.below(1'000'001 + 2 * i, 8) == 0 ? 0.0 : logit);
    }
  }
};

double f1(double right, double wrong, double missed) { return 2 * right / (2 * right + wrong + missed); }

/// F1-micro from its definition; `truth(i, c)` says whether sample i is of class c.
template <class Truth>
double judged_f1(const std::vector<double>& logits, std::int64_t classes, const Truth& truth) {
  double right = 0, wrong = 0, missed = 0;
  for (std::size_t at = 0; at < logits.size(); ++at) {
    const std::size_t classes_of = classes;
    const bool said = logits[at] > 0, is = truth(at / classes_of, at % classes_of);
    right += said && is ? 1 : 0;
    wrong += said && !is ? 1 : 0;
    missed += !said && is ? 1 : 0;
  }
  return f1(right, wrong, missed);
}

TEST(MicroF1, IsThatOfAllPairs) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const std::int64_t classes : {1, 2, 7, 56, 64}) {
      const RandomSamples samples(seed, 40, classes);
      const double judged = judged_f1(samples.logits, classes, [&](std::size_t i, std::size_t c) {
        return (static_cast<std::uint64_t>(samples.sets[i]) >> c & 1) != 0;
      });
      EXPECT_DOUBLE_EQ(micro_f1(samples.logits, samples.sets, classes), judged) << seed << ", " << classes;
    }
  }
}

TEST(MicroF1, ByHand) {
  EXPECT_DOUBLE_EQ(micro_f1({1, -1, 1, 1}, {0b01, 0b10}, 2), 0.8);  // TP 2, FP 1, FN 0
  EXPECT_DOUBLE_EQ(micro_f1({0, 0}, {0b11}, 2), 0.0) << "a logit of 0 says no";
  EXPECT_DOUBLE_EQ(micro_f1({-1, -1}, {0}, 2), 0.0) << "nothing said, nothing true";
  EXPECT_TRUE(std::isnan(micro_f1({1, NAN}, {0b01}, 2)));
  EXPECT_TRUE(std::isnan(micro_f1({}, {}, 2)));
}

EventGraph classed(std::uint64_t seed, std::int64_t classes, std::int64_t per_event) {
  return test::bursty(
      {{"vertices", 200}, {"events", 2000}, {"classes", classes}, {"classes_per_event", per_event}, {"labels", 0.2}},
      seed);
}

bool is_of_class(const EventGraph& graph, EdgeId e, std::size_t c) {
  std::uint64_t bits = 0;
  EXPECT_TRUE(event_classes(graph, e, bits));
  return (bits >> c & 1) != 0;
}

/// F1-micro of saying `set` of the events [first, last).
double judged_set(const EventGraph& graph, std::uint64_t set, EdgeId first, EdgeId last) {
  double right = 0, wrong = 0, missed = 0;
  for (EdgeId e = first; e < last; ++e) {
    std::uint64_t bits = 0;
    event_classes(graph, e, bits);
    right += std::popcount(bits & set), wrong += std::popcount(set & ~bits), missed += std::popcount(bits & ~set);
  }
  return f1(right, wrong, missed);
}

TEST(BestFixedSet, IsTheBestOfAllSets) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const auto& [classes, per_event] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {4, 1}, {7, 2}, {8, 4}}) {
      const EventGraph graph = classed(seed, classes, per_event);
      const ClassCounts counts = count_classes(graph, 100, 400);
      const std::uint64_t best = best_fixed_set(counts);
      EXPECT_DOUBLE_EQ(fixed_set_f1(counts, best), judged_set(graph, best, 100, 400));
      for (std::uint64_t set = 0; set < std::uint64_t{1} << classes; ++set)
        EXPECT_LE(judged_set(graph, set, 100, 400), fixed_set_f1(counts, best) + 1e-15) << seed << ", " << set;
    }
  }
}

TEST(BestFixedSet, ByHand) {
  EXPECT_EQ(best_fixed_set({{3, 1, 3}, 4}), 0b101u) << "F1 12 / 15, and 14 / 19 of all three";
  EXPECT_EQ(best_fixed_set({{0, 0}, 5}), 0u);
  EXPECT_TRUE(std::isnan(fixed_set_f1({{0, 0}, 0}, 1)));
  std::vector<std::int64_t> last(64, 0);
  last[63] = 2;
  EXPECT_EQ(best_fixed_set({last, 2}), std::uint64_t{1} << 63);
}

std::unique_ptr<EventTask> classifying(const Json& parameters) {
  return EventTaskRegistry::instance().find("event-classification").value(parameters);
}

TEST(SeveralClasses, MetricsAndRulesAreThoseOfTheEvents) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const EventGraph graph = classed(seed, 6, 2);
    const auto several = classifying({});
    const EventTaskData data = several->draw(graph, seed);
    const TimeSplit& split = data.split;
    ASSERT_LT(split.train_end, split.validation_end);
    ASSERT_LT(split.validation_end, graph.events());
    std::uint64_t best = 0;
    for (std::uint64_t set = 0; set < 64; ++set) {
      if (judged_set(graph, set, 0, split.train_end) > judged_set(graph, best, 0, split.train_end)) best = set;
    }
    EXPECT_DOUBLE_EQ(data.rules.at("majority_f1_micro"), judged_set(graph, best, split.validation_end, graph.events()));
    EXPECT_DOUBLE_EQ(data.rules.at("validation_majority_f1_micro"),
                     judged_set(graph, best, split.train_end, split.validation_end));
    const EdgeId first = split.validation_end;
    EventOutputs outputs{RandomSamples(seed, graph.events() - first, 6).logits, {}, {}};
    for (EdgeId e = first; e < graph.events(); ++e) {
      outputs.first.push_back(6 * (e - first));
      outputs.counts.push_back(6);
    }
    const auto metrics = several->metrics(graph, data, first, outputs);
    ASSERT_EQ(metrics.size(), 1u);
    EXPECT_DOUBLE_EQ(metrics.at("f1_micro"), judged_f1(outputs.values, 6, [&](std::size_t i, std::size_t c) {
                       return is_of_class(graph, first + static_cast<EdgeId>(i), c);
                     }));
    EXPECT_EQ(several->metric_names(graph), std::vector<std::string>{"f1_micro"});
  }
}

TEST(SeveralClasses, LabelsSayWhichKindIsMeant) {
  const EventGraph both = classed(1, 6, 2);
  EXPECT_EQ(classifying({})->parameters(both, 4).back().columns, 6) << "auto";
  EXPECT_EQ(classifying({{"classes", 9}})->parameters(both, 4).back().columns, 9);
  const auto single = classifying({{"labels", "single"}});
  EXPECT_EQ(single->parameters(both, 4).back().columns, 2);
  EXPECT_EQ(single->metric_names(both).size(), 3u);
  const EventTaskData data = single->draw(both, 1);
  const auto of_zero = std::count(both.event_label.begin() + data.split.validation_end, both.event_label.end(), 0);
  EXPECT_DOUBLE_EQ(data.rules.at("majority_f1_micro"),
                   static_cast<double>(of_zero) / static_cast<double>(both.events() - data.split.validation_end));
}

TEST(SeveralClasses, TheRuleOfSingleLabelsNamesTheMostFrequentOfTraining) {
  EventGraph graph = test::bursty({{"events", 100}, {"labels", 0.3}});
  const EventTaskData before = classifying({})->draw(graph, 1);
  std::vector<std::int8_t> labels;
  for (EdgeId e = 0; e < graph.events(); ++e) labels.push_back(e < before.split.train_end || e % 4 == 0 ? 1 : 0);
  graph.event_label = labels;
  const EventTaskData data = classifying({})->draw(graph, 1);
  const EdgeId first = before.split.validation_end, events = graph.events();
  const auto ones = std::count(graph.event_label.begin() + first, graph.event_label.end(), 1);
  EXPECT_DOUBLE_EQ(data.rules.at("majority_f1_micro"), static_cast<double>(ones) / static_cast<double>(events - first));
}

TEST(SeveralClasses, TheRuleOfSetsCountsEveryEventOfTraining) {
  // A split so early that the first event is all of training.
  const EventGraph graph = classed(2, 6, 2);
  const EventTaskData data = classifying({{"split", "0.05/0/99.95"}})->draw(graph, 1);
  ASSERT_EQ(data.split.train_end, 1);
  std::uint64_t first = 0;
  event_classes(graph, 0, first);
  EXPECT_DOUBLE_EQ(data.rules.at("majority_f1_micro"), judged_set(graph, first, 1, graph.events()));
}

TEST(SeveralClasses, MissingLabelsAreRefused) {
  const auto refused = [](const Json& parameters, const EventGraph& graph, const char* where, const char* advice) {
    try {
      classifying(parameters)->draw(graph, 1);
      ADD_FAILURE() << "not refused: " << parameters.dump();
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), where);
      EXPECT_NE(std::string(error.what()).find(advice), std::string::npos) << error.what();
    }
  };
  const EventGraph labelled = test::bursty({{"events", 100}, {"labels", 0.3}}),
                   classed = test::bursty({{"events", 100}, {"classes", 6}}), bare = test::bursty({{"events", 100}});
  refused({{"labels", "several"}}, labelled, "/task/labels", "take labels=single");
  refused({{"labels", "several"}}, bare, "/task/labels", "choose future-links");
  refused({{"labels", "single"}}, classed, "/task/labels", "take labels=several");
  refused({}, bare, "/task", "choose future-links");
  refused({{"classes", 5}}, classed, "/task/classes", "leave classes out");
  refused({{"classes", 65}}, classed, "/task/classes", "leave classes out");
  refused({{"classes", 1}}, labelled, "/task/classes", "at least 2");
}

}  // namespace
}  // namespace strobe
