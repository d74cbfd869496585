#include "harness/event_batches/trainer/event_trainer.hpp"

#include <algorithm>

#include "harness/event_batches/batches/static_memory.hpp"

namespace strobe {

EventTrainer::EventTrainer(const EventCase& c, Device& device, Communicator&)
    : case_(c),
      device_(device),
      walk_(c, c.training, device),
      replay_(c, device),
      weights_(c, c.options.batch, device),
      batch_loss_(device.allocate(1, 1, ElementType::f64)),
      epoch_loss_(device.allocate(1, 1, ElementType::f64)) {
  if (device.has_values()) c.prepare_static_memory();
}

PendingDraw EventTrainer::draw(std::int64_t epoch, std::int64_t batch) {
  const EdgeId first = batch * case_.options.batch;
  const std::int64_t count = std::min(case_.options.batch, case_.training_events() - first);
  return walk_.start_draw({first, count, first, true, epoch % case_.training.task->negative_groups, 0, true});
}

void EventTrainer::epoch(std::int64_t number) {
  walk_.reset();
  device_.run(Fill{epoch_loss_, 0.0});
  next_ = draw(number, 0);
  for (std::int64_t b = 0; b < case_.batches(); ++b) train(number, b);
}

void EventTrainer::train(std::int64_t epoch, std::int64_t batch) {
  const PendingDraw current = next_;
  weights_.clear_gradients();
  device_.run(Fill{batch_loss_, 0.0});
  Pass pass;
  pass.seed = static_cast<std::uint64_t>(case_.request.seed);
  pass.epoch = epoch * case_.batches() + batch;
  Tape tape(device_);
  Range forward(ranges_, "forward");
  const PassOutput output = walk_.pass(tape, weights_.parameters(), current, pass, [&] {
    if (batch + 1 < case_.batches()) next_ = draw(epoch, batch + 1);
  });
  forward.end();
  const BatchRequest& request = current.drawn->request;
  Range backward(ranges_, "backward");
  const Tensor labels = case_.task->labels(device_, *case_.training.graph, request.first, request.count);
  const LinkLoss loss = case_.model->traits().binary_loss ? LinkLoss::binary_cross_entropy : LinkLoss::cross_entropy;
  case_.task->add_loss(tape, output.outputs, loss, labels, 1.0 / static_cast<double>(request.count), batch_loss_);
  tape.backward();
  backward.end();
  walk_.write(output);
  device_.run(AddScaled{batch_loss_, epoch_loss_,
                        static_cast<double>(request.count) / static_cast<double>(case_.training_events())});
  weights_.update();
}

std::map<std::string, double> EventTrainer::evaluate(const EvaluationMoment& moment) {
  const std::int64_t some = case_.options.evaluate_batches;
  if (moment.last) return replay_.metrics_and_views(weights_.parameters());
  if (some == 0) return replay_.metrics(weights_.parameters());
  return replay_.metrics_of_some(weights_.parameters(), some, moment.epoch);
}

EpochValues EventTrainer::values(bool) {
  EpochValues values;
  double loss = 0;
  if (device_.move_out(epoch_loss_, &loss)) values.loss = loss;
  return values;
}

}  // namespace strobe
