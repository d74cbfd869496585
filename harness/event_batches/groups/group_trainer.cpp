#include "harness/event_batches/groups/group_trainer.hpp"

#include <algorithm>
#include <limits>

#include "harness/event_batches/batches/static_memory.hpp"
#include "harness/event_batches/groups/distributed_memory.hpp"
#include "harness/event_batches/groups/remote_neighbours.hpp"
#include "harness/event_batches/groups/shared_memory.hpp"

namespace strobe {
namespace {

std::int64_t global_batch(const GroupPlan& plan) { return plan.order.groups().ranks() * plan.events->options.batch; }

std::unique_ptr<GroupMemory> memory_of(const GroupPlan& plan, Device& device, Communicator& communicator) {
  if (plan.memory.width == 0) return nullptr;
  if (plan.on_device()) return make_device_group_memory(device, plan.memory.vertices, plan.memory.width);
  if (plan.remote != nullptr)
    return std::make_unique<DistributedMemory>(device, communicator, communicator.split(plan.remote->columns()),
                                               plan.memory, plan.remote);
  return std::make_unique<SharedMemory>(device, communicator, plan.order.groups(), plan.memory);
}

}  // namespace

GroupTrainer::GroupTrainer(const GroupPlan& plan, Device& device, Communicator& communicator)
    : plan_(plan),
      device_(device),
      communicator_(communicator),
      weights_(*plan.events, global_batch(plan), device),
      source_(plan.events, plan.order, communicator.rank(), device),
      loader_(plan.events->training, device),
      memory_(memory_of(plan, device, communicator)),
      batch_loss_(device.allocate(1, 1, ElementType::f64)),
      epoch_loss_(device.allocate(1, 1, ElementType::f64)) {
  if (plan.part != nullptr)
    source_.join(std::make_unique<RemoteNeighbours>(*plan.events, plan.events->training, device,
                                                    communicator.split(plan.remote->columns()), plan.remote, plan.part,
                                                    std::make_shared<TrainingMoments>(plan.order)));
  if (plan.evaluation.order != nullptr)
    column_ = communicator.split(plan.remote->columns());
  else if (communicator.rank() == 0)
    replay_ = std::make_unique<EvaluationPass>(*plan.events, device);
  const bool by_node = plan.part != nullptr && plan.part->share().nodes > 1;
  if (device.has_values()) events().prepare_static_memory(by_node ? column_.get() : nullptr);
}

void GroupTrainer::take_batch(const TrainerTurn& turn) {
  current_ = {};
  current_.drawn = source_.take(turn.sequence);
  device_.await(current_.drawn.ready);
  // The daemon gathers rows while this rank packs the inputs. The inputs move in before the daemon's answer.
  if (memory_ != nullptr) memory_->ask(current_.drawn.draws);
  for (const SharedDraw& drawn : current_.drawn.draws)
    current_.inputs.push_back(turn.count > 0 ? loader_.load(drawn) : BatchInput{});
  if (memory_ != nullptr && !memory_->reads_by_lists()) read_memory();
}

void GroupTrainer::read_memory() {
  std::vector<MemoryLists> lists;
  for (const BatchInput& input : current_.inputs) lists.push_back(input.lists);
  current_.rows = memory_->read(current_.drawn.draws, lists);
}

void GroupTrainer::begin(std::int64_t iteration) {
  if (begun_ > iteration) return;
  begun_ = iteration + 1;
  const bool resets = plan_.order.begins_sweep(source_.copy(), iteration);
  keep_sweep_end(iteration, resets);
  if (memory_ != nullptr) memory_->begin(iteration, resets);
  source_.meet(iteration);
  const std::optional<TrainerTurn> turn = plan_.order.turn(iteration, communicator_.rank());
  if (turn && turn->set == 0)
    take_batch(*turn);
  else if (memory_ != nullptr && memory_->of_all_ranks())
    memory_->read({}, {});
  source_.draw_ahead(iteration, epoch_end_);
}

void GroupTrainer::write(const Forward& pass) {
  if (memory_ == nullptr) return;
  if (pass.turn && pass.turn->set == 0)
    memory_->write(current_.drawn.draws.front(), current_.inputs.front().lists, pass.output.updated);
  else if (memory_->of_all_ranks())
    memory_->write(nullptr, {}, {});
}

GroupTrainer::Forward GroupTrainer::forward(std::int64_t iteration) {
  Forward forward;
  forward.turn = plan_.order.turn(iteration, communicator_.rank());
  if (!forward.turn || forward.turn->count == 0) return forward;
  const std::size_t set = forward.turn->set;
  const Range range(ranges_, "forward");
  Pass pass;
  pass.seed = static_cast<std::uint64_t>(events().request.seed);
  pass.epoch = iteration;
  // Labels move in before the next batch's inputs, to not wait for these.
  forward.labels = events().task->labels(device_, *events().training.graph, forward.turn->first, forward.turn->count);
  current_.inputs[set].await_on(device_);
  MemoryRows rows;
  if (memory_ != nullptr) {
    if (current_.rows.empty()) read_memory();  // for memory that reads by lists, which the device has now
    device_.wait(Stream::compute, current_.rows[set].ready);
    rows = current_.rows[set].rows;
  }
  forward.drawn = current_.drawn.draws[set];
  forward.tape = std::make_unique<Tape>(device_);
  forward.output =
      compute_batch(events(), *forward.tape, weights_.parameters(), *forward.drawn, current_.inputs[set], rows, pass);
  return forward;
}

void GroupTrainer::backward(const Forward& pass, std::int64_t iteration) {
  if (pass.tape == nullptr) return;
  const Range range(ranges_, "backward");
  const LinkLoss loss = events().model->traits().binary_loss ? LinkLoss::binary_cross_entropy : LinkLoss::cross_entropy;
  events().task->add_loss(*pass.tape, pass.output.outputs, loss, pass.labels,
                          1.0 / static_cast<double>(plan_.order.events_in(iteration)), batch_loss_);
  pass.tape->backward();
}

void GroupTrainer::iterate(std::int64_t iteration, bool last) {
  begin(iteration);
  weights_.clear_gradients();
  device_.run(Fill{batch_loss_, 0.0});
  const bool ahead = pipelined() && !last;
  {
    const Forward pass = forward(iteration);
    source_.advance();
    // With pipeline, the next batch begins before the backward pass of this one.
    if (ahead) write(pass), source_.advance(), begin(iteration + 1);
    backward(pass, iteration);
    source_.advance();
    if (!ahead) write(pass), source_.advance();
  }
  if (communicator_.size() > 1) communicator_.all_reduce(weights_.parameters().gradients(), Traffic::gradient);
  source_.advance();
  weights_.update();
}

void GroupTrainer::epoch(std::int64_t number) {
  const std::int64_t first = plan_.order.first_iteration(number), end = plan_.order.first_iteration(number + 1);
  epoch_first_ = first, epoch_end_ = end;
  sweep_end_.clear();
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

void GroupTrainer::keep_sweep_end(std::int64_t iteration, bool resets) {
  const bool wanted = events().options.evaluate == "copy0" && replay_ != nullptr;
  if (wanted && resets && iteration > epoch_first_) sweep_end_ = memory_->save();
}

/// Copy 0 at the end of its last sweep. If that was the epoch's last iteration, it is the memory as it is now.
MemoryState GroupTrainer::memory_after_training() {
  const EventData& trained = events().training;
  if (trained_ % plan_.order.batches() == 0) sweep_end_ = memory_->save();
  MemoryState state{{}, {}, MemoryClock(trained.graph->vertices)};
  const auto mails = sweep_end_.begin() + static_cast<std::int64_t>(sweep_end_.size()) / 3;
  state.memory.assign(sweep_end_.begin(), mails);
  state.mails.assign(mails, sweep_end_.end());
  for (std::int64_t batch = 0; batch < plan_.order.batches(); ++batch)
    state.clock.pass(*trained.graph, trained.whole->time[0], batch * plan_.order.whole_batch(),
                     plan_.order.batch_count(batch));
  for (EdgeId& event : state.clock.mail_event) {
    if (event >= 0) event = trained.number(event);
  }
  return state;
}

std::map<std::string, double> GroupTrainer::measure(const EvaluationMoment& moment) {
  const std::int64_t some = events().options.evaluate_batches;
  if (device_.has_values()) events().prepare_static_memory();  // all vectors
  if (replay_ == nullptr) {
    replay_ = std::make_unique<EvaluationPass>(events(), device_);
    replay_->keep(kept_);
  }
  if (moment.last) return replay_->metrics_and_views(weights_.parameters());
  if (some > 0) return replay_->metrics_of_some(weights_.parameters(), some, moment.epoch);
  if (events().options.evaluate == "copy0")
    return replay_->metrics_from(weights_.parameters(), memory_after_training());
  return replay_->metrics(weights_.parameters());
}

std::map<std::string, double> GroupTrainer::measure_jointly(const EvaluationMoment& moment) {
  const std::int64_t some = moment.last ? 0 : events().options.evaluate_batches;
  joint_ = evaluate_jointly(plan_, weights_.parameters(), {device_, communicator_, column_, kept_.count("scores") != 0},
                            some, moment.epoch);
  return joint_.metrics;
}

/// Rank 0 has the metrics and sends them to all ranks.
std::map<std::string, double> GroupTrainer::evaluate(const EvaluationMoment& moment) {
  std::vector<double> reported(plan_.metrics.size(), 0.0);
  const bool jointly = evaluates_jointly(moment);
  std::map<std::string, double> found;
  if (jointly) found = measure_jointly(moment);
  if (communicator_.rank() == 0) {
    if (!jointly) found = measure(moment);
    for (std::size_t m = 0; m < reported.size() && !found.empty(); ++m) {
      const auto metric = found.find(plan_.metrics[m]);
      reported[m] = metric == found.end() ? std::numeric_limits<double>::quiet_NaN() : metric->second;
    }
    if (!jointly && plan_.part != nullptr) plan_.part->rest_file();
  }
  if (communicator_.size() > 1) {
    const Tensor all =
        device_.move_in(reported.data(), static_cast<std::int64_t>(reported.size()), 1, ElementType::f64);
    communicator_.all_reduce(all, Traffic::other);
    device_.move_out(all, reported.data());
  }
  std::map<std::string, double> metrics;
  for (std::size_t m = 0; m < reported.size() && device_.has_values(); ++m) metrics[plan_.metrics[m]] = reported[m];
  return metrics;
}

void GroupTrainer::keep(const std::set<std::string>& names) {
  kept_ = names;
  if (replay_ != nullptr) replay_->keep(names);
}

TrainingFindings GroupTrainer::findings() const {
  return {0, false, replay_ == nullptr ? joint_.equal_outputs : replay_->equal_outputs()};
}

OutputContent GroupTrainer::output(const std::string& name) {
  if (evaluates_jointly({trained_, true}) && name == "ranks") return {std::move(joint_.ranks), {}};
  if (evaluates_jointly({trained_, true}) && name == "scores") return {{}, std::move(joint_.scores)};
  return replay_ == nullptr ? OutputContent() : replay_->hand_over(name, weights_.parameters());
}

}  // namespace strobe
