// No case gets the data of another case. Every option of a base case is changed in turn. The changed case is planned
// and trained with a cache that holds the base's data, and with an empty one. The outcomes are equal bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "core/data_cache.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/run/plan_digest.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/harness/option_pairs.hpp"
#include "workloads/graph/plugins.hpp"

namespace strobe {
namespace {

/// Values of text options, which no table lists.
const std::map<std::string, std::vector<std::string>>& cache_texts() {
  static const std::map<std::string, std::vector<std::string>> texts = {
      {"format", {"csv"}},
      {"columns", {"source=target,target=source,time=time"}},
      {"window", {"50s"}},
      {"stride", {"25s"}},
      {"features", {"nowhere.csv"}},
      {"missing", {"2"}},
      {"steps", {"0:4"}},
      {"split", {"50/20/30"}},
      {"candidates", {"5"}},
      {"class_weights", {"none"}},
      {"device", {"sim", "cpu"}},
      {"comm", {"sim", "local"}},
      {"cluster", {"g4dn-t4"}},
      {"software", {"torch"}},
      {"kernels", {"plain"}},
      {"load_model", {"nowhere.safetensors"}},
      {"until", {"converged"}},
      {"max_cells", {"12"}},
  };
  return texts;
}

std::vector<Json> changed_values(const Field& field, const Json& base) {
  if (field.type == FieldType::integer) {
    std::vector<Json> values;
    const auto value = base.get<std::int64_t>();
    if (static_cast<double>(value) + 1 <= field.maximum) values.push_back(value + 1);
    if (static_cast<double>(value) - 1 >= field.minimum) values.push_back(value - 1);
    return values;
  }
  if (field.name == "timeout") return {120};  // a short timeout may end the case
  const auto texts = cache_texts().find(field.name);
  std::vector<Json> values;
  if (field.type == FieldType::text && texts != cache_texts().end())
    values.assign(texts->second.begin(), texts->second.end());
  else
    values = test::other_values(field);
  std::erase(values, base);
  return values;
}

/// The plan without times of planning, which differ in every run.
Json without_seconds(Json plan) {
  for (const char* key : {"generation_seconds", "assignment_seconds", "fusing_seconds"})
    if (plan.is_object()) plan.erase(key);
  for (Json& part : plan)
    if (part.is_structured()) part = without_seconds(part);
  return plan;
}

/// All results of a case that depend on its data; `refused` when there are none.
struct CaseOutcome {
  std::string text;
  bool refused = false;
};

/// The note without the time of pre-training, which differs in every run.
std::string without_training_time(const std::string& note) {
  return std::regex_replace(note, std::regex(" in [0-9.e+-]+ s,"), "");
}

CaseOutcome outcome_with(const Json& request, const DataCache& cache) {
  try {
    const Case c = case_from_json(request, "");
    const auto plan = make_plan(c, PlanUse::run, cache);
    const CaseResult result = run_planned(plan, c);
    Json all = {{"plan", without_seconds(describe(*plan))}, {"status", result.status}};
    const std::string digest = plan_digest(*plan);
    all["digest"] = std::vector<int>(digest.begin(), digest.end());
    all["reason"] = result.reason;
    all["loss"] = result.loss.per_epoch;
    for (const auto& [name, series] : result.metrics) all["metrics"][name] = series.per_epoch;
    for (const auto& [name, count] : result.metric_samples) all["samples"][name] = count;
    for (const std::string& note : result.notes) all["notes"].push_back(without_training_time(note));
    return {all.dump(1), result.status != "ok"};
  } catch (const Error& error) {
    return {error.what(), true};
  }
}

/// Tries a base case and each of its options at other values; counts the cases that ran.
class ChangedOptions {
 public:
  explicit ChangedOptions(Json base) : base_(std::move(base)) {}

  /// Every option of the base's plug-in in this slot.
  void change_plugin(const std::string& slot) {
    const Json plugin = base_.at(slot);
    const FieldTable table = find_case_slot(slot)->fields(plugin.at("name").get<std::string>(), "");
    for (const Field& field : table.fields()) {
      const Json value = plugin.value(field.name, Json::parse(field.default_text));
      for (const Json& other : changed_values(field, value)) {
        Json changed = base_;
        changed[slot][field.name] = other;
        judge(changed, slot + "." + field.name + "=" + other.dump());
      }
    }
  }

  void change_scalars() {
    for (const Field& field : case_fields().fields()) {
      const Json value = base_.value(field.name, Json::parse(field.default_text));
      for (const Json& other : changed_values(field, value)) {
        Json changed = base_;
        changed[field.name] = other;
        judge(changed, field.name + "=" + other.dump());
      }
    }
  }

  int ran() const { return ran_; }

 private:
  void judge(const Json& changed, const std::string& what) {
    make_plan(case_from_json(base_, ""), PlanUse::run, warm_);
    const CaseOutcome with_warm = outcome_with(changed, warm_), alone = outcome_with(changed, {});
    EXPECT_EQ(with_warm.text, alone.text) << base_.dump() << " with " << what;
    ran_ += alone.refused ? 0 : 1;
  }

  Json base_;
  DataCache warm_;
  int ran_ = 0;
};

Json snapshots_base() {
  return {{"workload", {{"name", "dynamic-sbm"}, {"vertices", 30}, {"steps", 8}, {"communities", 3}}},
          {"model", {{"name", "tm-gcn"}}},
          {"strategy", {{"name", "vertex"}}},
          {"task", {{"name", "link-prediction"}}},
          {"optimizer", {{"name", "adam"}}},
          {"ranks", 2},
          {"epochs", 1},
          {"warmup", 0}};
}

Json events_base() {
  return {{"workload", {{"name", "bursty_events"}, {"vertices", 30}, {"events", 400}, {"labels", 0.3}}},
          {"model", {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}}},
          {"strategy", {{"name", "sequential"}, {"batch", 32}}},
          {"task", {{"name", "future-links"}, {"candidates", "9"}, {"batch", 20}}},
          {"optimizer", {{"name", "adam"}}},
          {"epochs", 1},
          {"warmup", 0}};
}

Json hybrid_base() {
  Json request = snapshots_base();
  request.update({{"device", "sim"}, {"comm", "sim"}, {"numerics", "cpu"}});  // async averaging follows virtual time
  request["strategy"] = {{"name", "hybrid_batch"}, {"vertices", "50%"}, {"snapshots", "50%"}, {"interval", "1"}};
  return request;
}

Json static_base() {
  Json request = events_base();
  request["model"].update({{"static", "pretrained"}, {"static_epochs", 1}});
  return request;
}

/// The plug-in at sizes of small cases.
Json small_plugin(const std::string& slot, const std::string& name, const Json& base) {
  if (base.at(slot).at("name") == name) return base.at(slot);
  const FieldTable fields = find_case_slot(slot)->fields(name, "");
  const std::vector<std::string> known = fields.names();
  const auto has = [&](const std::string& key) { return std::find(known.begin(), known.end(), key) != known.end(); };
  Json sizes = {{"vertices", 30}, {"events", 400}, {"labels", 0.3}, {"edges_mean", 40}};
  const bool cut = has("window_count") && family_of(base.at("model")) == "snapshots";
  sizes[cut ? "window_count" : "steps"] = 8;
  Json plugin = {{"name", name}};
  for (const auto& [key, value] : sizes.items())
    if (slot == "workload" && has(key) && (key != "steps" || !has("window_count"))) plugin[key] = value;
  test::make_small(fields, plugin);
  return plugin;
}

/// Names of plug-ins of a slot. Workloads are the generators and one file.
std::vector<std::string> names_of(const std::string& slot, const std::string& file) {
  if (slot != "workload") return find_case_slot(slot)->names();
  std::vector<std::string> names = GeneratorRegistry::instance().names();
  for (const std::string& name : EventGeneratorRegistry::instance().names()) names.push_back(name);
  names.push_back(file);
  return names;
}

std::string schedule_name(const Json& request) { return schedule_of(case_from_json(request, "")).name; }

struct CacheBase {
  const char* name;
  Json (*request)();
};

class DataCacheOptions : public ::testing::TestWithParam<CacheBase> {
 protected:
  /// Tries the base with each possible plug-in of the slot, and changes the options of that plug-in.
  int change_plugins(const std::string& slot) {
    const test::RandomEvents file(3, 30, 400);
    const Json base = GetParam().request();
    int ran = 0;
    for (const std::string& name : names_of(slot, file.workload(8).at("name").get<std::string>())) {
      Json request = base;
      request[slot] = small_plugin(slot, name, base);
      if (outcome_with(request, {}).refused || schedule_name(request) != schedule_name(base)) continue;
      ChangedOptions changed(request);
      changed.change_plugin(slot);
      ran += changed.ran();
    }
    return ran;
  }
};

TEST_P(DataCacheOptions, OfTheCaseItself) {
  ChangedOptions changed(GetParam().request());
  changed.change_scalars();
  EXPECT_GT(changed.ran(), 8);
}

TEST_P(DataCacheOptions, OfWorkloads) { EXPECT_GT(change_plugins("workload"), 20); }
TEST_P(DataCacheOptions, OfModels) { EXPECT_GT(change_plugins("model"), 10); }
TEST_P(DataCacheOptions, OfStrategies) { EXPECT_GT(change_plugins("strategy"), 1); }
TEST_P(DataCacheOptions, OfTasks) { EXPECT_GT(change_plugins("task"), 3); }
TEST_P(DataCacheOptions, OfOptimizers) { EXPECT_GT(change_plugins("optimizer"), 5); }

INSTANTIATE_TEST_SUITE_P(All, DataCacheOptions,
                         ::testing::Values(CacheBase{"full_batches", snapshots_base},
                                           CacheBase{"hybrid_batches", hybrid_base},
                                           CacheBase{"event_batches", events_base},
                                           CacheBase{"static_memory", static_base}),
                         [](const auto& base) { return std::string(base.param.name); });

}  // namespace
}  // namespace strobe
