// Options of models of events, two at a time, as field tables list them. Every pair, in every way to train in groups,
// agrees with the plain loop (plain_loop.hpp). Every option of a model has an effect together with every other one.
#include <gtest/gtest.h>

#include <optional>

#include "harness/training/make_plan.hpp"
#include "tests/harness/event_batches/plain_loop.hpp"
#include "tests/harness/option_settings.hpp"
#include "tests/long.hpp"

namespace strobe {
namespace {

using event_test::event_case;
using event_test::expect_near;
using event_test::PlainLoop;
using test::OptionPair;
using test::OptionValue;
using test::PairSetting;

constexpr int pair_epochs = 3;

/// A small case of a setting, with two options of it.
Json request_of_pair(const PairSetting& setting) {
  Json request = {{"model", {{"name", setting.model}, {"neighbours", 3}}},
                  {"strategy", {{"name", setting.strategy}, {"batch", 7}}},
                  {"ranks", setting.ranks},
                  {"epochs", pair_epochs},
                  {"optimizer", {{"name", "sgd"}, {"rate", 0.01}}}};
  const FieldTable& model = ModelRegistry::instance().find(setting.model).parameters;
  const std::vector<std::string> names = model.names();
  if (std::find(names.begin(), names.end(), "neighbours") == names.end()) request["model"].erase("neighbours");
  for (const auto& [name, value] : setting.stance.items()) request["strategy"][name] = value;
  test::make_small(model, request["model"]);
  test::make_small(test::strategy_fields(setting), request["strategy"]);
  return request;
}

std::vector<OptionValue> values_of(const PairSetting& setting, bool of_strategy) {
  std::vector<OptionValue> values;
  test::add_values(ModelRegistry::instance().find(setting.model).parameters, "model", Json::object(), values);
  if (of_strategy) test::add_values(test::strategy_fields(setting), "strategy", setting.stance, values);
  const Json request = request_of_pair(setting);
  std::erase_if(values, [&](const OptionValue& option) {
    return request[option.slot].contains(option.name) && request[option.slot][option.name] == option.value;
  });
  return values;
}

/// A case of `request`; nothing when it is refused. tests/harness/training has the tests of refusals.
std::optional<Case> case_of_pair(const std::string& visits, const Json& request) {
  try {
    Case c = event_case(visits, request);
    make_plan(c);
    return c;
  } catch (const InvalidRequest&) {
    return std::nullopt;
  }
}

/// Whether there was a run.
bool check_plain(const test::TemporaryFolder& folder, const std::string& visits, const PairSetting& setting,
                 const OptionPair& pair) {
  Json request = request_of_pair(setting);
  pair.first.set(request), pair.second.set(request);
  const std::optional<Case> c = case_of_pair(visits, request);
  if (!c) return false;
  const std::string what = setting.name() + ": " + pair.first.text() + ", " + pair.second.text();
  const EventBatchOptions options = begin_event_case(*c).options;
  PlainLoop loop(*c, TrainingGroups::of(options.i, options.j, options.k, c->ranks));
  std::vector<double> losses;
  for (std::int64_t epoch = 0; epoch < pair_epochs; ++epoch) losses.push_back(loop.epoch(epoch));
  const event_test::TrainedRun run = event_test::train(folder, *c);
  expect_near(run.result.loss.per_epoch, losses, 1e-10, what + ": losses");
  std::vector<double> sorted = run.weights, judge = loop.weights();
  std::sort(sorted.begin(), sorted.end());
  std::sort(judge.begin(), judge.end());
  expect_near(sorted, judge, 1e-10, what + ": weights");
  return true;
}

std::vector<PairSetting> event_settings() { return test::settings("event_batches"); }

TEST(EventPairs, SomeAreThePlainLoop) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::short_visits(folder, 77, 120);
  std::uint64_t number = 0;
  int ran = 0;
  for (const PairSetting& setting : event_settings()) {
    const std::vector<OptionPair> pairs = test::all_pairs(values_of(setting, true));
    const RandomStream random(8, 5, static_cast<std::uint32_t>(number++));
    for (std::uint64_t n = 0; n < 3; ++n)
      ran += check_plain(folder, visits, setting, pairs[random.below(n, pairs.size())]);
  }
  EXPECT_GT(ran, 20);
}

class EventPairsOfEverySetting : public ::testing::TestWithParam<PairSetting> {};

TEST_P(EventPairsOfEverySetting, AreThePlainLoop) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::short_visits(folder, 77, 120);
  int ran = 0;
  for (const OptionPair& pair : test::all_pairs(values_of(GetParam(), true)))
    ran += check_plain(folder, visits, GetParam(), pair);
  EXPECT_GT(ran, 0);
}

INSTANTIATE_TEST_SUITE_P(Long, EventPairsOfEverySetting, ::testing::ValuesIn(event_settings()),
                         [](const auto& parameter) { return parameter.param.name(); });

/// Why an option of a model has no effect together with another; "" when it must have one.
std::string why_idle(const OptionValue& option, const OptionValue& beside) {
  const bool of_static = option.name == "static_epochs" || option.name == "static_rate";
  if (of_static && !(beside.name == "static" && beside.value == "pretrained")) return "nothing is trained beforehand";
  const bool of_width = beside.name == "memory" || beside.name == "hidden" || beside.name == "embedding";
  if (of_width && beside.value <= 2) return "all of so narrow a decoder may lie below its relu";
  if (beside.name == "dropout" && beside.value.get<double>() > 0.9) return "all that neighbours say is dropped";
  const bool of_scores = option.name == "attention" || option.name == "heads";
  if (of_scores && beside.name == "neighbours" && beside.value == 1) return "the softmax of one score is 1";
  if (option.name == "intra_batch_history" && beside.name == "batch" && (beside.value == 1 || beside.value == 3))
    return "three events have one time, so none of such a batch is earlier than another";
  return "";
}

/// The trained weights of a case, as bits; nothing when it is refused.
std::optional<std::vector<double>> weights_of(const test::TemporaryFolder& folder, const std::string& visits,
                                              const PairSetting& setting, const std::vector<OptionValue>& options) {
  Json request = request_of_pair(setting);
  for (const OptionValue& option : options) option.set(request);
  const std::optional<Case> c = case_of_pair(visits, request);
  if (!c) return std::nullopt;
  return event_test::train(folder, *c).weights;
}

/// Checks each of `pairs` in both orders: a run with the first option at its value differs from one without it.
void check_counts(const PairSetting& setting, const std::vector<OptionPair>& pairs) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::short_visits(folder, 78, 160);
  std::map<std::string, std::optional<std::vector<double>>> alone;
  for (const OptionPair& pair : pairs) {
    const auto both = weights_of(folder, visits, setting, {pair.first, pair.second});
    for (const auto& [option, beside] : {pair, OptionPair{pair.second, pair.first}}) {
      if (!both || option.slot != "model" || !why_idle(option, beside).empty()) continue;
      const auto [without, added] = alone.try_emplace(beside.text());
      if (added) without->second = weights_of(folder, visits, setting, {beside});
      EXPECT_TRUE(!without->second || *both != *without->second)
          << setting.name() << ": " << option.text() << " has no effect together with " << beside.text();
    }
  }
}

/// The settings on one rank.
std::vector<PairSetting> alone_settings() {
  std::vector<PairSetting> all = event_settings();
  std::erase_if(all, [](const PairSetting& setting) { return setting.ranks > 1; });
  return all;
}

TEST(EventPairs, EveryOptionOfAModelCountsWithSomeOthers) {
  std::uint64_t number = 0;
  for (const PairSetting& setting : alone_settings()) {
    const std::vector<OptionPair> pairs = test::all_pairs(values_of(setting, true));
    const RandomStream random(9, 5, static_cast<std::uint32_t>(number++));
    std::vector<OptionPair> some;
    for (std::uint64_t n = 0; n < 20; ++n) some.push_back(pairs[random.below(n, pairs.size())]);
    check_counts(setting, some);
  }
}

class OptionsThatCount : public ::testing::TestWithParam<PairSetting> {};

TEST_P(OptionsThatCount, WithEveryOther) { check_counts(GetParam(), test::all_pairs(values_of(GetParam(), true))); }

INSTANTIATE_TEST_SUITE_P(Long, OptionsThatCount, ::testing::ValuesIn(alone_settings()),
                         [](const auto& parameter) { return parameter.param.name(); });

}  // namespace
}  // namespace strobe
