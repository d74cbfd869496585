// The stages of a model over one hybrid batch. Every layer has rows of its own, all on this rank. So nothing crosses
// ranks except sums over vertices, if the pass has them.
#pragma once

#include "harness/hybrid_batches/batch_inputs.hpp"
#include "models/snapshots/layer_protocol.hpp"

namespace strobe {

class BatchStages final : public LayerStages {
 public:
  BatchStages(const ModelCall& call, const BatchInputs& inputs);

  SpatialInput spatial_input(int layer, const Var& x) override;
  /// Layers have rows of their own, so a layer cannot be computed again within the next.
  bool own_neighbours() const override { return false; }
  Timelines timelines() const override { return {&here().cells, segments_}; }
  Timelines steps() const override;
  const PackedStage* packed(int layer) const override;
  Var hand_over(int layer, std::size_t segment, const Var& state) override;
  const Neighbours& neighbours(std::int64_t step) override;

 private:
  class StepProducts;
  const LayerInputs& here() const { return inputs_.layers[layer_]; }

  const ModelCall& call_;
  const BatchInputs& inputs_;
  std::size_t layer_ = 0;  // the layer whose stages are being called
  std::vector<TemporalSegment> segments_;
  Var features_;  // [own cells of the layer, F]
  std::shared_ptr<Neighbours> neighbours_;
};

}  // namespace strobe
