// Stop and resume with every pair of options, for every model under every strategy of the registries. A run that stops
// between two epochs and is resumed equals an uninterrupted one bit for bit. A pair that cannot run is refused, and the
// refusal names one of its options.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>

#include "core/joined_fields.hpp"
#include "core/random.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "tests/harness/option_settings.hpp"
#include "tests/long.hpp"

namespace strobe {
namespace {

using test::OptionPair;
using test::OptionValue;
using test::PairSetting;
using test::settings;

constexpr int whole_epochs = 3;

class ResumedPairs {
 public:
  explicit ResumedPairs(PairSetting setting) : setting_(std::move(setting)) {
    const bool events = setting_.schedule == "event_batches";
    base_ = {{"workload", events ? event_test::random_visits(folder_, 21, 90, 9, 12) : ""},
             {"model", {{"name", setting_.model}}},
             {"strategy", setting_.stance},
             {"ranks", setting_.ranks},
             {"epochs", whole_epochs},
             {"warmup", 0},
             {"threads", 1},
             {"optimizer", {{"name", "adam"}, {"rate", 0.01}}}};
    base_["strategy"]["name"] = setting_.strategy;
    if (!events) base_["workload"] = {{"name", snapshots()}, {"window_count", 8}};
    if (setting_.schedule == "hybrid_batches") make_repeatable();
    const FieldTable& model = ModelRegistry::instance().find(setting_.model).parameters;
    const FieldTable strategy = test::strategy_fields(setting_);
    test::make_small(model, base_["model"]);
    test::make_small(strategy, base_["strategy"]);
    test::add_values(model, "model", Json::object(), values_);
    test::add_values(strategy, "strategy", setting_.stance, values_);
    std::vector<std::string> own = setting_.schedule == "full_batch" ? full_batch_only() : never_full_batch();
    own.insert(own.end(), {"precision", "threads"});
    if (!events) own.emplace_back("presence");
    test::add_values(chosen_fields(case_fields(), own), "", Json::object(), values_);
  }

  std::vector<OptionPair> pairs() const { return test::all_pairs(values_); }

  void check(const OptionPair& pair) {
    Json request = base_;
    pair.first.set(request), pair.second.set(request);
    const std::string what = setting_.name() + ": " + pair.first.text() + ", " + pair.second.text();
    ModelOutputs outputs;
    outputs.weights = folder_.file("whole.safetensors");
    const Run whole = run(request, whole_epochs, outputs);
    if (!whole.result) return check_refusal(pair, whole.refusal, what);
    ++ran_;
    const auto stop = static_cast<int>(1 + ran_ % (whole_epochs - 1));
    outputs.weights = folder_.file("stopped.safetensors");
    outputs.checkpoint = folder_.file("state.safetensors");
    const Run stopped = run(request, stop, outputs);
    ASSERT_TRUE(stopped.result) << what << ": " << stopped.refusal;
    outputs.weights = folder_.file("resumed.safetensors");
    outputs.resume_training = true;
    const Run resumed = run(request, whole_epochs, outputs);
    ASSERT_TRUE(resumed.result) << what << ": " << resumed.refusal;
    // A checkpoint does not have the ready batches of a pipeline (docs/explanation/dynahb.md).
    if (request["strategy"].value("generator", "inline") == "inline")
      expect_same(*whole.result, *resumed.result, stop, what);
    else
      EXPECT_EQ(resumed.result->loss.per_epoch.size(), whole.result->loss.per_epoch.size()) << what;
  }

  std::int64_t ran() const { return ran_; }
  std::int64_t refused() const { return refused_; }

 private:
  struct Run {
    std::optional<CaseResult> result;  // empty: refused, or it has no row to compare
    std::string refusal;
  };

  std::string snapshots() const {
    const RandomStream random(22, 2);
    std::string text = "source,target,time,weight\n";
    for (std::uint64_t e = 0; e < 300; ++e)
      text += fmt::format("{},{},{},{}\n", random.below(4 * e, 48), random.below(4 * e + 1, 48), e,
                          1 + random.below(4 * e + 2, 3));
    return folder_.write("events.csv", text);
  }

  /// The choice of batches depends on the host's speed, and the choices of an adjuster on seconds. Inline batches
  /// follow from the seed, and so do seconds in virtual time.
  void make_repeatable() {
    base_["strategy"].update({{"generator", "inline"}, {"vertex_sizes", "10%/40%"}, {"snapshot_sizes", "20%/50%"}});
    base_["device"] = "sim", base_["numerics"] = "cpu", base_["cluster"] = "aimos-v100";
    base_["task"] = "vertex-regression";
  }

  static Run run(Json request, int count, const ModelOutputs& outputs) {
    request["epochs"] = count;
    try {
      CaseResult result = run_case(case_from_json(request, ""), nullptr, outputs);
      if (result.status == "ok") return {std::move(result), ""};
      return {std::nullopt, result.status + ": " + result.reason};
    } catch (const InvalidRequest& error) {
      return {std::nullopt, error.where() + ": " + error.message()};
    } catch (const Unavailable& error) {
      return {std::nullopt, error.what()};
    }
  }

  const std::string& refusal_alone(const OptionValue& option) {
    const auto [known, added] = alone_.try_emplace(option.text());
    if (!added) return known->second;
    Json request = base_;
    option.set(request);
    return known->second = run(request, whole_epochs, {}).refusal;
  }

  /// If an option's value is refused on its own, the refusal must name that option. Otherwise it must name one of the
  /// two.
  void check_refusal(const OptionPair& pair, const std::string& refusal, const std::string& what) {
    ++refused_;
    const bool first = !refusal_alone(pair.first).empty(), second = !refusal_alone(pair.second).empty();
    const bool neither = !first && !second;
    const bool named = ((first || neither) && test::names_option(refusal, pair.first)) ||
                       ((second || neither) && test::names_option(refusal, pair.second));
    EXPECT_TRUE(named) << what << " is refused without a word of " << (neither ? "either" : "it") << ": " << refusal;
  }

  void expect_same(const CaseResult& whole, const CaseResult& resumed, int stop, const std::string& what) const {
    const auto bytes = [&](const char* name) {
      std::ifstream file(folder_.file(name), std::ios::binary);
      return std::string(std::istreambuf_iterator<char>(file), {});
    };
    EXPECT_EQ(resumed.loss.per_epoch, whole.loss.per_epoch) << what << ", stopped after " << stop;
    EXPECT_TRUE(bytes("whole.safetensors") == bytes("resumed.safetensors")) << what << ": other weights";
    ASSERT_EQ(resumed.metrics.size(), whole.metrics.size()) << what;
    for (const auto& [name, curve] : whole.metrics) {
      const std::vector<double>& other = resumed.metrics.at(name).per_epoch;
      ASSERT_EQ(other.size(), curve.per_epoch.size()) << what << ": " << name;
      for (std::size_t e = 0; e < other.size(); ++e) {
        // The weights at a stop are always evaluated, even when others rarely are.
        if (static_cast<int>(e) + 1 == stop) continue;
        const bool same = other[e] == curve.per_epoch[e] || (std::isnan(other[e]) && std::isnan(curve.per_epoch[e]));
        EXPECT_TRUE(same) << what << ": " << name << " of epoch " << e << " is " << other[e] << ", not "
                          << curve.per_epoch[e];
      }
    }
  }

  test::TemporaryFolder folder_;
  PairSetting setting_;
  Json base_;
  std::vector<OptionValue> values_;
  std::map<std::string, std::string> alone_;
  std::int64_t ran_ = 0, refused_ = 0;
};

/// Some pairs of every model under every strategy.
void check_some(const std::string& schedule, std::uint64_t each) {
  std::uint64_t number = 0;
  std::int64_t ran = 0;
  for (const PairSetting& setting : settings(schedule)) {
    ResumedPairs judge(setting);
    const std::vector<OptionPair> pairs = judge.pairs();
    const RandomStream random(7, 5, static_cast<std::uint32_t>(number++));
    for (std::uint64_t n = 0; n < each; ++n) judge.check(pairs[random.below(n, pairs.size())]);
    ran += judge.ran();
  }
  EXPECT_GT(ran, 0);
}

TEST(ResumedPairsOfOptions, OfFullBatchesAreTheRunsThatWereNotStopped) { check_some("full_batch", 1); }
TEST(ResumedPairsOfOptions, OfHybridBatchesAreTheRunsThatWereNotStopped) { check_some("hybrid_batches", 1); }
TEST(ResumedPairsOfOptions, OfEventBatchesAreTheRunsThatWereNotStopped) { check_some("event_batches", 3); }

class ResumedPairsOfEverySetting : public ::testing::TestWithParam<PairSetting> {};

TEST_P(ResumedPairsOfEverySetting, AreTheRunsThatWereNotStopped) {
  ResumedPairs judge(GetParam());
  for (const OptionPair& pair : judge.pairs()) judge.check(pair);
  RecordProperty("ran", std::to_string(judge.ran()));
  RecordProperty("refused", std::to_string(judge.refused()));
  EXPECT_GT(judge.ran(), judge.refused() / 4);
}

std::vector<PairSetting> every_setting() {
  std::vector<PairSetting> all;
  for (const char* schedule : {"full_batch", "hybrid_batches", "event_batches"}) {
    for (PairSetting& setting : settings(schedule)) all.push_back(std::move(setting));
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Long, ResumedPairsOfEverySetting, ::testing::ValuesIn(every_setting()),
                         [](const auto& parameter) { return parameter.param.name(); });

}  // namespace
}  // namespace strobe
