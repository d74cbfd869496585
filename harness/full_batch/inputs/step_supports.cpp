#include "harness/full_batch/inputs/step_supports.hpp"

#include "harness/full_batch/exchange/needed_rows.hpp"
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
    step.needs = spatial_needs(step.placement, *graph, step.step, NeedScope(scope));
    step.halo = halo(step.placement, step.needs, scope);
  }
  return steps;
}

StepMatrices step_matrices(Device& device, const StepSupports& supports, const MatrixUse& use, HostParts* parts) {
  StepMatrices matrices;
  for (const std::vector<StepSupport>& support : supports) {
    std::vector<SparseMatrix>& steps = matrices.emplace_back();
    for (const StepSupport& step : support) {
      steps.push_back(build_local_matrix(device, *step.graph, step.step, step.placement, step.needs, use, parts));
      prepare_passing(device, step.placement, use, steps.back());
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
  const std::size_t s = support;
  return spmm(tape, matrices_.at(s).at(step_), with_halo(tape, s, x));
}

std::vector<Var> StepNeighbours::products(Tape& tape, std::span<const SupportProduct> wanted) const {
  if (wanted.size() != 2) return Neighbours::products(tape, wanted);
  const auto a = static_cast<std::size_t>(wanted[0].support), b = static_cast<std::size_t>(wanted[1].support);
  const Var first = with_halo(tape, a, wanted[0].x), second = with_halo(tape, b, wanted[1].x);
  const auto both = spmm_pair(tape, matrices_.at(a).at(step_), first, matrices_.at(b).at(step_), second);
  return {both[0], both[1]};
}

}  // namespace strobe
