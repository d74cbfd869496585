#include "harness/full_batch/plan/model_plan.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/files/checkpoint.hpp"
#include "models/optimizers/optimizer.hpp"

namespace strobe {

bool ModelPlan::any_layer_reads_neighbours() const {
  return std::any_of(layers.begin(), layers.end(), [](const LayerShape& layer) { return layer.reads_neighbours; });
}

namespace {

/// Weights are found by name, so a captured model must not have a weight of the task's name.
void refuse_double_names(const std::vector<ParameterShape>& parameters) {
  std::set<std::string> names;
  for (const ParameterShape& shape : parameters) {
    if (!names.insert(shape.name).second)
      throw InvalidRequest("/model",
                           "the model and the task both have a weight called '" + shape.name + "'; rename the model's");
  }
}

}  // namespace

ModelChoice choose_model(const Case& c) {
  const auto name = [](const Json& plugin) { return plugin.at("name").get<std::string>(); };
  ModelChoice choice;
  choice.equations = ModelRegistry::instance().find(name(c.model), "/model").value(c.model);
  choice.task = TaskRegistry::instance().find(name(c.task), "/task").value(c.task);
  choice.fp64 = c.precision == "fp64";
  // Made here too, so that conflicting options are refused before ranks make their own optimizer.
  OptimizerRegistry::instance().find(name(c.optimizer), "/optimizer").value(c.optimizer);
  return choice;
}

ModelPlan plan_model(const Case& c, const ModelChoice& choice, std::int64_t feature_width) {
  ModelPlan plan{choice, feature_width, {}, {}, 0, {}};
  plan.layers = choice.equations->layers(feature_width);
  plan.parameters = choice.equations->parameters(feature_width);
  for (ParameterShape& shape : choice.task->parameters(plan.layers.back().temporal_width))
    plan.parameters.push_back(std::move(shape));
  refuse_double_names(plan.parameters);
  for (const ParameterShape& shape : plan.parameters) plan.parameter_count += shape.rows * shape.columns;
  if (!c.load_model.empty()) plan.start_values = load_weights(c.load_model, c, plan.parameters);
  return plan;
}

bool may_send_first_input(const std::vector<LayerShape>& layers) {
  return layers.size() > 1 && layers[0].rows_alone && !layers[0].reads_neighbours && layers[1].reads_neighbours;
}

void send_first_input(const Case& c, ModelPlan& plan) {
  if (!may_send_first_input(plan.layers)) {
    throw InvalidRequest("/strategy/halo",
                         "the first layer of " + c.model.at("name").get<std::string>() +
                             " with these parameters does not compute each row from constants of that row alone, so "
                             "readers cannot compute it again; leave halo out");
  }
  plan.layers.front().sends_input = true;
}

}  // namespace strobe
