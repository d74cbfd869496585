#include "harness/hybrid_batches/batch_walk.hpp"

#include "harness/full_batch/device_samples.hpp"
#include "harness/hybrid_batches/batch_stages.hpp"

namespace strobe {
namespace {

/// Cells of each step that sums over vertices span. If ranks share them, these are all that exist; else the batch's own
/// targets.
std::vector<std::int64_t> counted_cells(const HybridPlan& plan, const LayeredBatch& batch) {
  const Presence* const presence = plan.graph().presence.get();
  std::vector<std::int64_t> cells;
  for (std::size_t t = 0; t + 1 < batch.target_offsets.size(); ++t) {
    const std::int64_t own = batch.target_offsets[t + 1] - batch.target_offsets[t];
    const auto step = static_cast<Step>(batch.window.first + static_cast<std::int64_t>(t));
    const std::int64_t all = presence == nullptr ? plan.graph().vertices : presence->count(step);
    cells.push_back(plan.exact ? all : own);
  }
  return cells;
}

}  // namespace

void train_batch(Device& device, const HybridPlan& plan, const HybridBatch& batch, const Parameters& parameters,
                 const Pass& pass, double scale, const Tensor& loss) {
  const ModelPlan& model = plan.full->model;
  const BatchInputs inputs =
      bring_batch(device, layer_source(plan), batch.layers, batch.features,
                  {model.equations->traits(), plan.graph().vertices, counted_cells(plan, batch.layers)});
  const DeviceSamples samples = move_in(device, batch.samples, false);
  Tape tape(device, pass.training);
  const ModelCall call{tape, *model.equations, model.layers, parameters, pass};
  BatchStages stages(call, inputs);
  Range forward(pass.ranges, "forward");
  const Var embeddings = walk_layers(call, stages, Tape::constant(inputs.first_input));
  forward.end();
  const Range backward(pass.ranges, "backward");
  const Var outputs = model.task->head(tape, parameters, embeddings, samples.rows, samples.count);
  add_loss(tape, model.task->loss(), outputs, samples.targets, scale, loss);
  if (pass.training) tape.backward();
}

}  // namespace strobe
