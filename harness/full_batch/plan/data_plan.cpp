#include "harness/full_batch/plan/data_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/system/process_memory.hpp"
#include "harness/full_batch/exchange/placed_samples.hpp"
#include "harness/full_batch/plan/data_keys.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

std::string text_of(const Json& plugin, const char* key) { return plugin.at(key).get<std::string>(); }

/// How features are scaled: as the workload's option says, or with auto as the model says. The model's choice applies
/// to degrees only, because users scale their own features.
std::string feature_scale_of(const Case& c, const SnapshotGraph& raw, const Model& model) {
  if (c.workload.contains("feature_scale")) return text_of(c.workload, "feature_scale");
  return raw.degree_features ? model.preparation().inputs.feature_scale : "none";
}

/// A row must name each change of its features that nobody asked for.
void note_feature_scale(const Case& c, const std::string& scale, std::vector<std::string>& notes) {
  if (c.workload.contains("feature_scale") || scale == "none") return;
  notes.push_back(
      fmt::format("degrees are read with feature_scale={}, which {} needs", scale, text_of(c.model, "name")));
}

/// Number of steps up to the last one that training samples read.
std::int64_t trained_steps(const TaskData& data) {
  const Column<Step>& steps = data.train.step;
  return steps.empty() ? 1 : 1 + *std::max_element(steps.begin(), steps.end());
}

class GraphLoader {
 public:
  GraphLoader(const Case& c, const ModelChoice& choice, const DataCache& cache)
      : case_(c), choice_(choice), cache_(cache) {}

  DataPlan load() {
    const bool shape = is_shape_workload(text_of(case_.workload, "name"));
    shape ? load_shape() : load_graph();
    look_at_samples();
    for (const Preprocessing& support : choice_.equations->preparation().supports)
      data_.supports.push_back(prepared(support));
    data_.trained_edges = trained_edges();
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
    data_.raw = cache_.get(graph_key());
    look_at_process_memory();
    if (data_.raw->vertices == 0 || data_.raw->edges() == 0) {
      throw InvalidRequest("/workload",
                           "the graph is empty: " + std::to_string(data_.raw->vertices) + " vertices, no edges");
    }
    data_.notes = data_.raw->provenance.notes;  // choices that reading made for the user
    data_.presence = *cache_.get(PresenceKey{graph_key(), case_.presence});
    data_.samples = cache_.get(SamplesKey{graph_key(), case_.presence, {case_.task}, choice_.fp64});
    look_at_process_memory();
    data_.graph = prepared(choice_.equations->preparation().inputs);
    look_at_process_memory();
    note_feature_scale(case_, feature_scale_of(case_, *data_.raw, *choice_.equations), data_.notes);
  }

  GraphKey graph_key() const { return {{case_.workload}, case_.seed}; }

  /// The graph preprocessed as a model needs it.
  std::shared_ptr<const PreparedGraph> prepared(const Preprocessing& what) {
    data_.digested.push_back(data_.shape != nullptr ? prepared_shape(what) : prepared_graph(what));
    return {data_.digested.back(), &data_.digested.back()->graph()};
  }

  std::shared_ptr<const DigestedGraph> prepared_shape(const Preprocessing& what) {
    return std::make_shared<const DigestedGraph>(
        prepare_shape(data_.shape->complete, what, data_.shape->samples.steps, data_.notes));
  }

  std::shared_ptr<const DigestedGraph> prepared_graph(Preprocessing what) {
    what.feature_scale = feature_scale_of(case_, *data_.raw, *choice_.equations);
    return *cache_.get(PreparedKey{graph_key(), case_.presence, what, data_.samples->steps,
                                   trained_steps(*data_.samples), choice_.fp64});
  }

  /// Sets what the samples mean for the model and for the row.
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

  double trained_edges() const {
    std::int64_t edges = 0;
    const std::int64_t steps = std::min(data_.trained_steps, data_.graph->steps);  // leaves out steps only tested
    if (data_.raw == nullptr) {
      const std::vector<std::int64_t> of_shape = step_edges(data_.shape->complete.shape);
      for (std::int64_t t = 0; t < steps; ++t) edges += of_shape[t];
    } else {
      for (std::int64_t t = 0; t < steps; ++t) edges += data_.raw->snapshots[t]->nonzeros();
    }
    return static_cast<double>(edges);
  }

  const Case& case_;
  const ModelChoice& choice_;
  const DataCache& cache_;
  DataPlan data_;
};

}  // namespace

void DataPlan::keep_ids_of_raw() {
  if (raw == nullptr) return;
  auto ids = std::make_shared<SnapshotGraph>();
  ids->vertices = raw->vertices;
  ids->original_id = raw->original_id;
  const NameColumn& names = raw->vertex_name;
  ids->vertex_name = {names.bytes().copy(), names.ends().copy()};  // a view would keep the file of the whole graph
  raw = std::move(ids);
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

DataPlan load_data(const Case& c, const ModelChoice& choice, const DataCache& cache) {
  return GraphLoader(c, choice, cache).load();
}

}  // namespace strobe
