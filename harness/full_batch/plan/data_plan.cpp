#include "harness/full_batch/plan/data_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/full_batch/exchange/placed_samples.hpp"
#include "harness/full_batch/plan/existing_samples.hpp"
#include "workloads/preparation/feature_scale.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

/// Keeps the last few values by key, so that a suite does not read and preprocess a graph once per case.
template <class T>
class RecentlyMade {
 public:
  template <class Make>
  std::shared_ptr<const T> get(const std::string& key, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      if (it->first != key) continue;
      kept_.splice(kept_.begin(), kept_, it);
      return kept_.front().second;
    }
    kept_.emplace_front(key, std::make_shared<const T>(make()));
    if (kept_.size() > 3) kept_.pop_back();
    return kept_.front().second;
  }

 private:
  std::mutex mutex_;
  std::list<std::pair<std::string, std::shared_ptr<const T>>> kept_;
};

std::string text_of(const Json& plugin, const char* key) { return plugin.at(key).get<std::string>(); }

std::string key_of(const Preprocessing& what) {
  return what.smooth + what.m + std::to_string(what.window) + (what.smooth_features ? "x" : "") +
         (what.laplacian ? "l" : "") + what.walk + (what.symmetric_pattern ? "s" : "") +
         (what.precompute_first_product ? "p" : "") + (what.keep_features ? "k" : "");
}

std::string key_of(const FeatureTerms& terms) {
  std::string key = terms.kind + std::to_string(terms.hops);
  for (const std::string& walk : terms.walks) key += walk;
  return key;
}

/// How features are scaled: as the workload's option says, or with auto as the model asks. It asks for degrees alone:
/// what users bring is theirs to scale.
std::string feature_scale_of(const Case& c, const SnapshotGraph& raw, const Model& model) {
  if (c.workload.contains("feature_scale")) return text_of(c.workload, "feature_scale");
  // The file of a graph's features, or how many a generator draws.
  const Json features = c.workload.value("features", Json(""));
  const bool degrees = features == Json("") && raw.targets.empty();
  return degrees ? model.preparation().inputs.feature_scale : "none";
}

/// Whether only some of the steps are taken: of graphs that are cut from events or read, "A:B".
bool is_part(const Json& workload) {
  return workload.contains("steps") && workload.at("steps").is_string() &&
         !workload.at("steps").get<std::string>().empty();
}

/// A row must say what was done to its features unasked.
void note_feature_scale(const Case& c, const std::string& scale, std::vector<std::string>& notes) {
  if (c.workload.contains("feature_scale") || scale == "none") return;
  notes.push_back(
      fmt::format("degrees are read with feature_scale={}, which {} needs", scale, text_of(c.model, "name")));
}

/// Steps that training samples read, from the first one on.
std::int64_t trained_steps(const TaskData& data) {
  const std::vector<Step>& steps = data.train.step;
  return steps.empty() ? 1 : 1 + *std::max_element(steps.begin(), steps.end());
}

/// Prepares the graphs of one case.
class GraphLoader {
 public:
  GraphLoader(const Case& c, const ModelChoice& choice) : case_(c), choice_(choice) {}

  DataPlan load() {
    const bool shape = is_shape_workload(text_of(case_.workload, "name"));
    shape ? load_shape() : load_graph();
    look_at_samples();
    for (const Preprocessing& support : choice_.equations->preparation().supports)
      data_.supports.push_back(prepared(support));
    return std::move(data_);
  }

 private:
  void load_shape() {
    data_.shape = std::make_shared<ShapeCase>(make_shape_case(case_, *choice_.task));
    data_.notes = data_.shape->complete.notes;
    const auto no_samples = std::make_shared<TaskData>();
    no_samples->steps = data_.shape->samples.steps;
    data_.samples = no_samples;
    data_.graph = prepared(choice_.equations->preparation().inputs);
  }

  void load_graph() {
    static RecentlyMade<SnapshotGraph> graphs;
    static RecentlyMade<std::shared_ptr<const Presence>> presences;
    static RecentlyMade<TaskData> draws;
    const std::string key = case_.workload.dump() + std::to_string(case_.seed);
    data_.raw = graphs.get(key, [&] {
      return load_workload(text_of(case_.workload, "name"), case_.workload, static_cast<std::uint64_t>(case_.seed));
    });
    if (data_.raw->vertices == 0 || data_.raw->edges() == 0) {
      throw InvalidRequest("/workload",
                           "the graph is empty: " + std::to_string(data_.raw->vertices) + " vertices, no edges");
    }
    data_.notes = data_.raw->provenance.notes;  // what reading chose for the user
    data_.presence = *presences.get(key + case_.presence, [&] { return presence_of(*data_.raw, case_.presence); });
    data_.samples =
        draws.get(key + case_.task.dump() + case_.precision + case_.presence, [&] { return draw_samples(); });
    data_.graph = prepared(choice_.equations->preparation().inputs);
    note_feature_scale(case_, feature_scale_of(case_, *data_.raw, *choice_.equations), data_.notes);
  }

  /// The task's samples. In fp32, values to predict are those that fp32 holds, in the metrics too.
  TaskData draw_samples() const {
    const auto seed = static_cast<std::uint64_t>(case_.seed);
    std::optional<EventGraph> events;
    if (choice_.task->wants_events() && is_part(case_.workload)) {
      throw InvalidRequest("/workload/steps",
                           "the task is judged on all events, and steps keeps those of some steps alone; leave it out");
    }
    if (choice_.task->wants_events()) events = load_events(text_of(case_.workload, "name"), case_.workload, seed);
    const auto draw_all = [&](const SnapshotGraph& graph) {
      return strobe::draw_samples(*choice_.task, graph, events ? &*events : nullptr, seed);
    };
    const auto draw = [&](const SnapshotGraph& graph) {
      return data_.presence == nullptr
                 ? draw_all(graph)
                 : draw_existing_samples(*choice_.task, draw_all, graph, *data_.presence, case_.presence);
    };
    if (choice_.fp64 || data_.raw->targets.empty() || data_.raw->exact_features.empty()) return draw(*data_.raw);
    SnapshotGraph rounded = *data_.raw;
    rounded.exact_features.clear();
    return draw(rounded);
  }

  /// The graph preprocessed as a model wants it.
  std::shared_ptr<const PreparedGraph> prepared(const Preprocessing& what) {
    if (data_.shape != nullptr) {
      return std::make_shared<PreparedGraph>(
          prepare_shape(data_.shape->complete, what, data_.shape->samples.steps, data_.notes));
    }
    static RecentlyMade<PreparedGraph> kept;
    const std::string scale = feature_scale_of(case_, *data_.raw, *choice_.equations);
    const std::int64_t trained = trained_steps(*data_.samples), steps = data_.samples->steps;
    const std::string how = case_.workload.dump() + std::to_string(case_.seed) + key_of(what) + case_.precision +
                            std::to_string(steps) + key_of(what.feature_terms) + scale + std::to_string(trained) +
                            case_.presence;
    return kept.get(how, [&] {
      return prepare_scaled(FeatureScale(*data_.raw, scale, trained, choice_.fp64, data_.presence), what, steps,
                            choice_.fp64);
    });
  }

  /// What the samples mean for the model and for the row.
  void look_at_samples() {
    data_.notes.insert(data_.notes.end(), data_.samples->notes.begin(), data_.samples->notes.end());
    data_.trained_steps = data_.samples->trained_steps();
    if (data_.shape != nullptr) {
      for (const StepSamples& step : data_.shape->samples.train.steps)
        data_.trained_steps = std::max<std::int64_t>(data_.trained_steps, step.step + 1);
    }
    const ModelTraits traits = choice_.equations->traits();
    check_steps(traits, data_.trained_steps);
    if (data_.trained_steps == data_.graph->steps) return;
    const std::string note =
        untrained_steps_note(traits, text_of(case_.model, "name"), data_.trained_steps, data_.graph->steps);
    if (!note.empty()) data_.notes.push_back(note);
  }

  const Case& case_;
  const ModelChoice& choice_;
  DataPlan data_;
};

}  // namespace

double DataPlan::trained_edges() const {
  std::int64_t edges = 0;
  const std::int64_t steps = std::min(trained_steps, graph->steps);  // not those that are tested alone
  if (raw == nullptr) {
    const std::vector<std::int64_t> of_shape = step_edges(shape->complete.shape);
    for (std::int64_t t = 0; t < steps; ++t) edges += of_shape[static_cast<std::size_t>(t)];
  } else {
    for (std::int64_t t = 0; t < steps; ++t) edges += raw->snapshots[static_cast<std::size_t>(t)]->nonzeros();
  }
  return static_cast<double>(edges);
}

double DataPlan::trained_cells() const {
  const std::int64_t steps = std::min(trained_steps, graph->steps);
  std::int64_t cells = presence == nullptr ? graph->vertices * steps : 0;
  for (Step t = 0; presence != nullptr && t < steps; ++t) cells += presence->count(t);
  return static_cast<double>(cells);
}

std::vector<Step> DataPlan::steps_tested() const {
  if (shape == nullptr) return steps_of(samples->test);
  std::vector<Step> steps;
  for (const StepSamples& step : shape->samples.test.steps) steps.push_back(step.step);
  return steps;
}

std::vector<Step> DataPlan::steps_validated() const {
  return shape == nullptr ? steps_of(samples->validation) : std::vector<Step>();
}

DataPlan load_data(const Case& c, const ModelChoice& choice) { return GraphLoader(c, choice).load(); }

}  // namespace strobe
