#include "harness/hybrid_batches/batch_walk.hpp"

#include "harness/full_batch/device_samples.hpp"
#include "harness/hybrid_batches/batch_stages.hpp"

namespace strobe {

void train_batch(Device& device, const HybridPlan& plan, const HybridBatch& batch, const Parameters& parameters,
                 const Pass& pass, double scale, const Tensor& loss) {
  const ModelPlan& model = plan.full->model;
  // Sums over vertices that ranks share count every vertex of the graph; others count the batch's own targets.
  const std::int64_t counted = plan.exact ? plan.graph().vertices : batch.layers.targets;
  const BatchInputs inputs = bring_batch(device, layer_source(plan), batch.layers, batch.features,
                                         {model.equations->traits(), plan.graph().vertices, counted});
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
