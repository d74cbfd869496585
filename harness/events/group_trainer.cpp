#include "harness/events/group_trainer.hpp"

#include <algorithm>

#include "harness/events/static_memory.hpp"
#include "harness/inputs/host_values.hpp"

namespace strobe {
namespace {

std::int64_t global_batch(const GroupPlan& plan) { return plan.order.groups().ranks() * plan.events->options.batch; }

}  // namespace

void GroupDrawState::move_to(std::int64_t sequence, const EventData& data) {
  for (; next < sequence; ++next) {
    const std::int64_t batch = order.batch_at(copy, next);
    if (batch == order.batches() - 1)
      clock.reset();  // the next batch begins a sweep
    else if (width > 0)
      clock.pass(*data.graph, data.whole->time[0], batch * order.whole_batch(), order.batch_count(batch));
  }
}

GroupTrainer::GroupTrainer(const GroupPlan& plan, Device& device, Communicator& communicator)
    : plan_(plan),
      device_(device),
      communicator_(communicator),
      weights_(*plan.events, global_batch(plan), device),
      state_(
          std::make_shared<GroupDrawState>(*plan.events, plan.order, plan.order.groups().copy_of(communicator.rank()))),
      loader_(plan.events->training, device),
      batch_loss_(device.allocate(1, 1, ElementType::f64)),
      epoch_loss_(device.allocate(1, 1, ElementType::f64)) {
  if (plan.memory.width > 0 && plan.on_device())
    device_memory_ = make_node_memory(device, plan.memory.vertices, plan.memory.width, false);
  else if (plan.memory.width > 0)
    memory_ = std::make_unique<SharedMemory>(device, communicator, plan.order.groups(), plan.memory);
  if (communicator.rank() == 0) replay_ = std::make_unique<EventReplay>(*plan.events, device);
  if (events().data.static_memory != nullptr && device.has_values()) events().data.static_memory->prepare();
}

void GroupTrainer::start_draws(std::int64_t sequence, Batch& batch) {
  batch = {};
  batch.sequence = sequence;
  for (std::int64_t set = 0; set < plan_.order.groups().j; ++set) {
    const TrainerTurn turn = *plan_.order.turn(sequence + set, communicator_.rank());
    const BatchWish wish{turn.first, turn.count, turn.batch_first, true, turn.group, 0, set == 0, turn.batch_count};
    batch.draws.push_back(std::make_shared<BatchDraw>());
    HostWork work;
    work.name = "draw_batch";
    work.work = drawing_work(events(), events().training, wish);
    work.body = [state = state_, drawn = batch.draws.back(), wish, sequence, c = plan_.events](Workers& workers) {
      state->move_to(sequence, c->training);
      state->drawer.draw(wish, state->clock, workers, *drawn);
    };
    batch.drawn = device_.run_on_host(std::move(work));
  }
}

void GroupTrainer::begin(std::int64_t iteration) {
  if (begun_ > iteration) return;
  begun_ = iteration + 1;
  const bool resets = plan_.order.begins_sweep(state_->copy, iteration);
  if (memory_ != nullptr && memory_->leads()) memory_->begin(iteration, resets);
  if (device_memory_ != nullptr && resets) device_memory_->reset();
  const std::optional<TrainerTurn> turn = plan_.order.turn(iteration, communicator_.rank());
  if (!turn || turn->set != 0) return;
  if (coming_.sequence != iteration) start_draws(iteration, coming_);
  current_ = std::move(coming_);
  coming_ = {};
  device_.await(current_.drawn);
  for (std::size_t set = 0; set < current_.draws.size(); ++set) {
    const SharedDraw& drawn = current_.draws[set];
    // The daemon may gather while the rest of the batch is put together; a device needs its lists first.
    if (memory_ != nullptr) read(static_cast<std::int64_t>(set), drawn);
    current_.inputs.push_back(turn->count > 0 ? loader_.load(drawn) : BatchInput{});
    if (device_memory_ != nullptr) read(static_cast<std::int64_t>(set), drawn);
  }
  if (pipelined()) start_draws(iteration + plan_.order.groups().j, coming_);
}

void GroupTrainer::read(std::int64_t set, const SharedDraw& drawn) {
  if (memory_ != nullptr)
    current_.rows.push_back(memory_->read(set, drawn));
  else
    current_.rows.push_back({device_memory_->read(drawn, current_.inputs.back().lists), {}});
}

void GroupTrainer::write(const PassOutput& output) {
  if (device_memory_ != nullptr)
    device_memory_->write(current_.draws.front(), current_.inputs.front().lists, output.updated);
  if (memory_ != nullptr) memory_->write(current_.draws.front(), current_.inputs.front().lists, output.updated);
}

void GroupTrainer::compute(const TrainerTurn& turn, std::int64_t iteration, bool last) {
  const auto set = static_cast<std::size_t>(turn.set);
  const bool writes = turn.set == 0, prefetches = pipelined() && !last;
  if (turn.count == 0) {
    if (writes) write({});
    if (prefetches) begin(iteration + 1);
    return;
  }
  Pass pass;
  pass.seed = static_cast<std::uint64_t>(events().request.seed);
  pass.epoch = iteration;
  Tape tape(device_);
  // The next batch may be taken over before this one's gradients are there.
  const std::shared_ptr<BatchDraw> drawn = current_.draws[set];
  MemoryRows rows;
  if (plan_.memory.width > 0) {
    device_.wait(Stream::compute, current_.rows[set].ready);
    rows = current_.rows[set].rows;
  }
  const PassOutput output =
      compute_batch(events(), tape, weights_.parameters(), *drawn, current_.inputs[set], rows, pass);
  if (prefetches && writes) write(output);
  if (prefetches) begin(iteration + 1);
  const Tensor labels = events().task->labels(device_, *events().training.graph, turn.first, turn.count);
  const LinkLoss loss = events().model->traits().binary_loss ? LinkLoss::binary_cross_entropy : LinkLoss::cross_entropy;
  events().task->add_loss(tape, output.outputs, loss, labels,
                          1.0 / static_cast<double>(plan_.order.events_in(iteration)), batch_loss_);
  tape.backward();
  if (!prefetches && writes) write(output);
}

void GroupTrainer::iterate(std::int64_t iteration, bool last) {
  begin(iteration);
  weights_.clear_gradients();
  device_.run(Fill{batch_loss_, 0.0});
  const std::optional<TrainerTurn> turn = plan_.order.turn(iteration, communicator_.rank());
  if (turn)
    compute(*turn, iteration, last);
  else if (pipelined() && !last)
    begin(iteration + 1);
  if (communicator_.size() > 1) communicator_.all_reduce(weights_.parameters().gradients(), Traffic::gradient);
  weights_.update();
}

void GroupTrainer::epoch(std::int64_t number) {
  const std::int64_t first = plan_.order.first_iteration(number), end = plan_.order.first_iteration(number + 1);
  device_.run(Fill{epoch_loss_, 0.0});
  double events_of_epoch = 0;
  for (std::int64_t n = first; n < end; ++n) events_of_epoch += static_cast<double>(plan_.order.events_in(n));
  for (std::int64_t n = first; n < end; ++n) {
    iterate(n, n + 1 == end);
    device_.run(AddScaled{batch_loss_, epoch_loss_, static_cast<double>(plan_.order.events_in(n)) / events_of_epoch});
  }
  trained_ = end;
  if (memory_ != nullptr) memory_->finish();
}

EpochValues GroupTrainer::values(bool) {
  if (communicator_.size() > 1) communicator_.all_reduce(epoch_loss_, Traffic::other);
  EpochValues values;
  double loss = 0;
  if (device_.move_out(epoch_loss_, &loss)) values.loss = loss;
  return values;
}

/// Rank 0 evaluates, and the others are told.
std::map<std::string, double> GroupTrainer::evaluate() {
  std::vector<double> told(plan_.metrics.size(), 0.0);
  if (replay_ != nullptr) {
    const std::map<std::string, double> found = replay_->metrics(weights_.parameters());
    for (std::size_t m = 0; m < told.size() && !found.empty(); ++m) told[m] = found.at(plan_.metrics[m]);
  }
  if (communicator_.size() > 1) {
    const Tensor all = device_.move_in(told.data(), static_cast<std::int64_t>(told.size()), 1, ElementType::f64);
    communicator_.all_reduce(all, Traffic::other);
    device_.move_out(all, told.data());
  }
  std::map<std::string, double> metrics;
  for (std::size_t m = 0; m < told.size() && device_.has_values(); ++m) metrics[plan_.metrics[m]] = told[m];
  return metrics;
}

TrainingFindings GroupTrainer::findings() const { return {0, false, replay_ != nullptr && replay_->equal_outputs()}; }

std::vector<double> GroupTrainer::embeddings() {
  return replay_ == nullptr ? std::vector<double>{} : replay_->embeddings(weights_.parameters());
}

std::vector<SavedMatrix> GroupTrainer::memory() {
  return replay_ == nullptr ? std::vector<SavedMatrix>{} : replay_->memory(weights_.parameters());
}

}  // namespace strobe
