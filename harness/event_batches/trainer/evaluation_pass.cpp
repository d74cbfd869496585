#include "harness/event_batches/trainer/evaluation_pass.hpp"

#include <algorithm>

#include "harness/schedule/file_content.hpp"
#include "harness/schedule/host_values.hpp"
#include "models/tasks/future_links/ranking.hpp"
#include "models/tasks/metrics.hpp"

namespace strobe {
namespace {

/// The first negative in group 0 that training draws for each of `count` events from `first` on. It is -1 for events
/// that are not for training, and when the task draws none.
std::shared_ptr<const std::vector<VertexId>> first_negatives(const EventCase& c, EdgeId first, std::int64_t count) {
  auto negatives = std::make_shared<std::vector<VertexId>>(count, -1);
  const EventTaskData& trained = *c.training.task;
  if (trained.candidates == nullptr) return negatives;
  EdgeId next = first;  // number among the training events
  if (const auto& left = c.data.task->trained; left != nullptr)
    next = std::lower_bound(left->numbers.begin(), left->numbers.end(), first) - left->numbers.begin();
  for (; next < c.training_events() && c.training.number(next) < first + count; ++next)
    negatives->at(c.training.number(next) - first) = trained.candidates->negative(next, 0, 0);
  return negatives;
}

}  // namespace

void ComingOutputs::add(const double* values, std::int64_t columns, const std::vector<std::int64_t>& counts) {
  EventOutputs step;
  step.values.assign(values, values + static_cast<std::size_t>(columns) * counts.size());
  step.counts = counts;
  for (std::size_t i = 0; i < counts.size(); ++i) step.first.push_back(static_cast<std::int64_t>(i) * columns);
  if (!keeps_all_) task_->shorten(step, 0);
  if (outputs_.first.empty()) {  // takes memory at once: growing takes up to three times as much
    const std::int64_t kept = keeps_all_ ? columns : std::min(columns, task_->most_kept());
    outputs_.values.reserve(static_cast<std::size_t>(events_ * kept));
    outputs_.first.reserve(static_cast<std::size_t>(events_));
    outputs_.counts.reserve(static_cast<std::size_t>(events_));
    if (!keeps_all_) outputs_.reciprocal.reserve(static_cast<std::size_t>(events_));
  }
  const auto behind = static_cast<std::int64_t>(outputs_.values.size());
  const auto append = [](auto& to, const auto& more) { to.insert(to.end(), more.begin(), more.end()); };
  append(outputs_.values, step.values), append(outputs_.counts, step.counts);
  append(outputs_.reciprocal, step.reciprocal);
  for (const std::int64_t first : step.first) outputs_.first.push_back(behind + first);
  outputs_.seen += step.seen;
  outputs_.equal = outputs_.equal && step.equal && outputs_.values.front() == outputs_.values[behind];
}

bool ComingOutputs::all_equal() const {
  return keeps_all_ ? strobe::all_equal(outputs_.values, 1) : outputs_.equal && outputs_.seen > 1;
}

void add_metrics(const EventCase& c, const EvaluatedEvents& events, const EventOutputs& outputs,
                 std::map<std::string, double>& all) {
  for (const auto& [name, value] : c.task->metrics(*c.data.graph, *c.data.task, events.first, outputs))
    all[events.prefix + name] = value;
}

SavedMatrix scores_of(const EventCase& c, const EvaluatedEvents& events, const EventOutputs& outputs) {
  SavedMatrix scores{events.prefix, 0, 0, {}};
  scores.values.reserve(outputs.counts.size() + outputs.values.size());
  for (std::size_t i = 0; i < outputs.counts.size(); ++i)
    if (c.data.task->is_judged(events.first + static_cast<EdgeId>(i))) append_scores(outputs, i, scores.values);
  return scores;
}

Pass EvaluationPass::evaluating() const {
  Pass pass;
  pass.seed = static_cast<std::uint64_t>(case_.request.seed);
  pass.training = false;
  return pass;
}

void EvaluationPass::remember(const Parameters& parameters, EdgeId first, std::int64_t count) {
  if (walk_.memory() == nullptr) return;
  Tape tape(device_, false);
  const PendingDraw draw = walk_.start_draw({first, count, first, false, -1, 0, true});
  walk_.write(walk_.pass(tape, parameters, draw, evaluating()));
}

void EvaluationPass::pass_by(const Parameters& parameters, EdgeId first, EdgeId last) {
  const std::int64_t batch = case_.data.task->evaluation_batch;
  for (EdgeId at = first; at < last; at += batch) {
    const std::int64_t count = std::min(batch, last - at);
    if (viewed_.embeddings) embed_trained(parameters, at, count);
    remember(parameters, at, count);
  }
}

void EvaluationPass::embed_trained(const Parameters& parameters, EdgeId batch, std::int64_t count) {
  const std::int64_t at_once = events_scored_at_once(case_, 1);
  for (EdgeId at = batch; at < batch + count; at += at_once) {
    const std::int64_t part = std::min(at_once, batch + count - at);
    Tape tape(device_, false);
    const PendingDraw draw =
        walk_.start_draw({at, part, batch, true, -1, 1, false, 0, first_negatives(case_, at, part)});
    keep_embeddings(*draw.drawn, walk_.pass(tape, parameters, draw, evaluating()).embeddings->value);
  }
}

void EvaluationPass::keep_embeddings(const BatchDraw& drawn, const Tensor& embeddings) {
  const std::vector<double> rows = host_values(device_, embeddings);
  if (rows.empty()) return;
  const std::int64_t width = case_.model->traits().embedding, count = drawn.request.count;
  double* const all = views_->embeddings.data();
  const auto put = [&](std::int64_t row) {
    std::copy_n(rows.begin() + row * width, width, all + embedded_);
    embedded_ += static_cast<std::size_t>(width);
  };
  for (std::int64_t i = 0; i < count; ++i) {
    put(i);
    put(count + i * drawn.candidates);
    if (drawn.counts[i] > 1)
      put(count + i * drawn.candidates + 1);
    else
      embedded_ += static_cast<std::size_t>(width);
  }
}

void EvaluationPass::score_part(const Parameters& parameters, const BatchRequest& request, ComingOutputs& outputs) {
  Tape tape(device_, false);
  const PendingDraw draw = walk_.start_draw(request);
  const PassOutput output = walk_.pass(tape, parameters, draw, evaluating());
  const Tensor scores = output.outputs->value;
  const std::vector<double> values = host_values(device_, scores);
  if (viewed_.embeddings) keep_embeddings(*draw.drawn, output.embeddings->value);
  if (values.empty()) return;
  const std::int64_t columns = scores.columns();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(request.count), columns);
  // If columns are candidates, an event with fewer of them has padding columns, which do not count.
  for (std::size_t i = 0; columns == draw.drawn->candidates && i < counts.size(); ++i)
    counts[i] = std::min(draw.drawn->counts[i], columns);
  outputs.add(values.data(), columns, counts);
}

ComingOutputs EvaluationPass::score(const Parameters& parameters, EdgeId first, EdgeId last) {
  const EventTaskData& task = *case_.data.task;
  const std::int64_t at_once = events_scored_at_once(case_, task.evaluation_candidates);
  ComingOutputs outputs(*case_.task, last - first, viewed_.scores);
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

void EvaluationPass::judge(const Parameters& parameters, const EvaluatedEvents& events,
                           std::map<std::string, double>& all) {
  if (events.count() == 0) return;
  const ComingOutputs scored = score(parameters, events.first, events.last);
  const EventOutputs& outputs = scored.outputs();
  if (outputs.values.empty()) return;
  if (viewed_.ranks) {
    const std::vector<double> ranks = case_.task->ranks(outputs);
    views_->ranks.insert(views_->ranks.end(), ranks.begin(), ranks.end());
  }
  if (viewed_.scores) views_->scores.push_back(scores_of(case_, events, outputs));
  add_metrics(case_, events, outputs, all);
  equal_outputs_ = scored.all_equal();
}

std::map<std::string, double> EvaluationPass::judge_both(const Parameters& parameters) {
  std::map<std::string, double> all;
  for (const EvaluatedEvents& events : judged_events(case_)) judge(parameters, events, all);
  add_rules(all);
  return all;
}

void EvaluationPass::start(const WantedViews& viewed) {
  views_.reset();
  viewed_ = viewed;
  walk_.reset();
}

std::map<std::string, double> EvaluationPass::metrics(const Parameters& parameters) {
  start({});
  pass_by(parameters, 0, case_.data.task->split.train_end);
  return judge_both(parameters);
}

std::map<std::string, double> EvaluationPass::metrics_and_views(const Parameters& parameters) {
  start(wanted_);
  views_.emplace();
  embedded_ = 0;
  if (wanted_.embeddings && device_.has_values())
    views_->embeddings = file_content(
        case_.node.get(), static_cast<std::size_t>(3 * case_.data.graph->events() * case_.model->traits().embedding));
  pass_by(parameters, 0, case_.data.task->split.train_end);
  std::map<std::string, double> all = judge_both(parameters);
  if (wanted_.memory) views_->memory = memory_now();
  return all;
}

OutputContent EvaluationPass::hand_over(const std::string& name, const Parameters& parameters) {
  views(parameters);
  EventViews& kept = *views_;
  if (name == "embeddings") return {kept.embeddings.finish(), {}};
  if (name == "memory") return {{}, std::move(kept.memory)};
  if (name == "ranks") return {std::move(kept.ranks), {}};
  if (name == "scores") return {{}, std::move(kept.scores)};
  return {};
}

const EventViews& EvaluationPass::views(const Parameters& parameters) {
  if (!views_) metrics_and_views(parameters);
  return *views_;
}

std::map<std::string, double> EvaluationPass::metrics_from(const Parameters& parameters, const MemoryState& state) {
  start({});
  walk_.start_from(state.clock);
  if (walk_.memory() != nullptr) walk_.memory()->restore(state.memory, state.mails);
  return judge_both(parameters);
}

std::map<std::string, double> EvaluationPass::metrics_of_some(const Parameters& parameters, std::int64_t batches,
                                                              std::int64_t number) {
  std::map<std::string, double> all;
  for (const EvaluatedEvents& events : some_judged_events(case_, batches, number)) {
    start({});
    judge(parameters, events, all);
  }
  add_rules(all);
  return all;
}

void EvaluationPass::add_rules(std::map<std::string, double>& all) const {
  const std::map<std::string, double>& rules = case_.data.task->rules;
  if (device_.has_values()) all.insert(rules.begin(), rules.end());
}

std::vector<SavedMatrix> EvaluationPass::memory_now() {
  const std::int64_t vertices = case_.data.graph->vertices, width = case_.model->traits().memory;
  const MemoryClock& clock = walk_.clock();
  std::vector<SavedMatrix> saved;
  saved.push_back({"memory", vertices, width, walk_.memory()->memory()});
  if (saved.front().values.empty()) return {};
  saved.push_back({"last_update", vertices, 1, clock.updated});
  saved.push_back({"mails", vertices, 2 * width, walk_.memory()->mails()});
  saved.push_back({"mail_time", vertices, 1, clock.mail_time});
  saved.push_back({"mail_event", vertices, 1, {clock.mail_event.begin(), clock.mail_event.end()}});
  return saved;
}

}  // namespace strobe
