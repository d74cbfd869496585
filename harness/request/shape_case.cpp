#include "harness/request/shape_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"
#include "workloads/partitioners/partitioner.hpp"

namespace strobe {
namespace {

/// Strategies that declare that their placements depend on sizes alone.
std::vector<std::string> strategies_from_sizes() {
  return names_with<StrategyTag>(&StrategyTag::Value::from_sizes, true);
}

bool known(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool serves_shapes(const std::string& strategy) { return known(strategies_from_sizes(), strategy); }

void check_shape(const Case& c, const std::string& pointer) {
  const std::string name = c.workload.at("name").get<std::string>();
  if (!is_shape_workload(name)) return;
  if (c.numerics != "none") {
    throw InvalidRequest(pointer + "/workload",
                         fmt::format("{} is a shape: statistics without a graph, so there are no values to compute; "
                                     "use device sim with numerics none, not device {} with numerics {}",
                                     name, c.device, c.numerics));
  }
  if (c.presence != "all") {
    throw InvalidRequest(pointer + "/presence",
                         fmt::format("{} is a shape: which vertices have an edge at which step is not known; use "
                                     "presence=all, or a graph",
                                     name));
  }
  if (c.overlap != 1) {
    throw InvalidRequest(pointer + "/overlap",
                         fmt::format("{} is a shape: which rows cross is not known, so exchanges cannot be cut into "
                                     "slices; use overlap=1",
                                     name));
  }
  const std::string strategy = c.strategy.at("name").get<std::string>();
  if (!serves_shapes(strategy)) {
    throw InvalidRequest(pointer + "/strategy",
                         fmt::format("strategy {} looks at the graph's structure, which the shape {} does not hold; "
                                     "use one of {}, or a graph",
                                     strategy, name, fmt::join(strategies_from_sizes(), ", ")));
  }
  const std::vector<std::string> partitioners = names_with<PartitionerTag>(&PartitionerTag::Value::from_sizes, true);
  const std::string partitioner = c.strategy.value("partitioner", std::string("hash"));
  if (!known(partitioners, partitioner)) {
    throw InvalidRequest(pointer + "/strategy/partitioner",
                         fmt::format("partitioner {} looks at the graph's structure, which the shape {} does not hold; "
                                     "use one of {}, or a graph",
                                     partitioner, name, fmt::join(partitioners, ", ")));
  }
}

ShapeCase make_shape_case(const Case& request, const Task& task) {
  ShapeCase shape;
  Json options = Json::object();
  for (const auto& [key, value] : request.workload.items()) {
    if (key != "name") options[key] = value;
  }
  shape.complete = complete_shape(request.workload.at("name").get<std::string>(), options);
  if (request.strategy.value("partitioner", std::string()) == "range") {
    shape.complete.notes.push_back(
        "ids of shape " + shape.complete.shape.name +
        " are taken to say nothing about edges, so ranges of ids are counted as a hash partition");
  }
  shape.samples = task.count(shape.complete.shape);
  shape.in_degree = cell_in_degrees(shape.complete.shape);
  std::int64_t samples = 0;
  for (const StepSamples& step : shape.samples.train.steps) samples += step.count();
  if (samples == 0) {
    throw InvalidRequest("/task", "no training sample: the training steps of this shape have too few edges");
  }
  return shape;
}

}  // namespace strobe
