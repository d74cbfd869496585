#include "harness/inputs/step_supports.hpp"

#include "models/ops/ops.hpp"

namespace strobe {

std::vector<StepSupport> split_into_steps(const std::shared_ptr<const PreparedGraph>& graph, std::int64_t first_step,
                                          const Placement& spatial, const ListScope& scope) {
  std::vector<StepSupport> steps;
  for (Step t = 0; t < spatial.steps(); ++t) {
    StepSupport& step = steps.emplace_back();
    step.graph = graph;
    step.step = first_step + t;
    step.placement = of_steps(spatial, {t});
    step.needs = spatial_needs(step.placement, *graph, step.step);
    step.halo = halo(step.placement, step.needs, scope);
  }
  return steps;
}

StepMatrices step_matrices(Device& device, const StepSupports& supports, const Products& products, HostParts* parts) {
  StepMatrices matrices;
  for (const std::vector<StepSupport>& support : supports) {
    std::vector<SparseMatrix>& steps = matrices.emplace_back();
    for (const StepSupport& step : support) {
      steps.push_back(build_local_matrix(device, *step.graph, step.step, step.placement, step.needs, products, parts));
    }
  }
  return matrices;
}

StepHalos step_halos(Device& device, const StepSupports& supports) {
  StepHalos halos;
  for (const std::vector<StepSupport>& support : supports) {
    std::vector<Exchange>& steps = halos.emplace_back();
    for (const StepSupport& step : support) steps.emplace_back(device, step.halo, Traffic::halo);
  }
  return halos;
}

Var StepNeighbours::with_halo(Tape& tape, std::size_t support, const Var& x) const {
  return halos_.at(support).at(step_).apply_everywhere(tape, communicator_, x);
}

Var StepNeighbours::product(Tape& tape, int support, const Var& x) const {
  const auto s = static_cast<std::size_t>(support);
  return spmm(tape, matrices_.at(s).at(step_), with_halo(tape, s, x));
}

std::array<Var, 2> StepNeighbours::both_products(Tape& tape, const std::array<Var, 2>& x) const {
  const Var first = with_halo(tape, 0, x[0]), second = with_halo(tape, 1, x[1]);
  return spmm_pair(tape, matrices_.at(0).at(step_), first, matrices_.at(1).at(step_), second);
}

}  // namespace strobe
