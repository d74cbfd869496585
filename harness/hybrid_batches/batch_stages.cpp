#include "harness/hybrid_batches/batch_stages.hpp"

#include "models/ops/ops.hpp"

namespace strobe {

/// Products of one step with its own rows. Nobody needs rows beyond them.
class BatchStages::StepProducts final : public Neighbours {
 public:
  StepProducts(const std::vector<std::vector<SparseMatrix>>& matrices, std::size_t step)
      : matrices_(matrices), step_(step) {}
  Var product(Tape& tape, int support, const Var& x) const override { return spmm(tape, of(support), x); }
  std::vector<Var> products(Tape& tape, std::span<const SupportProduct> wanted) const override {
    if (wanted.size() != 2) return Neighbours::products(tape, wanted);
    const auto both = spmm_pair(tape, of(wanted[0].support), wanted[0].x, of(wanted[1].support), wanted[1].x);
    return {both[0], both[1]};
  }

 private:
  const SparseMatrix& of(int support) const { return matrices_.at(support).at(step_); }

  const std::vector<std::vector<SparseMatrix>>& matrices_;
  std::size_t step_;
};

BatchStages::BatchStages(const ModelCall& call, const BatchInputs& inputs)
    : call_(call),
      inputs_(inputs),
      segments_{{0, inputs.layers.front().cells.steps}},
      features_(Tape::constant(inputs.features)) {}

SpatialInput BatchStages::spatial_input(int layer, const Var& x) {
  const std::size_t l = layer;
  // A joint form of the previous layer may have computed this one too; then layers are skipped here.
  for (; layer_ < l; ++layer_) {
    const LayerInputs& next = inputs_.layers[layer_ + 1];
    if (next.own_rows.defined()) features_ = gather_rows(call_.tape, features_, {next.own_rows}, next.own_rows.rows());
  }
  const LayerInputs& inputs = here();
  const Var rows = inputs.rows.defined() ? gather_rows(call_.tape, x, {inputs.rows}, inputs.columns) : x;
  return {rows, &inputs.a, &inputs.cells, &call_.pass, features_};
}

Timelines BatchStages::steps() const {
  const std::vector<TemporalSegment>& own = here().segments;
  return {&here().cells, own.empty() ? segments_ : own};
}

const PackedStage* BatchStages::packed(int layer) const {
  const std::optional<PackedStage>& stage = inputs_.layers[layer].packed;
  return stage ? &*stage : nullptr;
}

Var BatchStages::hand_over(int layer, std::size_t segment, const Var& state) {
  const LayerInputs& inputs = inputs_.layers[layer];
  const std::int64_t step = inputs.segments[segment].first_step;
  const StepRows& rows = inputs.cells.step_rows;
  const std::int64_t vertices = rows[step + 1] - rows[step];
  return pack_rows(call_.tape, state, inputs.states_that_stay[segment - 1],
                   state_shape(call_.layers[layer], 0).rows_per_vertex * vertices);
}

const Neighbours& BatchStages::neighbours(std::int64_t step) {
  neighbours_ = std::make_shared<StepProducts>(here().steps, static_cast<std::size_t>(step));
  return *neighbours_;
}

}  // namespace strobe
