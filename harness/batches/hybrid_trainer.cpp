#include "harness/batches/hybrid_trainer.hpp"

#include <fmt/format.h>

#include <limits>

#include "harness/batches/batch_walk.hpp"
#include "harness/inputs/host_values.hpp"
#include "harness/timeline/full_batch_trainer.hpp"

namespace strobe {

HybridTrainer::HybridTrainer(const HybridPlan& plan, Device& device, Communicator& communicator)
    : plan_(plan),
      device_(device),
      communicator_(communicator),
      shared_sums_(communicator),
      weights_(device, plan.full->model.parameters, plan.seed(), plan.full->model.start_values,
               plan.full->request.optimizer),
      batches_(plan, device),
      batch_loss_(device.allocate(1, 1, ElementType::f64)),
      totals_(device.allocate(2, 1, ElementType::f64)),
      scratch_(device.allocate(weights_.parameters().count(), 1)) {}

Pass HybridTrainer::pass(std::uint64_t iteration) const {
  const RankSums* sums = &own_sums_;
  if (plan_.exact) sums = &shared_sums_;
  return {plan_.seed(), static_cast<std::int64_t>(iteration), true, sums};
}

void HybridTrainer::epoch(std::int64_t number) {
  device_.run(Fill{totals_, 0.0});
  sample_weight_ = 0;
  if (plan_.sync()) {
    update_together(static_cast<std::uint64_t>(number));
  } else {
    const std::int64_t count = plan_.iterations();
    for (std::int64_t i = 0; i < count; ++i) update_alone(static_cast<std::uint64_t>(number * count + i));
    if (plan_.options.averaging == "async") average_models();
  }
}

void HybridTrainer::update_together(std::uint64_t iteration) {
  const SharedBatch batch = batches_.take(0, iteration);
  sample_weight_ = batch->total_weight;
  weights_.clear_gradients();
  train_batch(device_, plan_, *batch, weights_.parameters(), pass(iteration), 1.0, totals_.slice_rows(0, 1));
  device_.run(Fill{totals_.slice_rows(1, 1), sample_weight_});
  communicator_.all_reduce(weights_.parameters().gradients(), Traffic::gradient);
  communicator_.all_reduce(totals_, Traffic::other);
  double totals[2] = {0, 0};
  device_.move_out(totals_, totals);
  scale(weights_.parameters().gradients(), totals[1] > 0 ? 1 / totals[1] : 0);
  weights_.update();
}

void HybridTrainer::update_alone(std::uint64_t iteration) {
  const SharedBatch batch = batches_.take(0, iteration);
  const double weight = batch->total_weight;
  weights_.clear_gradients();
  device_.run(Fill{batch_loss_, 0.0});
  train_batch(device_, plan_, *batch, weights_.parameters(), pass(iteration), weight > 0 ? 1 / weight : 0, batch_loss_);
  device_.run(AddScaled{batch_loss_, totals_.slice_rows(0, 1), weight});
  sample_weight_ += weight;
  weights_.update();
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
  if (device_.move_out(totals_, totals))
    values.loss = totals[1] > 0 ? totals[0] / totals[1] : std::numeric_limits<double>::quiet_NaN();
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
  FullBatchTrainer judge(*plan_.full, device_, communicator_);
  judge.take_weights(common_weights());
  const std::map<std::string, double> metrics = judge.evaluate(moment);
  equal_outputs_ = judge.findings().equal_outputs;
  return metrics;
}

std::vector<double> HybridTrainer::weights() { return host_values(device_, common_weights()); }

std::vector<double> HybridTrainer::embeddings() {
  FullBatchTrainer judge(*plan_.full, device_, communicator_);
  judge.take_weights(common_weights());
  return judge.embeddings();
}

void HybridTrainer::gather_state() {
  kept_.clear();
  if (plan_.sync()) return;  // all ranks have the same
  std::vector<OptimizerVector> own = weights_.vectors();
  own.emplace_back("weights", weights_.parameters().values());
  for (const auto& [name, vector] : own) {
    std::vector<PeerRows> rows;
    for (Rank r = 0; r < communicator_.size(); ++r) rows.push_back({r * vector.rows(), vector.rows()});
    const Tensor all = device_.allocate(communicator_.size() * vector.rows(), 1, vector.type());
    communicator_.all_gather_v(vector, all, std::move(rows), Traffic::other);
    std::vector<double> values = host_values(device_, all);
    if (device_.rank() == 0 && !values.empty()) kept_["hybrid." + name] = std::move(values);
  }
}

TrainingState HybridTrainer::state() {
  TrainingState now = weights_.state();
  now.kept = kept_;
  return now;
}

void HybridTrainer::restore(const TrainingState& state) {
  weights_.restore(state);
  const auto own_part = [&](const std::string& name, const Tensor& vector) {
    const auto all = state.kept.find("hybrid." + name);
    if (all == state.kept.end()) return;
    const auto begin = all->second.begin() + device_.rank() * vector.rows();
    weights_.overwrite(vector, {begin, begin + vector.rows()});
  };
  for (const auto& [name, vector] : weights_.vectors()) own_part(name, vector);
  own_part("weights", weights_.parameters().values());
}

}  // namespace strobe
