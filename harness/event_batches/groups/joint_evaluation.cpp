#include "harness/event_batches/groups/joint_evaluation.hpp"

#include <algorithm>
#include <utility>

#include "backends/host/host_work.hpp"
#include "harness/schedule/host_values.hpp"
#include "models/tasks/metrics.hpp"

namespace strobe {

JointEvaluation::JointEvaluation(const GroupPlan& plan, const EvaluationOrder& order,
                                 std::shared_ptr<const RemoteRows> rows, const EvaluatingRank& rank)
    : case_(*plan.events),
      order_(order),
      device_(rank.device),
      communicator_(rank.all),
      loader_(case_.data, device_),
      keeps_scores_(rank.keeps_scores) {
  for (const EvaluatedEvents& part : order.parts()) outputs_.emplace_back(*case_.task, part.count(), keeps_scores_);
  if (plan.evaluation.part != nullptr)
    neighbours_ = std::make_unique<RemoteNeighbours>(case_, case_.data, device_, rank.column, rows,
                                                     plan.evaluation.part, std::make_shared<EvaluationMoments>(order));
  else
    state_ = std::make_shared<EvaluationState>(order);
  if (plan.memory.width > 0)
    memory_ = std::make_unique<DistributedMemory>(device_, communicator_, rank.column, plan.memory, rows, true);
}

void JointEvaluation::run(const Parameters& parameters, JointResults& results) {
  const std::int64_t ranks = communicator_.size();
  for (std::int64_t first = 0; first < order_.steps(); first += ranks) {
    const std::int64_t end = std::min(order_.steps(), first + ranks);
    own_ = {};
    draw(first, end);
    for (std::int64_t n = first; n < end && memory_ != nullptr; ++n) pass_memory(parameters, n);
    // Steps that score nothing come first. If the last one of a round scores nothing, none of them does.
    if (order_.step(end - 1).scores) gather(score(parameters), first, end);
  }
  if (memory_ != nullptr) memory_->finish();
  judge(results);
}

void JointEvaluation::draw(std::int64_t first, std::int64_t end) {
  for (std::int64_t n = first; n < end; ++n) {
    const bool own = n % communicator_.size() == communicator_.rank();
    if (own) own_.step = order_.step(n);
    if (neighbours_ == nullptr) {
      if (own) draw_alone(n);
      continue;
    }
    std::vector<std::shared_ptr<BatchDraw>> drawn;
    for (std::size_t set = 0; own && set < own_.step.requests.size(); ++set)
      own_.draws.push_back(drawn.emplace_back(std::make_shared<BatchDraw>()));
    neighbours_->start(n, own ? own_.step.requests : std::vector<BatchRequest>{}, std::move(drawn));
  }
  if (neighbours_ == nullptr) return;
  // Steps that all draws take together, so that the host draws for several ranks at a time.
  for (std::int64_t taken = 0; taken < neighbours_->steps(); ++taken) neighbours_->advance();
  neighbours_->finish(end - 1);
}

void JointEvaluation::draw_alone(std::int64_t number) {
  for (const BatchRequest& request : own_.step.requests) {
    const auto drawn = std::make_shared<BatchDraw>();
    HostWork work;
    work.name = "draw_batch";
    work.work = drawing_work(case_, case_.data, request);
    work.body = [state = state_, drawn, request, number, &data = case_.data](Workers& workers) {
      state->move_to(number, data);
      state->drawer.draw(request, state->clock, workers, *drawn);
    };
    own_.drawn = device_.run_on_host(std::move(work));
    own_.draws.push_back(drawn);
  }
}

void JointEvaluation::pass_memory(const Parameters& parameters, std::int64_t number) {
  const bool own = number % communicator_.size() == communicator_.rank();
  memory_->begin(number, number == 0);
  if (!own) {
    memory_->read({}, {});
    return memory_->write(nullptr, {}, {});
  }
  device_.await(own_.drawn);
  own_.rows = memory_->read(own_.draws, {});
  if (own_.step.passed == 0) return memory_->write(nullptr, {}, {});
  const std::size_t written = own_.draws.size() - 1;
  Tape tape(device_, false);
  const PassOutput output = compute(parameters, tape, written);
  memory_->write(own_.draws[written], {}, output.updated);
  own_.rows.pop_back();
}

PassOutput JointEvaluation::compute(const Parameters& parameters, Tape& tape, std::size_t set) {
  const SharedDraw& drawn = own_.draws[set];
  BatchInput input = loader_.load(drawn);
  input.await_on(device_);
  MemoryRows rows;
  if (memory_ != nullptr) {
    device_.wait(Stream::compute, own_.rows[set].ready);
    rows = own_.rows[set].rows;
  }
  Pass pass;
  pass.seed = static_cast<std::uint64_t>(case_.request.seed);
  pass.training = false;
  return compute_batch(case_, tape, parameters, *drawn, input, rows, pass);
}

std::vector<double> JointEvaluation::score(const Parameters& parameters) {
  std::vector<double> outputs;
  if (!own_.step.scores) return outputs;
  device_.await(own_.drawn);
  Tape tape(device_, false);
  const Tensor scores = compute(parameters, tape, 0).outputs->value;
  const BatchDraw& drawn = *own_.draws.front();
  const std::vector<double> values = host_values(device_, scores);
  const std::int64_t columns = scores.columns();
  outputs.resize(static_cast<std::size_t>(drawn.request.count * (1 + columns)));
  for (std::int64_t i = 0; i < drawn.request.count && !values.empty(); ++i) {
    double* const to = outputs.data() + i * (1 + columns);
    // If columns are candidates, an event with fewer of them has padding columns, which do not count.
    const bool padded = columns == drawn.candidates;
    to[0] = static_cast<double>(padded ? std::min(drawn.counts[i], columns) : columns);
    std::copy_n(values.begin() + i * columns, columns, to + 1);
  }
  return outputs;
}

void JointEvaluation::gather(const std::vector<double>& own, std::int64_t first, std::int64_t end) {
  const std::size_t ranks = communicator_.size(), rank = communicator_.rank();
  // Without values the counts of other ranks are not known. Most of their parts are as large as the own one.
  std::vector<std::int64_t> counts(ranks, device_.has_values() ? 0 : static_cast<std::int64_t>(own.size()));
  counts[rank] = static_cast<std::int64_t>(own.size());
  const PartScope part(device_, MemoryPart::buffers);
  const Tensor sizes = device_.move_in(counts.data(), static_cast<std::int64_t>(ranks), 1, ElementType::i64);
  communicator_.all_reduce(sizes, Traffic::other);
  device_.move_out(sizes, counts.data());
  std::vector<PeerRows> sends(ranks), receives(ranks);
  std::int64_t received = 0;
  for (std::size_t from = 1; rank == 0 && from < ranks; ++from) {
    receives[from] = {received, counts[from]};
    received += counts[from];
  }
  if (rank > 0) sends[0] = {0, counts[rank]};
  const Tensor send = rank > 0 && !own.empty() ? device_.move_in(own.data(), counts[rank], 1, ElementType::f64)
                                               : device_.allocate(0, 1, ElementType::f64);
  const Tensor receive = device_.allocate(received, 1, ElementType::f64);
  if (!device_.has_values()) return;
  communicator_.all_to_all_v(send, std::move(sends), receive, receives, Traffic::other);
  if (rank > 0) return;
  std::vector<double> values(static_cast<std::size_t>(received));
  if (received > 0) device_.move_out(receive, values.data());
  for (std::int64_t n = first; n < end; ++n) {
    const std::size_t from = n % static_cast<std::int64_t>(ranks);
    keep_outputs(order_.step(n), from == 0 ? own.data() : values.data() + receives[from].first, counts[from]);
  }
}

void JointEvaluation::keep_outputs(const EvaluationStep& step, const double* values, std::int64_t count) {
  if (!step.scores) return;
  const std::int64_t events = step.requests.front().count, columns = count / events - 1;
  std::vector<double> scores;
  std::vector<std::int64_t> counts;
  scores.reserve(static_cast<std::size_t>(events * columns));
  for (std::int64_t i = 0; i < events; ++i, values += 1 + columns) {
    counts.push_back(static_cast<std::int64_t>(values[0]));
    scores.insert(scores.end(), values + 1, values + 1 + columns);
  }
  outputs_[step.part].add(scores.data(), columns, counts);
}

void JointEvaluation::judge(JointResults& results) const {
  if (communicator_.rank() != 0) return;
  for (std::size_t part = 0; part < outputs_.size(); ++part) {
    const EventOutputs& outputs = outputs_[part].outputs();
    if (outputs.values.empty()) continue;
    const std::vector<double> ranks = case_.task->ranks(outputs);
    results.ranks.insert(results.ranks.end(), ranks.begin(), ranks.end());
    if (keeps_scores_) results.scores.push_back(scores_of(case_, order_.parts()[part], outputs));
    add_metrics(case_, order_.parts()[part], outputs, results.metrics);
    results.equal_outputs = outputs_[part].all_equal();
  }
}

JointResults evaluate_jointly(const GroupPlan& plan, const Parameters& parameters, const EvaluatingRank& rank,
                              std::int64_t some, std::int64_t number) {
  JointResults results;
  const auto run = [&](const EvaluationOrder& order, std::shared_ptr<const RemoteRows> rows) {
    JointEvaluation(plan, order, std::move(rows), rank).run(parameters, results);
  };
  const EventCase& c = *plan.events;
  if (some == 0) {
    run(*plan.evaluation.order, plan.evaluation.rows->get());
  } else {
    for (const EvaluatedEvents& events : some_judged_events(c, some, number)) {
      const EvaluationOrder order(c, {events});
      run(order, std::make_shared<const RemoteRows>(order, rank.all.size(), plan.remote->nodes()));
    }
  }
  const std::map<std::string, double>& rules = c.data.task->rules;
  if (rank.device.has_values() && rank.all.rank() == 0) results.metrics.insert(rules.begin(), rules.end());
  if (plan.evaluation.part != nullptr) plan.evaluation.part->rest_file();
  return results;
}

}  // namespace strobe
