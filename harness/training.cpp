#include "harness/training.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/interrupt.hpp"
#include "harness/device_samples.hpp"
#include "harness/exchange.hpp"
#include "harness/kept_rows.hpp"
#include "harness/rank_sums.hpp"
#include "harness/timeline.hpp"
#include "models/ops.hpp"
#include "models/optimizer.hpp"

namespace strobe {
namespace {

/// The training samples of one block on one rank.
struct TrainBlock {
  Exchange halo;
  DeviceSamples samples;
};

/// What stays on a rank from epoch to epoch.
class RankTrainer {
 public:
  RankTrainer(const PlannedCase& plan, Device& device, Communicator& communicator)
      : plan_(plan),
        device_(device),
        communicator_(communicator),
        sums_(communicator),
        timeline_(plan, device, communicator),
        test_halo_(device, plan.test.halo, Traffic::halo),
        test_(move_in(device, own(plan.test), true)),
        parameters_(device, plan.parameters, static_cast<std::uint64_t>(plan.request.seed), plan.start_values),
        evaluated_(device, plan.parameters, static_cast<std::uint64_t>(plan.request.seed), plan.start_values),
        optimizer_(OptimizerRegistry::instance()
                       .find(plan.request.optimizer.at("name").get<std::string>(), "/optimizer")
                       .value(plan.request.optimizer)),
        loss_(device.allocate(1, 1, ElementType::f64)) {
    for (const BlockPlan& block : plan.blocks) {
      train_.push_back({Exchange(device, block.train.halo, Traffic::halo), move_in(device, own(block.train), false)});
      total_weight_ += block.train.total_weight;
    }
  }

  /// One epoch on all cells; returns the embeddings of the tested steps, or all of them.
  KeptRows epoch(std::int64_t number, bool all_embeddings) {
    timeline_.stream_inputs();
    device_.run(Fill{parameters_.gradients(), 0.0});
    device_.run(Fill{loss_, 0.0});
    KeptRows kept(plan_, device_, kept_steps(all_embeddings));
    timeline_.train(
        parameters_, pass(number, true), [&](std::size_t block, const Tensor& rows) { kept.keep(block, rows); },
        [&](std::size_t block, Tape& tape, const Var& rows) { start_backward(block, tape, rows); });
    communicator_.all_reduce(parameters_.gradients(), Traffic::gradient);
    communicator_.all_reduce(loss_, Traffic::other);
    return kept;
  }

  void update() { optimizer_->step(device_, parameters_); }

  /// The loss summed over ranks; false without values.
  bool loss(double& value) { return device_.move_out(loss_, &value); }

  /// The epoch's embeddings as a pass without dropout gives them with the parameters that the epoch used: `kept`, those
  /// of the epoch itself, where that is the same. To be read before `evaluate`, which brings the update to
  /// `evaluated_`.
  KeptRows evaluated_embeddings(KeptRows kept, bool all_embeddings) {
    if (!plan_.model->stochastic()) return kept;
    KeptRows evaluated(plan_, device_, kept_steps(all_embeddings));
    timeline_.forward(evaluated_, pass(0, false),
                      [&](std::size_t block, const Tensor& rows) { evaluated.keep(block, rows); });
    return evaluated;
  }

  /// Metrics of the test samples from evaluated embeddings; empty without values. All ranks must call it.
  std::map<std::string, double> evaluate(const KeptRows& embeddings) {
    Tape tape(device_, false);
    const Var fixed = Tape::constant(embeddings.rows(plan_.test_steps));
    const Var read = test_halo_.apply(tape, communicator_, fixed);
    const Tensor outputs = plan_.task->head(tape, evaluated_, read, test_.rows, test_.count)->value;
    device_.run(CopyRows{parameters_.values(), evaluated_.values(), {}, {}, parameters_.count(), 0, 0, 1, false});
    std::vector<PeerRows> rows;
    std::int64_t total = 0;
    for (const LocalSamples& rank : plan_.test.ranks) {
      rows.push_back({total, rank.count()});
      total += rank.count();
    }
    const Tensor all = device_.allocate(total, outputs.columns(), outputs.type());
    communicator_.all_gather_v(outputs, all, rows, Traffic::other);
    // Moved out with or without values: the program, and so virtual time, must be the same.
    const std::vector<double> values = host_values(all);
    if (!all.has_values()) return {};
    return plan_.task->metrics(in_task_order(values, plan_.test, outputs.columns()), plan_.task_data->test);
  }

  std::vector<double> weights() { return host_values(parameters_.values()); }

  /// Weights and optimiser state; the caller adds the epoch and the curves.
  TrainingState state() {
    TrainingState now;
    now.weights = weights();
    for (const auto& [name, vector] : optimizer_->vectors(device_, parameters_))
      now.optimizer[name] = host_values(vector);
    now.optimizer_steps = optimizer_->steps();
    return now;
  }

  void restore(const TrainingState& state) {
    overwrite(parameters_.values(), state.weights);
    overwrite(evaluated_.values(), state.weights);
    for (const auto& [name, vector] : optimizer_->vectors(device_, parameters_))
      overwrite(vector, state.optimizer.at(name));
    optimizer_->set_steps(state.optimizer_steps);
  }

  /// All ranks' embeddings as [T, N, F], on rank 0. All ranks must call it.
  std::vector<double> gather_embeddings(const KeptRows& kept) {
    const Placement& placement = plan_.strategy.spatial;
    const Tensor own = kept.rows(step_range(0, placement.steps()));
    std::vector<PeerRows> rows;
    std::int64_t total = 0;
    for (Rank r = 0; r < placement.ranks; ++r) {
      rows.push_back({total, placement.rows(r)});
      total += rows.back().count;
    }
    const std::int64_t width = own.columns();
    const Tensor all = device_.allocate(total, width, own.type());
    communicator_.all_gather_v(own, all, rows, Traffic::other);
    if (device_.rank() != 0) return {};
    const std::vector<double> by_rank = host_values(all);
    std::vector<double> by_cell(by_rank.size());
    auto next = by_rank.begin();
    for (Rank r = 0; r < placement.ranks; ++r) {
      for (Step t = 0; t < placement.steps(); ++t) {
        for (const Run& run : placement.map(t).owned[static_cast<std::size_t>(r)]) {
          std::copy(next, next + run.count * width, by_cell.begin() + (t * placement.vertices + run.first) * width);
          next += run.count * width;
        }
      }
    }
    return by_cell;
  }

 private:
  void start_backward(std::size_t block, Tape& tape, const Var& embeddings) {
    const auto& [halo, samples] = train_[block];
    const Var read = halo.apply(tape, communicator_, embeddings);
    const Var outputs = plan_.task->head(tape, parameters_, read, samples.rows, samples.count);
    add_loss(tape, plan_.task->loss(), outputs, samples.targets, 1.0 / total_weight_, loss_);
  }

  std::vector<Step> kept_steps(bool all) const { return all ? step_range(0, plan_.graph->steps) : plan_.test_steps; }

  const LocalSamples& own(const PlacedSamples& placed) const {
    return placed.ranks[static_cast<std::size_t>(device_.rank())];
  }

  Pass pass(std::int64_t epoch, bool training) const {
    return {static_cast<std::uint64_t>(plan_.request.seed), epoch, training, &sums_};
  }

  void overwrite(const Tensor& vector, const std::vector<double>& values) {
    const Tensor given = vector_on(device_, values);
    device_.run(CopyRows{given, vector, {}, {}, vector.rows(), 0, 0, 1, false});
  }

  /// Empty without values, but moved out all the same.
  std::vector<double> host_values(const Tensor& tensor) {
    std::vector<double> values(tensor.has_values() ? static_cast<std::size_t>(tensor.elements()) : 0);
    if (tensor.type() == ElementType::f64) {
      device_.move_out(tensor, values.data());
      return values;
    }
    std::vector<float> narrow(values.size());
    device_.move_out(tensor, narrow.data());
    std::copy(narrow.begin(), narrow.end(), values.begin());
    return values;
  }

  const PlannedCase& plan_;
  Device& device_;
  Communicator& communicator_;
  CommunicatorSums sums_;
  Timeline timeline_;
  Exchange test_halo_;
  DeviceSamples test_;
  std::vector<TrainBlock> train_;  // [blocks]
  double total_weight_ = 0;        // of all blocks' samples
  Parameters parameters_;
  Parameters evaluated_;  // what the last epoch's forward pass used: metrics and loss speak of the same parameters
  std::unique_ptr<Optimizer> optimizer_;
  Tensor loss_;
};

/// Out of memory, and how far the rank had come.
class OutOfMemoryAtStep final : public OutOfMemory {
 public:
  OutOfMemoryAtStep(const OutOfMemory& error, Device& device, std::int64_t epoch)
      : OutOfMemory(error),
        text_(fmt::format("{}; {}, after operation {}", error.what(),
                          epoch < 0 ? "before the first epoch" : fmt::format("in epoch {}", epoch),
                          last_operation(device))) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  static std::string last_operation(Device& device) {
    const std::vector<Span>& spans = device.spans().spans();
    for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
      if (span->stream == Stream::compute) return std::string(span->name);
    }
    return "none";
  }
  std::string text_;
};

EpochSample measure(Device& device, std::size_t first_span, double begin, double end) {
  EpochSample sample = sample_from_spans(device.spans().spans(), first_span, device.spans().size(), begin, end);
  sample.rank = device.rank();
  (device.has_own_memory() ? sample.peak_device_bytes : sample.peak_host_bytes) = device.peak_bytes();
  return sample;
}

/// Whether a checkpoint is due after `done` of `epochs`.
bool checkpoint_due(std::int64_t done, std::int64_t epochs, const RankWishes& wishes) {
  return done == epochs || (wishes.checkpoint_every > 0 && done % wishes.checkpoint_every == 0);
}

/// Hands rank 0's state after `done` epochs over. Every rank holds the same.
void keep_state(RankTrainer& trainer, int rank, std::int64_t done, const RankWishes& wishes,
                const RankOutcome& outcome) {
  if (!wishes.checkpoint || rank != 0) return;
  TrainingState state = trainer.state();
  state.epoch = done;
  state.loss = outcome.loss;
  state.metrics = outcome.metrics;
  wishes.checkpoint(state);
}

/// The epoch to begin with; the curves of those before it are the state's.
std::int64_t begin_training(RankTrainer& trainer, const RankWishes& wishes, RankOutcome& outcome) {
  if (wishes.start == nullptr) return 0;
  trainer.restore(*wishes.start);
  outcome.loss = wishes.start->loss;
  outcome.metrics = wishes.start->metrics;
  return wishes.start->epoch;
}

/// False when the gate closed before the last epoch.
bool run_repetition(const PlannedCase& plan, Device& device, Communicator& communicator, int repetition,
                    const RankWishes& wishes, RankOutcome& outcome) {
  RankTrainer trainer(plan, device, communicator);
  const std::int64_t epochs = wishes.epochs > 0 ? wishes.epochs : plan.request.warmup + plan.request.epochs;
  const std::int64_t start = begin_training(trainer, wishes, outcome);
  for (std::int64_t e = start; e < epochs; ++e) {
    if (stop_signal().load() != 0) throw Interrupted(stop_signal().load());
    if (wishes.gate != nullptr && !wishes.gate->open(device, communicator, repetition * epochs + e)) {
      if (e > start && !checkpoint_due(e, epochs, wishes)) keep_state(trainer, device.rank(), e, wishes, outcome);
      return false;
    }
    outcome.epoch_under_way = e;
    device.synchronize();
    if (!wishes.spans) device.spans().clear();  // a million epochs would fill the memory with them
    communicator.barrier();
    const std::size_t first_span = device.spans().size();
    const double begin = device.now();
    const bool all_embeddings = wishes.embeddings && e + 1 == epochs;
    KeptRows of_epoch = trainer.epoch(e, all_embeddings);
    trainer.update();
    device.synchronize();
    EpochSample sample = measure(device, first_span, begin, device.now());
    sample.repetition = repetition;
    sample.epoch = static_cast<int>(e);
    sample.warmup = e < plan.request.warmup;
    outcome.samples.push_back(sample);
    if (wishes.measured) wishes.measured(communicator);
    double loss = 0;
    const bool has_loss = trainer.loss(loss);
    const KeptRows embeddings = trainer.evaluated_embeddings(std::move(of_epoch), all_embeddings);
    const std::map<std::string, double> metrics = trainer.evaluate(embeddings);
    if (all_embeddings) outcome.embeddings = trainer.gather_embeddings(embeddings);
    if (wishes.weights && e + 1 == epochs) outcome.weights = trainer.weights();
    if (repetition != 0) continue;
    if (has_loss) outcome.loss.push_back(loss);
    for (const auto& [name, value] : metrics) outcome.metrics[name].push_back(value);
    if (checkpoint_due(e + 1, epochs, wishes)) keep_state(trainer, device.rank(), e + 1, wishes, outcome);
  }
  return true;
}

}  // namespace

void train_rank(const PlannedCase& plan, Device& device, Communicator& communicator, const RankWishes& wishes,
                RankOutcome& outcome) {
  device.time_each_operation(wishes.spans);
  for (int repetition = 0; repetition < plan.request.repeat; ++repetition) {
    device.spans().clear();
    outcome.epoch_under_way = -1;
    try {
      if (!run_repetition(plan, device, communicator, repetition, wishes, outcome)) break;
    } catch (const OutOfMemory& error) {
      throw OutOfMemoryAtStep(error, device, outcome.epoch_under_way);
    }
  }
  if (wishes.spans) outcome.last_spans = device.spans().spans();
}

void rehearse(const PlannedCase& plan, Device& device, Communicator& communicator) {
  RankOutcome outcome;
  RankWishes wishes;
  wishes.epochs = 2;
  run_repetition(plan, device, communicator, 0, wishes, outcome);
}

}  // namespace strobe
