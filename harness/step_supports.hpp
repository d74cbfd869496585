// What layers that go step by step need: for each support and step a matrix of its own and a halo of its own.
#pragma once

#include <memory>
#include <vector>

#include "harness/exchange.hpp"
#include "harness/local_graph.hpp"
#include "models/model.hpp"

namespace strobe {

/// One support at one step, for all ranks.
struct StepSupport {
  std::shared_ptr<const PreparedGraph> graph;  // of this step alone, without features
  Placement placement;                         // likewise
  HaloNeeds needs;
  ExchangePlan halo;
};

/// The supports of a plan: [supports][steps].
using StepSupports = std::vector<std::vector<StepSupport>>;

/// One support from its prepared graph, under `spatial`. Cost O(nnz + T P).
std::vector<StepSupport> split_into_steps(const PreparedGraph& graph, const Placement& spatial, const ListScope& scope);

/// One rank's side: matrices and exchanges on its device, [supports][steps].
class StepProducts {
 public:
  StepProducts(Device& device, const StepSupports& supports, std::int64_t width);

  /// The products of step `t`, to be handed to Model::step.
  class AtStep final : public Neighbours {
   public:
    AtStep(const StepProducts& all, Communicator& communicator, std::int64_t t)
        : all_(all), communicator_(communicator), step_(static_cast<std::size_t>(t)) {}
    Var product(Tape& tape, int support, const Var& x) const override;

   private:
    const StepProducts& all_;
    Communicator& communicator_;
    std::size_t step_;
  };

 private:
  struct One {
    SparseMatrix a;
    Exchange halo;
  };
  std::vector<std::vector<One>> products_;
};

}  // namespace strobe
