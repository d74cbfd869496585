// The inputs of layers that go step by step: a matrix and a halo for each support and step.
#pragma once

#include <memory>
#include <vector>

#include "harness/full_batch/exchange/exchange.hpp"
#include "harness/full_batch/inputs/local_graph.hpp"
#include "models/snapshots/model.hpp"

namespace strobe {

/// One support at one step, for all ranks.
struct StepSupport {
  std::shared_ptr<const PreparedGraph> graph;  // of all steps
  std::int64_t step = 0;                       // the graph's step
  Placement placement;                         // of this step alone, like the needs and the halo
  HaloNeeds needs;
  ExchangePlan halo;
};

/// The supports of a block: [supports][steps].
using StepSupports = std::vector<std::vector<StepSupport>>;

/// Splits the prepared graph of one support into the steps of `spatial`. Step t of `spatial` is the graph's step
/// first_step + t. Cost O(nnz + T P).
std::vector<StepSupport> split_into_steps(const std::shared_ptr<const PreparedGraph>& graph, std::int64_t first_step,
                                          const Placement& spatial, const ListScope& scope);

/// One rank's matrices on its device: [supports][steps].
using StepMatrices = std::vector<std::vector<SparseMatrix>>;
StepMatrices step_matrices(Device& device, const StepSupports& supports, const MatrixUse& use, HostParts* parts);

/// One rank's halos: [supports][steps].
using StepHalos = std::vector<std::vector<Exchange>>;
StepHalos step_halos(Device& device, const StepSupports& supports);

/// The products of step `step` of the block, passed to Model::step.
class StepNeighbours final : public Neighbours {
 public:
  StepNeighbours(const StepMatrices& matrices, const StepHalos& halos, Communicator& communicator, std::size_t step)
      : matrices_(matrices), halos_(halos), communicator_(communicator), step_(step) {}
  Var product(Tape& tape, int support, const Var& x) const override;
  std::vector<Var> products(Tape& tape, std::span<const SupportProduct> wanted) const override;

 private:
  Var with_halo(Tape& tape, std::size_t support, const Var& x) const;

  const StepMatrices& matrices_;
  const StepHalos& halos_;
  Communicator& communicator_;
  std::size_t step_;
};

}  // namespace strobe
