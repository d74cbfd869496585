#include "harness/full_batch/full_batch_trainer.hpp"

#include <algorithm>
#include <limits>

#include "harness/full_batch/exchange/server_sums.hpp"
#include "harness/schedule/file_content.hpp"
#include "harness/schedule/host_values.hpp"
#include "models/ops/ops.hpp"

namespace strobe {

FullBatchTrainer::FullBatchTrainer(const FullBatchPlan& plan, Device& device, Communicator& communicator)
    : plan_(plan),
      device_(device),
      communicator_(communicator),
      sums_(communicator),
      timeline_(plan, device, communicator),
      evaluation_(plan, device, communicator),
      parameters_(device, plan.model.parameters, static_cast<std::uint64_t>(plan.request.seed),
                  plan.model.start_values),
      evaluated_(device, plan.model.parameters, static_cast<std::uint64_t>(plan.request.seed), plan.model.start_values),
      optimizer_(OptimizerRegistry::instance()
                     .find(plan.request.optimizer.at("name").get<std::string>(), "/optimizer")
                     .value(plan.request.optimizer)),
      loss_(device.allocate(1, 1, ElementType::f64)),
      rounding_(plan.model.fp64) {
  for (const BlockPlan& block : plan.blocks) {
    const LocalSamples& own = block.train.ranks[device.rank()];
    train_.push_back({Exchange(device, block.train.halo, Traffic::halo), move_in(device, own, false)});
    total_weight_ += block.train.total_weight;
  }
}

void FullBatchTrainer::epoch(std::int64_t number) {
  timeline_.stream_inputs();
  device_.run(Fill{parameters_.gradients(), 0.0});
  device_.run(Fill{loss_, 0.0});
  of_epoch_.emplace(plan_, device_, evaluation_.steps());
  timeline_.train(
      parameters_, pass(number, true), [&](std::size_t block, const Tensor& rows) { of_epoch_->keep(block, rows); },
      [&](std::size_t block, Tape& tape, const Var& rows) { start_backward(block, tape, rows); });
  if (const int servers = plan_.options.servers; servers > 0) {
    sum_on_servers(device_, communicator_, parameters_.gradients(), servers, Traffic::gradient);
  } else {
    communicator_.all_reduce(parameters_.gradients(), Traffic::gradient);
  }
  communicator_.all_reduce(loss_, Traffic::other);
  optimizer_->step(device_, parameters_);
}

EpochValues FullBatchTrainer::values(bool metrics_before) {
  EpochValues values;
  double loss = 0;
  if (device_.move_out(loss_, &loss)) values.loss = loss;
  timeline_.end_epoch(loss);
  estimate_rounding(loss);
  if (metrics_before) {
    values.metrics_before = evaluation_.metrics(evaluated_, *of_epoch_);
    catch_up();
  }
  of_epoch_.reset();
  return values;
}

TrainingFindings FullBatchTrainer::findings() const {
  const double rounding = rounding_.largest() > rounding_.limit() ? rounding_.largest() : 0;
  return {rounding, dead_start_.value_or(false), evaluation_.equal_outputs()};
}

void FullBatchTrainer::start_backward(std::size_t block, Tape& tape, const Var& embeddings) {
  const auto& [halo, samples] = train_[block];
  const Var read = halo.apply_everywhere(tape, communicator_, embeddings);
  const Var outputs = plan_.model.task->head(tape, parameters_, read, samples.rows, samples.count);
  add_loss(tape, plan_.model.task->loss(), outputs, samples.targets, 1.0 / total_weight_, loss_);
}

void FullBatchTrainer::estimate_rounding(double loss) {
  const std::vector<double> before = host_values(device_, evaluated_.values()),
                            gradient = host_values(device_, parameters_.gradients());
  std::vector<double> step = weights();
  if (device_.rank() != 0 || step.empty()) return;
  for (std::size_t i = 0; i < step.size(); ++i) step[i] -= before[i];
  rounding_.add_epoch(loss, gradient, step);
  if (!dead_start_) dead_start_ = rounding_.dead();
}

std::map<std::string, double> FullBatchTrainer::evaluate(const EvaluationMoment&) {
  return evaluation_.metrics(evaluated_, evaluated_embeddings(evaluation_.steps()));
}

OutputContent FullBatchTrainer::output(const std::string& name) {
  if (name == "scores") return {{}, evaluation_.scores(evaluated_, evaluated_embeddings(evaluation_.steps()))};
  return name == "embeddings" ? OutputContent{embeddings(), {}} : OutputContent();
}

Column<double> FullBatchTrainer::embeddings() {
  catch_up();
  const Placement& placement = plan_.strategy.spatial;
  const std::int64_t of_step = placement.vertices * plan_.model.layers.back().temporal_width;
  const std::int64_t size = device_.rank() == 0 ? placement.steps() * of_step : 0;
  GrowingColumn<double> all = file_content(plan_.node.get(), static_cast<std::size_t>(size));
  timeline_.forward(evaluated_, pass(0, false), [&](std::size_t block, const Tensor& rows) {
    const BlockPlan& of = plan_.blocks[block];
    const std::vector<Step> steps = step_range(of.first_step, of.steps());
    KeptRows kept(plan_, device_, steps);
    kept.keep(block, rows);
    for (const Step t : steps) gather(kept, t, all.data() + (all.empty() ? 0 : t * of_step));
  });
  return all.finish();
}

KeptRows FullBatchTrainer::evaluated_embeddings(const std::vector<Step>& steps) {
  catch_up();
  KeptRows kept(plan_, device_, steps);
  timeline_.forward(evaluated_, pass(0, false), [&](std::size_t block, const Tensor& rows) { kept.keep(block, rows); });
  return kept;
}

void FullBatchTrainer::catch_up() {
  device_.run(CopyRows{parameters_.values(), evaluated_.values(), {}, {}, parameters_.count(), 0, 0, 1, false});
}

TrainingState FullBatchTrainer::state() {
  TrainingState now;
  now.weights = weights();
  for (const auto& [name, vector] : optimizer_->vectors(device_, parameters_))
    now.optimizer[name] = host_values(device_, vector);
  now.optimizer_steps = optimizer_->steps();
  now.kept = kept_;
  return now;
}

void FullBatchTrainer::restore(const TrainingState& state) {
  overwrite(parameters_.values(), state.weights);
  overwrite(evaluated_.values(), state.weights);
  for (const auto& [name, vector] : optimizer_->vectors(device_, parameters_))
    overwrite(vector, state.optimizer.at(name));
  optimizer_->set_steps(state.optimizer_steps);
  timeline_.restore_kept(state.kept, state.loss);
}

void FullBatchTrainer::take_weights(const Tensor& weights) {
  device_.run(CopyRows{weights, parameters_.values(), {}, {}, weights.rows(), 0, 0, 1, false});
}

void FullBatchTrainer::gather(const KeptRows& kept, Step t, double* by_vertex) {
  const Placement& placement = plan_.strategy.spatial;
  const std::int64_t width = plan_.model.layers.back().temporal_width;
  std::vector<PeerRows> rows;
  std::int64_t total = 0;
  for (Rank r = 0; r < placement.ranks; ++r) {
    rows.push_back({total, placement.step_rows(r, t)});
    total += rows.back().count;
  }
  const PartScope gathered(device_, MemoryPart::buffers);
  const Tensor own = kept.rows({t}), all = device_.allocate(total, width, own.type());
  communicator_.all_gather_v(own, all, rows, Traffic::other);
  if (device_.rank() != 0) return;
  const std::vector<double> by_rank = host_values(device_, all);
  // Cells that do not exist have no embedding.
  std::fill_n(by_vertex, placement.vertices * width, std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t v = 0; v < placement.vertices; ++v) {
    const Rank owner = placement.owner(static_cast<VertexId>(v), t);
    if (owner >= 0) std::copy_n(by_rank.begin() + rows[owner].first++ * width, width, by_vertex + v * width);
  }
}

Pass FullBatchTrainer::pass(std::int64_t epoch, bool training) const {
  return {static_cast<std::uint64_t>(plan_.request.seed), epoch, training, &sums_, ranges_};
}

void FullBatchTrainer::overwrite(const Tensor& vector, const std::vector<double>& values) {
  const Tensor given = vector_on(device_, values);
  device_.run(CopyRows{given, vector, {}, {}, vector.rows(), 0, 0, 1, false});
}

}  // namespace strobe
