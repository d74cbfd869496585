#include "harness/events/event_trainer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/events/static_memory.hpp"
#include "harness/inputs/host_values.hpp"

namespace strobe {
namespace {

/// The optimiser with its rate scaled by the global batch (decisions 7.5).
std::unique_ptr<Optimizer> scaled_optimizer(const EventCase& c) {
  Json settings = c.request.optimizer;
  if (c.options.learning_rate_scaling == "linear" && settings.contains("rate")) {
    settings["rate"] = settings["rate"].get<double>() * static_cast<double>(c.options.batch) /
                       static_cast<double>(c.options.learning_rate_batch);
  }
  return OptimizerRegistry::instance().find(settings.at("name").get<std::string>(), "/optimizer").value(settings);
}

}  // namespace

EventTrainer::EventTrainer(const EventCase& c, Device& device, Communicator&)
    : case_(c),
      device_(device),
      walk_(c, device),
      replay_(c, device),
      parameters_(device, c.parameters, static_cast<std::uint64_t>(c.request.seed), c.start_values),
      optimizer_(scaled_optimizer(c)),
      batch_loss_(device.allocate(1, 1, ElementType::f64)),
      epoch_loss_(device.allocate(1, 1, ElementType::f64)) {
  if (c.data.static_memory != nullptr && device.has_values()) c.data.static_memory->prepare();
}

PendingDraw EventTrainer::draw(std::int64_t epoch, std::int64_t batch) {
  const EdgeId first = batch * case_.options.batch;
  const std::int64_t count = std::min(case_.options.batch, case_.training_events() - first);
  return walk_.start_draw({first, count, first, true, epoch % case_.data.task->negative_groups, 0, true});
}

void EventTrainer::epoch(std::int64_t number) {
  walk_.reset();
  device_.run(Fill{epoch_loss_, 0.0});
  next_ = draw(number, 0);
  for (std::int64_t b = 0; b < case_.batches(); ++b) train(number, b);
}

void EventTrainer::train(std::int64_t epoch, std::int64_t batch) {
  const PendingDraw current = next_;
  device_.run(Fill{parameters_.gradients(), 0.0});
  device_.run(Fill{batch_loss_, 0.0});
  Pass pass;
  pass.seed = static_cast<std::uint64_t>(case_.request.seed);
  pass.epoch = epoch * case_.batches() + batch;
  Tape tape(device_);
  const PassOutput output = walk_.pass(tape, parameters_, current, pass, [&] {
    if (batch + 1 < case_.batches()) next_ = draw(epoch, batch + 1);
  });
  const BatchWish& wish = current.drawn->wish;
  const std::vector<std::int32_t> classes = case_.task->labels(*case_.data.graph, wish.first, wish.count);
  const Tensor labels = device_.move_in(classes.data(), wish.count, 1, ElementType::i32);
  const LinkLoss loss = case_.model->traits().binary_loss ? LinkLoss::binary_cross_entropy : LinkLoss::cross_entropy;
  case_.task->add_loss(tape, output.outputs, loss, labels, 1.0 / static_cast<double>(wish.count), batch_loss_);
  tape.backward();
  walk_.write(output);
  device_.run(AddScaled{batch_loss_, epoch_loss_,
                        static_cast<double>(wish.count) / static_cast<double>(case_.training_events())});
  optimizer_->step(device_, parameters_);
}

EpochValues EventTrainer::values(bool) {
  EpochValues values;
  double loss = 0;
  if (device_.move_out(epoch_loss_, &loss)) values.loss = loss;
  return values;
}

TrainingState EventTrainer::state() {
  TrainingState now;
  now.weights = weights();
  for (const auto& [name, vector] : optimizer_->vectors(device_, parameters_))
    now.optimizer[name] = host_values(device_, vector);
  now.optimizer_steps = optimizer_->steps();
  return now;
}

void EventTrainer::restore(const TrainingState& state) {
  overwrite(parameters_.values(), state.weights);
  for (const auto& [name, vector] : optimizer_->vectors(device_, parameters_))
    overwrite(vector, state.optimizer.at(name));
  optimizer_->set_steps(state.optimizer_steps);
}

std::vector<double> EventTrainer::weights() { return host_values(device_, parameters_.values()); }

void EventTrainer::overwrite(const Tensor& vector, const std::vector<double>& values) {
  device_.run(CopyRows{vector_on(device_, values), vector, {}, {}, vector.rows(), 0, 0, 1, false});
}

}  // namespace strobe
