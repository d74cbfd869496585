#include "harness/event_batches/trainer/batch_source.hpp"

#include <algorithm>
#include <utility>

#include "backends/host/host_work.hpp"
#include "harness/event_batches/trainer/batch_pass.hpp"
#include "harness/event_batches/trainer/feature_pages.hpp"

namespace strobe {
namespace {

/// Calls of `advance` in an iteration of GroupTrainer.
constexpr std::int64_t steps_of_iteration = 5;

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

BatchRequest request_of(const BatchOrder& order, std::int64_t sequence, int rank, std::int64_t set) {
  const TrainerTurn turn = *order.turn(sequence + set, rank);
  return {turn.first, turn.count, turn.batch_first, true, turn.group, 0, set == 0, turn.batch_count};
}

std::int64_t draws_ahead(const EventBatchOptions& options, std::int64_t j, std::int64_t joint_steps) {
  if (options.prefetch > 0) return options.prefetch;
  if (!options.pipeline) return 0;
  if (joint_steps == 0) return j;
  // Messages take steps during an iteration, so the draws begin earlier. The last iteration lacks a step.
  return j + std::max<std::int64_t>(1, (joint_steps + steps_of_iteration) / steps_of_iteration - 1);
}

HeldDraws held_draws(const EventBatchOptions& options, std::int64_t j, std::int64_t joint_steps) {
  const std::int64_t ahead = draws_ahead(options, j, joint_steps);
  // A rank begins a batch, of j draws, in every j-th iteration.
  const auto begun_in = [j](std::int64_t iterations) { return (iterations + j - 1) / j * j; };
  HeldDraws held;
  held.under_way =
      begun_in(joint_steps == 0 ? std::min<std::int64_t>(ahead, 1)
                                : std::min(ahead, (joint_steps + steps_of_iteration - 1) / steps_of_iteration));
  // With pipeline, the batch in training may begin before a backward pass of the last one ends.
  const std::int64_t of_pass = options.pipeline && ahead % j == 0 ? 1 : 0;
  held.made = of_pass + j + begun_in(ahead) - held.under_way;
  return held;
}

EventBatchSource::EventBatchSource(std::shared_ptr<const EventCase> c, const BatchOrder& order, int rank,
                                   Device& device)
    : case_(std::move(c)),
      order_(order),
      rank_(rank),
      device_(device),
      ahead_(draws_ahead(case_->options, order.groups().j, 0)),
      end_(order.first_iteration(case_->planned_epochs())) {
  if (case_->options.presample != "none") presample();
}

const std::shared_ptr<GroupDrawState>& EventBatchSource::state() {
  if (state_ == nullptr) state_ = std::make_shared<GroupDrawState>(*case_, order_, copy());
  return state_;
}

DeviceEvent EventBatchSource::start_draw(std::int64_t sequence, const BatchRequest& request,
                                         std::shared_ptr<BatchDraw> drawn) {
  HostWork work;
  work.name = "draw_batch";
  work.work = drawing_work(*case_, case_->training, request);
  work.body = [state = state(), drawn = std::move(drawn), request, sequence, c = case_](Workers& workers) {
    state->move_to(sequence, c->training);
    state->drawer.draw(request, state->clock, workers, *drawn);
    read_features_ahead(c->training, *drawn);
  };
  return device_.run_on_host(std::move(work));
}

DrawnSets EventBatchSource::start(std::int64_t sequence) {
  DrawnSets sets;
  sets.sequence = sequence;
  for (std::int64_t set = 0; set < order_.groups().j; ++set) {
    const BatchRequest request = request_of(order_, sequence, rank_, set);
    if (presampled_ != nullptr) {
      PresampledDraw kept = presampled_->find(PresampledKey::of(order_, sequence, copy(), request));
      if (kept.reading.body) sets.ready = device_.run_on_host(std::move(kept.reading));
      sets.draws.push_back(std::move(kept.drawn));
    } else {
      const auto drawn = std::make_shared<BatchDraw>();
      sets.ready = start_draw(sequence, request, drawn);
      sets.draws.push_back(drawn);
    }
  }
  return sets;
}

void EventBatchSource::join(std::unique_ptr<JointDraws> joint) {
  joint_ = std::move(joint);
  ahead_ = draws_ahead(case_->options, order_.groups().j, joint_->steps());
}

void EventBatchSource::start_jointly(std::int64_t sequence) {
  const std::optional<TrainerTurn> turn = order_.turn(sequence, rank_);
  const bool begins = turn && turn->set == 0;
  DrawnSets sets;
  sets.sequence = sequence;
  std::vector<BatchRequest> requests;
  std::vector<std::shared_ptr<BatchDraw>> drawn;
  for (std::int64_t set = 0; begins && set < order_.groups().j; ++set) {
    requests.push_back(request_of(order_, sequence, rank_, set));
    sets.draws.push_back(drawn.emplace_back(std::make_shared<BatchDraw>()));
  }
  joint_->start(sequence, requests, std::move(drawn));
  if (begins) coming_.push_back(std::move(sets));
}

void EventBatchSource::start_jointly_to(std::int64_t last) {
  for (; joined_ <= last; ++joined_) start_jointly(joined_);
}

void EventBatchSource::meet(std::int64_t iteration) {
  if (joint_ == nullptr) return;
  start_jointly_to(iteration);
  joint_->finish(iteration);
}

DrawnSets EventBatchSource::take(std::int64_t sequence) {
  if (coming_.empty() || coming_.front().sequence != sequence) {
    coming_.clear();
    return start(sequence);
  }
  DrawnSets sets = std::move(coming_.front());
  coming_.pop_front();
  return sets;
}

void EventBatchSource::draw_ahead(std::int64_t iteration, std::int64_t epoch_end) {
  if (joint_ != nullptr) {
    joint_->advance();
    return start_jointly_to(std::min(iteration + ahead_, epoch_end - 1));
  }
  const std::int64_t step = order_.groups().j, own = order_.groups().subgroup_of(rank_);
  // The rank's first batch after `iteration`, or after those that are drawn already.
  std::int64_t next = iteration < own ? own : iteration + step - (iteration - own) % step;
  if (!coming_.empty()) next = coming_.back().sequence + step;
  for (; next <= iteration + ahead_ && next < end_; next += step) coming_.push_back(start(next));
}

void EventBatchSource::restart(std::int64_t sequence, std::int64_t iteration) {
  coming_.clear();
  joined_ = std::max<std::int64_t>(0, iteration - order_.groups().j + 1);
  if (joint_ != nullptr) return meet(iteration - 1);
  state()->next = sequence;
  while (!order_.begins_sweep(copy(), state()->next)) --state()->next;
}

void EventBatchSource::presample() {
  presampled_ = make_presampled_batches(case_->options.presample);
  for (std::int64_t n = order_.groups().subgroup_of(rank_); n < end_; n += order_.groups().j) {
    for (std::int64_t set = 0; set < order_.groups().j; ++set) {
      const BatchRequest request = request_of(order_, n, rank_, set);
      const PresampledKey key = PresampledKey::of(order_, n, copy(), request);
      if (presampled_->has(key)) continue;
      const auto drawn = std::make_shared<BatchDraw>();
      device_.await(start_draw(n, request, drawn));
      presampled_->add(key, drawn);
    }
  }
}

}  // namespace strobe
