#include "harness/hybrid_batches/hybrid_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/system/process_memory.hpp"
#include "harness/full_batch/full_batch_trainer.hpp"
#include "harness/hybrid_batches/batch_walk.hpp"
#include "harness/schedule/host_values.hpp"

namespace strobe {
namespace {

AdjusterSetting adjuster_setting(const HybridPlan& plan) {
  AdjusterSetting setting;
  setting.kind = plan.options.adjuster;
  setting.actions = plan.actions.size();
  setting.first = plan.first_action;
  setting.seed = plan.seed();
  setting.printed_reward = plan.options.reward == "printed";
  setting.dqn.exploration_decay = plan.options.exploration_decay;
  setting.dqn.least_exploration = plan.options.least_exploration;
  setting.dqn.learning_rate = plan.options.learning_rate;
  setting.cost = plan.update_seconds;
  for (const TypicalBatch& typical : plan.typical) setting.target_cells.push_back(typical.target_cells);
  return setting;
}

}  // namespace

HybridTrainer::HybridTrainer(const HybridPlan& plan, Device& device, Communicator& communicator, bool judges_shapes)
    : plan_(plan),
      device_(device),
      communicator_(communicator),
      shared_sums_(communicator),
      weights_(device, plan.full->model.parameters, plan.seed(), plan.full->model.start_values,
               plan.full->request.optimizer),
      feed_(plan, device),
      adjuster_(make_adjuster(adjuster_setting(plan))),
      action_(plan.first_action),
      batch_loss_(device.allocate(1, 1, ElementType::f64)),
      totals_(device.allocate(2, 1, ElementType::f64)),
      number_(device.allocate(1, 1, ElementType::f64)),
      scratch_(device.allocate(weights_.parameters().count(), 1)),
      judges_shapes_(judges_shapes) {
  constexpr std::uint64_t fixed_number = std::uint64_t{7} << 28;  // no training of fewer than 28 sizes draws it
  if (!plan.options.watches_fixed_batch()) return;
  watched_ = device.allocate(2, 1, ElementType::f64);
  BatchMaker maker(plan, device.has_values());
  fixed_batch_ = maker.make(device.rank(), plan.first_action, fixed_number);
}

Pass HybridTrainer::pass() const {
  const RankSums* sums = &own_sums_;
  if (plan_.exact) sums = &shared_sums_;
  return {plan_.seed(), static_cast<std::int64_t>(iteration_), true, sums, ranges_};
}

void HybridTrainer::epoch(std::int64_t) {
  first_span_ = device_.spans().size();
  if (adjuster_ != nullptr) choose_size();
  device_.run(Fill{totals_, 0.0});
  sample_weight_ = 0;
  if (plan_.sync()) {
    update_together();
  } else {
    std::int64_t updates = 0;
    do update_alone();
    while (!reached_interval(++updates));
    updates_ = updates;
    if (plan_.options.averaging == "async") average_models();
  }
  if (fixed_batch_ != nullptr) watch_fixed_batch();
}

void HybridTrainer::watch_fixed_batch() {
  device_.run(Fill{watched_.slice_rows(0, 1), 0.0});
  device_.run(Fill{watched_.slice_rows(1, 1), fixed_batch_->total_weight});
  train_batch(device_, plan_, *fixed_batch_, weights_.parameters(), {plan_.seed(), 0, false, &own_sums_, nullptr}, 1.0,
              watched_.slice_rows(0, 1));
  communicator_.all_reduce(watched_, Traffic::other);
}

bool HybridTrainer::reached_interval(std::int64_t updates) {
  if (plan_.interval.iterations > 0) return updates == plan_.interval.iterations;
  device_.synchronize();  // now spans have their times
  return seconds_of_spans() >= plan_.interval.seconds;
}

double HybridTrainer::seconds_of_spans() const {
  const std::vector<Span>& spans = device_.spans().spans();
  if (spans.size() <= first_span_) return 0;
  double begin = spans[first_span_].begin_seconds, end = begin;
  for (std::size_t i = first_span_; i < spans.size(); ++i) {
    begin = std::min(begin, spans[i].begin_seconds);
    end = std::max(end, spans[i].end_seconds);
  }
  return end - begin;
}

void HybridTrainer::choose_size() {
  action_ = adjuster_->choose(outcome_ ? &*outcome_ : nullptr);
  outcome_.reset();
  device_.run(Fill{number_, communicator_.rank() == 0 ? static_cast<double>(action_) : 0.0});
  communicator_.all_reduce(number_, Traffic::other);
  double chosen = 0;
  if (device_.move_out(number_, &chosen)) action_ = static_cast<std::size_t>(chosen);
}

void HybridTrainer::update_together() {
  const SharedBatch batch = feed_.take(action_, iteration_);
  sample_weight_ = batch->total_weight;
  weights_.clear_gradients();
  train_batch(device_, plan_, *batch, weights_.parameters(), pass(), 1.0, totals_.slice_rows(0, 1));
  device_.run(Fill{totals_.slice_rows(1, 1), sample_weight_});
  communicator_.all_reduce(weights_.parameters().gradients(), Traffic::gradient);
  communicator_.all_reduce(totals_, Traffic::other);
  double totals[2] = {0, 0};
  device_.move_out(totals_, totals);
  scale(weights_.parameters().gradients(), totals[1] > 0 ? 1 / totals[1] : 0);
  weights_.update();
  ++iteration_;
}

void HybridTrainer::update_alone() {
  const SharedBatch batch = feed_.take(action_, iteration_);
  const double weight = batch->total_weight;
  weights_.clear_gradients();
  device_.run(Fill{batch_loss_, 0.0});
  train_batch(device_, plan_, *batch, weights_.parameters(), pass(), weight > 0 ? 1 / weight : 0, batch_loss_);
  device_.run(AddScaled{batch_loss_, totals_.slice_rows(0, 1), weight});
  sample_weight_ += weight;
  weights_.update();
  ++iteration_;
}

void HybridTrainer::observe(double loss) {
  device_.run(Fill{number_, seconds_of_spans() / static_cast<double>(updates_) / communicator_.size()});
  communicator_.all_reduce(number_, Traffic::other);
  double seconds = 0, watched[2] = {loss, 1};
  if (fixed_batch_ != nullptr) device_.move_out(watched_, watched);
  if (!device_.move_out(number_, &seconds)) return;
  const double stretch =
      plan_.iterations() > 0 ? seconds * static_cast<double>(plan_.iterations()) : plan_.interval.seconds;
  outcome_ = {seconds, watched[1] > 0 ? watched[0] / watched[1] : loss, stretch};
}

void HybridTrainer::average_models() {
  average(weights_.parameters().values(), Traffic::parameters);
  if (plan_.options.average == "moments") {
    for (const auto& [name, vector] : weights_.vectors()) average(vector, Traffic::parameters);
  }
}

void HybridTrainer::average(const Tensor& vector, Traffic traffic) {
  communicator_.all_reduce(vector, traffic);
  scale(vector, 1.0 / communicator_.size());
}

void HybridTrainer::scale(const Tensor& vector, double factor) {
  device_.run(Fill{scratch_, 0.0});
  device_.run(AddScaled{vector, scratch_, factor});
  device_.run(CopyRows{scratch_, vector, {}, {}, vector.rows(), 0, 0, 1, false});
}

EpochValues HybridTrainer::values(bool) {
  if (!plan_.sync()) {
    device_.run(Fill{totals_.slice_rows(1, 1), sample_weight_});
    communicator_.all_reduce(totals_, Traffic::other);
  }
  EpochValues values;
  double totals[2] = {0, 0};
  // Without any sample the weights do not change, so the last loss still holds.
  if (device_.move_out(totals_, totals)) values.loss = last_loss_ = totals[1] > 0 ? totals[0] / totals[1] : last_loss_;
  if (adjuster_ != nullptr) observe(values.loss.value_or(0));
  return values;
}

Tensor HybridTrainer::common_weights() {
  const Tensor& own = weights_.parameters().values();
  if (plan_.options.averaging != "never") return own;
  const Tensor mean = device_.allocate(own.rows(), 1);
  device_.run(CopyRows{own, mean, {}, {}, own.rows(), 0, 0, 1, false});
  average(mean, Traffic::other);
  return mean;
}

std::map<std::string, double> HybridTrainer::evaluate(const EvaluationMoment& moment) {
  std::map<std::string, double> metrics;
  // Without values there are no metrics.
  if (!device_.has_values() && !judges_shapes_) return metrics;
  device_.synchronize();
  device_.reset_peak();
  {
    FullBatchTrainer judge(*plan_.full, device_, communicator_);
    judge.take_weights(common_weights());
    metrics = judge.evaluate(moment);
    equal_outputs_ = judge.findings().equal_outputs;
  }
  device_.synchronize();
  if (judges_shapes_) return metrics;  // the rehearsal's peak is that of the evaluation
  note_evaluation_peak();
  device_.reset_peak();
  return metrics;
}

void HybridTrainer::note_evaluation_peak() {
  device_.run(Fill{number_, static_cast<double>(device_.peak_bytes())});
  std::vector<PeerRows> rows;
  for (Rank r = 0; r < communicator_.size(); ++r) rows.push_back({r, 1});
  const Tensor all = device_.allocate(communicator_.size(), 1, ElementType::f64);
  communicator_.all_gather_v(number_, all, std::move(rows), Traffic::other);
  const std::vector<double> peaks = host_values(device_, all);
  if (device_.rank() != 0) return;
  evaluation_bytes_.resize(peaks.size(), 0);
  for (std::size_t r = 0; r < peaks.size(); ++r)
    evaluation_bytes_[r] = std::max(evaluation_bytes_[r], static_cast<std::uint64_t>(peaks[r]));
}

std::vector<double> HybridTrainer::weights() { return host_values(device_, common_weights()); }

OutputContent HybridTrainer::output(const std::string& name) {
  if (name != "embeddings" && name != "scores") return {};
  give_back_kept();  // an evaluation takes much less than batches do
  FullBatchTrainer judge(*plan_.full, device_, communicator_);
  judge.take_weights(common_weights());
  return judge.output(name);
}

void HybridTrainer::gather(const std::string& name, const Tensor& own) {
  std::vector<PeerRows> rows;
  for (Rank r = 0; r < communicator_.size(); ++r) rows.push_back({r * own.rows(), own.rows()});
  const PartScope part(device_, MemoryPart::buffers);
  const Tensor all = device_.allocate(communicator_.size() * own.rows(), 1, own.type());
  communicator_.all_gather_v(own, all, std::move(rows), Traffic::other);
  std::vector<double> values = host_values(device_, all);
  if (device_.rank() == 0 && !values.empty()) kept_[name] = std::move(values);
}

void HybridTrainer::gather_state() {
  kept_.clear();
  std::vector<double> counts = feed_.state();
  counts.push_back(static_cast<double>(iteration_));
  const Tensor own_counts =
      device_.move_in(counts.data(), static_cast<std::int64_t>(counts.size()), 1, ElementType::f64);
  gather("hybrid.counts", own_counts);
  if (adjuster_ != nullptr) {
    std::vector<double> state = adjuster_->state();
    state.insert(state.begin(), {static_cast<double>(action_), outcome_ ? 1.0 : 0.0, outcome_ ? outcome_->seconds : 0,
                                 outcome_ ? outcome_->loss : 0, outcome_ ? outcome_->stretch_seconds : 0});
    if (device_.rank() == 0 && device_.has_values()) kept_["hybrid.adjuster"] = std::move(state);
  }
  if (plan_.sync()) return;  // all ranks have the same weights
  for (const auto& [name, vector] : weights_.vectors()) gather("hybrid." + name, vector);
  gather("hybrid.weights", weights_.parameters().values());
}

TrainingState HybridTrainer::state() {
  TrainingState now = weights_.state();
  now.kept = kept_;
  return now;
}

void HybridTrainer::restore(const TrainingState& state) {
  weights_.restore(state);
  const auto part_of = [&](const std::string& name) {
    const auto all = state.kept.find("hybrid." + name);
    if (all == state.kept.end()) return std::vector<double>();
    const std::size_t each = all->second.size() / static_cast<std::size_t>(communicator_.size());
    const auto begin = all->second.begin() + static_cast<std::ptrdiff_t>(each) * device_.rank();
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(each));
  };
  std::vector<double> counts = part_of("counts");
  if (!counts.empty()) {
    iteration_ = static_cast<std::uint64_t>(counts.back());
    counts.pop_back();
    feed_.restore(counts);
  }
  const auto own = [&](const std::string& name, const Tensor& vector) {
    const std::vector<double> values = part_of(name);
    if (!values.empty()) weights_.overwrite(vector, values);
  };
  for (const auto& [name, vector] : weights_.vectors()) own(name, vector);
  own("weights", weights_.parameters().values());
  const auto adjusted = state.kept.find("hybrid.adjuster");
  if (adjuster_ == nullptr || adjusted == state.kept.end()) return;
  const std::vector<double>& numbers = adjusted->second;
  action_ = static_cast<std::size_t>(numbers.at(0));
  if (numbers.at(1) != 0) outcome_ = {numbers.at(2), numbers.at(3), numbers.at(4)};
  adjuster_->restore({numbers.begin() + 5, numbers.end()});
}

}  // namespace strobe
