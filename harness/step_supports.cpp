#include "harness/step_supports.hpp"

#include "models/ops.hpp"

namespace strobe {
namespace {

std::shared_ptr<const PreparedGraph> graph_of_step(const PreparedGraph& graph, Step t) {
  auto step = std::make_shared<PreparedGraph>();
  step->vertices = graph.vertices;
  step->steps = 1;
  const auto first = graph.row_offsets.begin() + t * graph.vertices;
  step->row_offsets.assign(first, first + graph.vertices + 1);
  const std::int64_t begin = step->row_offsets.front(), end = step->row_offsets.back();
  for (std::int64_t& offset : step->row_offsets) offset -= begin;
  step->columns.assign(graph.columns.begin() + begin, graph.columns.begin() + end);
  if (!graph.values64.empty()) step->values64.assign(graph.values64.begin() + begin, graph.values64.begin() + end);
  if (!graph.values32.empty()) step->values32.assign(graph.values32.begin() + begin, graph.values32.begin() + end);
  return step;
}

Placement placement_of_step(const Placement& placement, Step t) {
  Placement step;
  step.ranks = placement.ranks;
  step.vertices = placement.vertices;
  step.maps = {placement.maps[static_cast<std::size_t>(placement.map_of_step[static_cast<std::size_t>(t)])]};
  step.map_of_step = {0};
  return step;
}

}  // namespace

std::vector<StepSupport> split_into_steps(const PreparedGraph& graph, const Placement& spatial,
                                          const ListScope& scope) {
  std::vector<StepSupport> steps;
  for (Step t = 0; t < graph.steps; ++t) {
    StepSupport& step = steps.emplace_back();
    step.graph = graph_of_step(graph, t);
    step.placement = placement_of_step(spatial, t);
    step.needs = spatial_needs(step.placement, *step.graph);
    step.halo = halo(step.placement, step.needs, scope);
  }
  return steps;
}

StepProducts::StepProducts(Device& device, const StepSupports& supports, std::int64_t width) {
  for (const std::vector<StepSupport>& support : supports) {
    std::vector<One>& steps = products_.emplace_back();
    for (const StepSupport& step : support) {
      const LocalGraph local =
          build_local_graph(device, *step.graph, step.placement, step.needs, ProductWidths{width, width});
      steps.push_back({local.a, Exchange(device, step.halo, Traffic::halo)});
    }
  }
}

Var StepProducts::AtStep::product(Tape& tape, int support, const Var& x) const {
  const One& one = all_.products_.at(static_cast<std::size_t>(support)).at(step_);
  return spmm(tape, one.a, one.halo.apply_everywhere(tape, communicator_, x));
}

}  // namespace strobe
