#include "harness/event_batches/trainer/evaluation_order.hpp"

#include <algorithm>

#include "core/random.hpp"
#include "harness/request/until.hpp"

namespace strobe {
namespace {

/// The approximate number of roots and slots that are scored at once, to limit memory.
constexpr std::int64_t most_asked = 200'000;

/// Purpose of the random numbers that choose the batches of an evaluation on some batches.
constexpr std::uint32_t some_batches = 44;

std::int64_t steps_for(std::int64_t count, std::int64_t of_piece) { return (count + of_piece - 1) / of_piece; }

}  // namespace

std::int64_t asked_by_event(const EventCase& c, std::int64_t candidates) {
  const EventModelTraits traits = c.model->traits();
  std::int64_t of_root = 1;
  for (int level = 0; level < traits.levels; ++level) of_root *= 1 + traits.neighbours;
  const auto pool = c.data.task->candidates == nullptr
                        ? std::int64_t{0}
                        : static_cast<std::int64_t>(c.data.task->candidates->pool().size());
  const std::int64_t roots = 2 + (candidates < 0 ? pool : std::min(candidates, pool));
  return of_root * roots;
}

std::int64_t events_scored_at_once(const EventCase& c, std::int64_t candidates) {
  return std::max<std::int64_t>(1, most_asked / asked_by_event(c, candidates));
}

std::vector<EvaluatedEvents> judged_events(const EventCase& c) {
  const TimeSplit& split = c.data.task->split;
  return {{split.train_end, split.validation_end, true, validation_prefix},
          {split.validation_end, c.data.graph->events(), true, ""}};
}

std::array<EvaluatedEvents, 2> some_judged_events(const EventCase& c, std::int64_t batches, std::int64_t number) {
  const std::int64_t of_batch = c.data.task->evaluation_batch;
  const RandomStream random(static_cast<std::uint64_t>(c.request.seed), some_batches);
  const std::vector<EvaluatedEvents> all = judged_events(c);
  std::array<EvaluatedEvents, 2> some{all[0], all[1]};
  for (std::size_t part = 0; part < some.size(); ++part) {
    const std::uint64_t places = std::max<std::int64_t>(1, steps_for(all[part].count(), of_batch) - batches + 1);
    const std::int64_t skipped = random.below(static_cast<std::uint64_t>(2 * number) + part, places);
    some[part].first += skipped * of_batch;
    some[part].last = std::min(some[part].last, some[part].first + batches * of_batch);
  }
  return some;
}

EvaluationOrder::EvaluationOrder(const EventCase& c, const std::vector<EvaluatedEvents>& parts)
    : case_(c),
      batch_(c.data.task->evaluation_batch),
      at_once_(events_scored_at_once(c, c.data.task->evaluation_candidates)),
      has_memory_(c.model->traits().memory > 0) {
  for (const EvaluatedEvents& part : parts) {
    if (part.count() == 0 || (!part.scored && !has_memory_)) continue;
    parts_.push_back(part);
    const std::int64_t whole = part.count() / batch_;
    first_step_.push_back(first_step_.back() + whole * steps_of_batch(batch_, part.scored) +
                          steps_of_batch(part.count() % batch_, part.scored));
  }
}

std::int64_t EvaluationOrder::steps_of_batch(std::int64_t count, bool scored) const {
  return scored ? steps_for(count, at_once_) : std::int64_t{count > 0};
}

EvaluationStep EvaluationOrder::step(std::int64_t number) const {
  EvaluationStep step;
  while (first_step_[step.part + 1] <= number) ++step.part;
  const EvaluatedEvents& part = parts_[step.part];
  const std::int64_t within = number - first_step_[step.part], of_batch = steps_of_batch(batch_, part.scored);
  const EdgeId first = part.first + within / of_batch * batch_, end = std::min(part.last, first + batch_);
  const EdgeId at = first + within % of_batch * at_once_;
  step.scores = part.scored;
  if (part.scored) {
    const std::int64_t count = std::min(at_once_, end - at);
    step.requests.push_back({at, count, first, true, -1, case_.data.task->evaluation_candidates, false});
  }
  if (has_memory_ && (!part.scored || at + at_once_ >= end)) {
    step.passed_first = first, step.passed = end - first;
    // The count of the batch says that `move_to`, and not the draw, moves the clock.
    step.requests.push_back({first, step.passed, first, false, -1, 0, true, step.passed});
  }
  return step;
}

EdgeId EvaluationOrder::batch_begin(EdgeId event) const {
  std::size_t part = 0;
  while (parts_[part].last <= event) ++part;
  return event - (event - parts_[part].first) % batch_;
}

EvaluationOrder whole_evaluation(const EventCase& c) {
  std::vector<EvaluatedEvents> all{{0, c.data.task->split.train_end, false, ""}};
  for (const EvaluatedEvents& part : judged_events(c)) all.push_back(part);
  return {c, all};
}

void EvaluationState::move_to(std::int64_t sequence, const EventData& data) {
  for (; next < sequence; ++next) {
    const EvaluationStep step = order.step(next);
    if (step.passed > 0) clock.pass(*data.graph, data.whole->time[0], step.passed_first, step.passed);
  }
}

}  // namespace strobe
