// The model's equations and the task that a case trains, with the parameters of both.
#pragma once

#include <memory>
#include <vector>

#include "harness/request/case.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"

namespace strobe {

/// The plug-ins that the case names, before its data are known.
struct ModelChoice {
  std::shared_ptr<const Model> equations;
  std::shared_ptr<const Task> task;
  bool fp64 = false;
};

struct ModelPlan : ModelChoice {
  std::int64_t feature_width = 0;  // features of a vertex; the prepared graph may hold several terms of them
  std::vector<LayerShape> layers;
  std::vector<ParameterShape> parameters;  // of the layers, then of the task's head
  std::int64_t parameter_count = 0;
  std::vector<double> start_values;  // [parameter_count] from a loaded model, or empty

  bool any_layer_reads_neighbours() const;
};

/// Throws InvalidRequest for unknown plug-ins and for options that conflict, including the optimizer's.
ModelChoice choose_model(const Case& c);

/// The model for vertices of `feature_width` features. Throws InvalidRequest("/load_model", ...).
ModelPlan plan_model(const Case& c, const ModelChoice& choice, std::int64_t feature_width);

/// Whether readers of the first layer's output can compute it again.
bool may_send_first_input(const std::vector<LayerShape>& layers);

/// Has ranks send the first layer's input to those who read its output. Throws InvalidRequest("/strategy/halo", ...)
/// if readers cannot compute that output.
void send_first_input(const Case& c, ModelPlan& plan);

}  // namespace strobe
