// The forward pass of one rank over one block of steps: the exchanges around the stages of a model. The protocol of
// models/snapshots/layer_protocol.hpp calls them. This file knows neither the equations nor the links.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "harness/full_batch/block_inputs.hpp"
#include "harness/full_batch/exchange/overlapped_exchange.hpp"
#include "harness/full_batch/exchange/previous_states.hpp"
#include "harness/full_batch/exchange/stale_exchange.hpp"
#include "models/snapshots/layer_protocol.hpp"

namespace strobe {

/// The exchanges of one block, which stay on a rank from pass to pass.
class LayerWalk {
 public:
  /// `last` says that no block follows, so this one leaves no state. `threshold` of stale rows must outlive this; null
  /// if the plan has none.
  LayerWalk(const FullBatchPlan& plan, const BlockPlan& block, bool last, Device& device,
            const StaleThreshold* threshold = nullptr);

  /// Embeddings [own rows, F] of this rank's cells of the block. `memory` [layers] holds the state before the block.
  /// The call adds the state after it. All ranks must call it.
  Var forward(Tape& tape, Communicator& communicator, const Parameters& parameters, const Pass& pass,
              const BlockInputs& inputs, std::vector<LayerMemory>& memory) const;

  /// Has passes measure each unit of chunks; the meter must outlive them. Null: no measurement.
  void measure_units(UnitMeter* meter) { unit_meter_ = meter; }

  /// take_over brings the state that layer `layer` has after the previous block to the ranks that begin this one, as a
  /// tensor of its own. give_back returns its gradient. All ranks must call them.
  Tensor adopt(Device& device, Communicator& communicator, std::size_t layer, const Tensor& state) const;
  Tensor return_gradient(Device& device, Communicator& communicator, std::size_t layer, const Tensor& gradient) const;

  /// An exchange that keeps rows from epoch to epoch.
  struct StaleCarrier {
    CoveredExchange covers;
    std::unique_ptr<StaleExchange> exchange;
  };
  const std::vector<StaleCarrier>& stale() const { return stale_; }
  /// States that training takes from the previous epoch: [layers]; null elsewhere.
  const std::vector<std::unique_ptr<PreviousStates>>& previous() const { return previous_; }

 private:
  class BlockStages;  // of the whole block; for a block in slices, its temporal stages
  class SliceStages;  // the spatial stages of one slice
  void add_packed(Device& device, std::size_t layer);
  /// The stage of `plans[layer]`. Layers with one plan share it; `stages` are those of the layers before.
  std::shared_ptr<const PackedStage> stage_of(Device& device,
                                              const std::vector<std::shared_ptr<const PackedPlan>>& plans,
                                              const std::vector<std::shared_ptr<const PackedStage>>& stages,
                                              std::size_t layer) const;
  void add_stale(Device& device, const StaleThreshold& threshold);
  /// Null where all rows are sent.
  StaleExchange* stale_of(const ExchangePlan& plan, std::size_t layer) const;
  Var in_slices(const ModelCall& call, Communicator& communicator, const BlockInputs& inputs,
                BlockStages& stages) const;

  const FullBatchPlan& plan_;
  const BlockPlan& block_;
  bool last_;
  CellRows temporal_cells_;
  std::optional<Exchange> spatial_halo_, to_temporal_;  // of a block in one piece
  Exchange to_spatial_;
  std::vector<StaleCarrier> stale_;
  SliceExchanges slice_halos_, slices_to_temporal_, slices_to_spatial_;  // [slices]
  std::vector<std::vector<Exchange>> handover_;              // [layers][segments - 1], or [rounds - 1] of packed stages
  std::vector<std::shared_ptr<const PackedStage>> packed_;   // [layers]; null where timelines are rectangles
  std::vector<std::shared_ptr<const PackedStage>> trained_;  // [layers]; of training passes
  std::vector<std::unique_ptr<PreviousStates>> previous_;    // [layers]
  std::vector<std::optional<Exchange>> temporal_halo_;       // [layers]; of packed stages
  std::vector<std::optional<Exchange>> earlier_steps_;       // [layers]
  std::vector<std::optional<Exchange>> adopt_;               // [layers]; for state that crosses ranks between blocks
  StepHalos step_halos_;
  UnitMeter* unit_meter_ = nullptr;
};

}  // namespace strobe
