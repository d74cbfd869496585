#include "harness/events/event_replay.hpp"

#include <algorithm>

#include "core/random.hpp"
#include "harness/inputs/host_values.hpp"
#include "harness/request/until.hpp"
#include "models/tasks/metrics.hpp"

namespace strobe {
namespace {

/// Roots and slots that are scored at once, about: what they take must fit beside everything else.
constexpr std::int64_t most_asked = 200'000;

/// Which random numbers say where batches of an evaluation of some begin.
constexpr std::uint32_t some_batches = 44;

}  // namespace

Pass EventReplay::evaluating() const {
  Pass pass;
  pass.seed = static_cast<std::uint64_t>(case_.request.seed);
  pass.training = false;
  return pass;
}

std::int64_t EventReplay::events_at_once(std::int64_t candidates) const {
  const EventModelTraits traits = case_.model->traits();
  std::int64_t of_root = 1;
  for (int level = 0; level < traits.levels; ++level) of_root *= 1 + traits.neighbours;
  const auto pool = case_.data.task->candidates == nullptr
                        ? std::int64_t{0}
                        : static_cast<std::int64_t>(case_.data.task->candidates->pool().size());
  const std::int64_t roots = 2 + (candidates < 0 ? pool : std::min(candidates, pool));
  return std::max<std::int64_t>(1, most_asked / (of_root * roots));
}

void EventReplay::remember(const Parameters& parameters, EdgeId first, std::int64_t count) {
  if (walk_.memory() == nullptr) return;
  Tape tape(device_, false);
  const PendingDraw draw = walk_.start_draw({first, count, first, false, -1, 0, true});
  walk_.write(walk_.pass(tape, parameters, draw, evaluating()));
}

void EventReplay::pass_by(const Parameters& parameters, EdgeId first, EdgeId last) {
  const std::int64_t batch = case_.data.task->evaluation_batch;
  for (EdgeId at = first; at < last; at += batch) remember(parameters, at, std::min(batch, last - at));
}

void EventReplay::score_part(const Parameters& parameters, const BatchWish& wish, EventOutputs& outputs) {
  Tape tape(device_, false);
  const PendingDraw draw = walk_.start_draw(wish);
  const Tensor scores = walk_.pass(tape, parameters, draw, evaluating()).outputs->value;
  const std::vector<double> values = host_values(device_, scores);
  const std::int64_t columns = scores.columns();
  const auto behind = static_cast<std::int64_t>(outputs.values.size());
  outputs.values.insert(outputs.values.end(), values.begin(), values.end());
  for (std::int64_t i = 0; i < wish.count && !values.empty(); ++i) {
    outputs.first.push_back(behind + i * columns);
    // A head with as many columns as there are candidates has some of events with fewer: those repeat another.
    const std::int64_t own = draw.drawn->counts[static_cast<std::size_t>(i)];
    outputs.counts.push_back(columns == draw.drawn->candidates ? std::min(own, columns) : columns);
  }
}

EventOutputs EventReplay::score(const Parameters& parameters, EdgeId first, EdgeId last) {
  const EventTaskData& task = *case_.data.task;
  const std::int64_t at_once = events_at_once(task.evaluation_candidates);
  EventOutputs outputs;
  for (EdgeId batch = first; batch < last; batch += task.evaluation_batch) {
    const EdgeId end = std::min(last, batch + task.evaluation_batch);
    for (EdgeId at = batch; at < end; at += at_once) {
      score_part(parameters, {at, std::min(at_once, end - at), batch, true, -1, task.evaluation_candidates, false},
                 outputs);
    }
    remember(parameters, batch, end - batch);
  }
  return outputs;
}

void EventReplay::judge(const Parameters& parameters, const char* prefix, EdgeId first, EdgeId last,
                        std::map<std::string, double>& all) {
  if (first == last) return;
  const EventOutputs outputs = score(parameters, first, last);
  if (outputs.values.empty()) return;
  const EventTaskData& task = *case_.data.task;
  for (const auto& [name, value] : case_.task->metrics(*case_.data.graph, task, first, outputs))
    all[prefix + name] = value;
  equal_outputs_ = all_equal(outputs.values, 1);
}

std::map<std::string, double> EventReplay::judge_both(const Parameters& parameters) {
  const EventTaskData& task = *case_.data.task;
  std::map<std::string, double> all;
  judge(parameters, validation_prefix, task.split.train_end, task.split.validation_end, all);
  judge(parameters, "", task.split.validation_end, case_.data.graph->events(), all);
  if (device_.has_values()) all.insert(task.rules.begin(), task.rules.end());
  return all;
}

std::map<std::string, double> EventReplay::metrics(const Parameters& parameters) {
  walk_.reset();
  pass_by(parameters, 0, case_.data.task->split.train_end);
  return judge_both(parameters);
}

std::map<std::string, double> EventReplay::metrics_from(const Parameters& parameters, const MemoryState& state) {
  walk_.reset();
  walk_.start_from(state.clock);
  if (walk_.memory() != nullptr) walk_.memory()->restore(state.memory, state.mails);
  return judge_both(parameters);
}

std::map<std::string, double> EventReplay::metrics_of_some(const Parameters& parameters, std::int64_t batches,
                                                           std::int64_t number) {
  const EventTaskData& task = *case_.data.task;
  const RandomStream random(static_cast<std::uint64_t>(case_.request.seed), some_batches);
  std::map<std::string, double> all;
  const auto some_of = [&](const char* prefix, std::int64_t part, EdgeId begin, EdgeId end) {
    const std::int64_t of_part = (end - begin + task.evaluation_batch - 1) / task.evaluation_batch;
    const auto places = static_cast<std::uint64_t>(std::max<std::int64_t>(1, of_part - batches + 1));
    const auto skipped = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * number + part), places));
    const EdgeId first = begin + skipped * task.evaluation_batch;
    walk_.reset();
    judge(parameters, prefix, first, std::min(end, first + batches * task.evaluation_batch), all);
  };
  some_of(validation_prefix, 0, task.split.train_end, task.split.validation_end);
  some_of("", 1, task.split.validation_end, case_.data.graph->events());
  if (device_.has_values()) all.insert(task.rules.begin(), task.rules.end());
  return all;
}

std::vector<double> EventReplay::ranks(const Parameters& parameters) {
  walk_.reset();
  pass_by(parameters, 0, case_.data.task->split.train_end);
  const TimeSplit& split = case_.data.task->split;
  std::vector<double> all = case_.task->ranks(score(parameters, split.train_end, split.validation_end));
  // Batches begin anew with the test events, as they do for metrics.
  const std::vector<double> test =
      case_.task->ranks(score(parameters, split.validation_end, case_.data.graph->events()));
  all.insert(all.end(), test.begin(), test.end());
  return all;
}

std::vector<SavedMatrix> EventReplay::memory(const Parameters& parameters) {
  walk_.reset();
  pass_by(parameters, 0, case_.data.graph->events());
  const std::int64_t vertices = case_.data.graph->vertices, width = case_.model->traits().memory;
  const MemoryClock& clock = walk_.clock();
  std::vector<SavedMatrix> saved{{"memory", vertices, width, walk_.memory()->memory()},
                                 {"last_update", vertices, 1, clock.updated},
                                 {"mails", vertices, 2 * width, walk_.memory()->mails()},
                                 {"mail_time", vertices, 1, clock.mail_time},
                                 {"mail_event", vertices, 1, {clock.mail_event.begin(), clock.mail_event.end()}}};
  if (saved.front().values.empty()) return {};
  return saved;
}

std::vector<double> EventReplay::embeddings(const Parameters& parameters) {
  const EventTaskData& task = *case_.data.task;
  const std::int64_t width = case_.model->traits().embedding, events = case_.data.graph->events();
  const std::int64_t at_once = events_at_once(1);
  std::vector<double> all;
  walk_.reset();
  for (EdgeId batch = 0; batch < events; batch += task.evaluation_batch) {
    const EdgeId end = std::min(events, batch + task.evaluation_batch);
    for (EdgeId at = batch; at < end; at += at_once) {
      const std::int64_t count = std::min(at_once, end - at);
      Tape tape(device_, false);
      const PendingDraw draw = walk_.start_draw({at, count, batch, true, -1, 1, false});
      const std::vector<double> rows =
          host_values(device_, walk_.pass(tape, parameters, draw, evaluating()).embeddings->value);
      const std::int64_t columns = draw.drawn->candidates;
      const auto put = [&](std::int64_t row) {
        all.insert(all.end(), rows.begin() + row * width, rows.begin() + (row + 1) * width);
      };
      for (std::int64_t i = 0; i < count && !rows.empty(); ++i) {
        put(i);
        put(count + i * columns);
        if (columns > 1)
          put(count + i * columns + 1);
        else
          all.insert(all.end(), static_cast<std::size_t>(width), 0.0);
      }
    }
    remember(parameters, batch, end - batch);
  }
  return all;
}

}  // namespace strobe
