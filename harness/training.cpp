#include "harness/training.hpp"

#include <algorithm>

#include "core/interrupt.hpp"
#include "harness/exchange.hpp"
#include "harness/local_graph.hpp"
#include "models/ops.hpp"
#include "models/optimizer.hpp"

namespace strobe {
namespace {

/// The samples of one rank on its device.
struct DeviceSamples {
  std::vector<Tensor> rows;  // i64 [n, 1] per vertex of a sample
  Tensor label;              // i32 [n, 1]
  std::int64_t count = 0;
};

DeviceSamples move_in(Device& device, const LocalSamples& local) {
  DeviceSamples samples;
  samples.count = local.count();
  for (const auto& list : local.rows) {
    samples.rows.push_back(device.move_in(list.data(), samples.count, 1, ElementType::i64));
  }
  samples.label = device.move_in(local.label.data(), samples.count, 1, ElementType::i32);
  return samples;
}

/// What stays on a rank from epoch to epoch.
class RankTrainer {
 public:
  RankTrainer(const PlannedCase& plan, Device& device, Communicator& communicator)
      : plan_(plan),
        device_(device),
        communicator_(communicator),
        local_(build_local_graph(device, *plan.graph, plan.strategy.spatial, plan.spatial_needs,
                                 plan.any_layer_reads_neighbours())),
        spatial_halo_(device, plan.spatial_halo, Traffic::halo),
        to_temporal_(device, plan.to_temporal, Traffic::redistribute),
        to_spatial_(device, plan.to_spatial, Traffic::redistribute),
        train_halo_(device, plan.train.halo, Traffic::halo),
        test_halo_(device, plan.test.halo, Traffic::halo),
        train_(move_in(device, own(plan.train))),
        test_(move_in(device, own(plan.test))),
        parameters_(device, plan.parameters, static_cast<std::uint64_t>(plan.request.seed), plan.start_values),
        evaluated_(device, plan.parameters, static_cast<std::uint64_t>(plan.request.seed), plan.start_values),
        optimizer_(OptimizerRegistry::instance()
                       .find(plan.request.optimizer.at("name").get<std::string>(), "/optimizer")
                       .value(plan.request.optimizer)),
        loss_(device.allocate(1, 1, ElementType::f64)) {}

  /// One epoch on all cells; returns the embeddings, from which the test samples are scored.
  Var epoch() {
    if (plan_.request.inputs == "streamed") device_.move_in_again(local_.a.bytes() + local_.features.bytes());
    device_.run(Fill{parameters_.gradients(), 0.0});
    device_.run(Fill{loss_, 0.0});
    Tape tape(device_);
    const Var embeddings = forward(tape);
    const Var cells = gather_rows(tape, train_halo_.apply(tape, communicator_, embeddings), train_.rows, train_.count);
    softmax_cross_entropy(tape, plan_.task->head(tape, parameters_, cells), train_.label,
                          1.0 / static_cast<double>(plan_.train.total), loss_);
    tape.backward();
    communicator_.all_reduce(parameters_.gradients(), Traffic::gradient);
    communicator_.all_reduce(loss_, Traffic::other);
    return embeddings;
  }

  void update() { optimizer_->step(device_, parameters_); }

  /// The loss summed over ranks; false without values.
  bool loss(double& value) { return device_.move_out(loss_, &value); }

  /// Metrics of the test samples from the epoch's embeddings; empty without values. All ranks must call it.
  std::map<std::string, double> evaluate(const Var& embeddings) {
    Tape tape(device_);
    const Var fixed = Tape::constant(embeddings->value);
    const Var cells = gather_rows(tape, test_halo_.apply(tape, communicator_, fixed), test_.rows, test_.count);
    const Tensor logits = plan_.task->head(tape, evaluated_, cells)->value;
    device_.run(CopyRows{parameters_.values(), evaluated_.values(), {}, {}, parameters_.count(), 0, 0, 1, false});
    std::vector<PeerRows> rows;
    std::vector<std::int32_t> labels;
    for (const LocalSamples& rank : plan_.test.ranks) {
      rows.push_back({static_cast<std::int64_t>(labels.size()), rank.count()});
      labels.insert(labels.end(), rank.label.begin(), rank.label.end());
    }
    const Tensor all = device_.allocate(static_cast<std::int64_t>(labels.size()), logits.columns(), logits.type());
    communicator_.all_gather_v(logits, all, rows, Traffic::other);
    // Moved out with or without values: the program, and so virtual time, must be the same.
    const std::vector<double> values = host_values(all);
    if (!all.has_values()) return {};
    return plan_.task->metrics(values, labels);
  }

  std::vector<double> weights() { return host_values(parameters_.values()); }

  /// All ranks' embeddings as [T, N, F], on rank 0. All ranks must call it.
  std::vector<double> gather_embeddings(const Var& embeddings) {
    const Placement& placement = plan_.strategy.spatial;
    std::vector<PeerRows> rows;
    std::int64_t total = 0;
    for (Rank r = 0; r < placement.ranks; ++r) {
      rows.push_back({total, placement.rows(r)});
      total += rows.back().count;
    }
    const std::int64_t width = embeddings->value.columns();
    const Tensor all = device_.allocate(total, width, embeddings->value.type());
    communicator_.all_gather_v(embeddings->value, all, rows, Traffic::other);
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
  const LocalSamples& own(const PlacedSamples& placed) const {
    return placed.ranks[static_cast<std::size_t>(device_.rank())];
  }

  Var forward(Tape& tape) {
    Var x = Tape::constant(local_.features);
    const std::int64_t steps = plan_.strategy.temporal.steps();
    for (std::size_t l = 0; l < plan_.layers.size(); ++l) {
      const LayerShape& layer = plan_.layers[l];
      const int index = static_cast<int>(l);
      if (layer.reads_neighbours) x = spatial_halo_.apply(tape, communicator_, x);
      x = plan_.model->spatial(tape, parameters_, index, {x, &local_.a});
      if (layer.need == TemporalNeed::none || layer.need == TemporalNeed::weights_only) continue;
      x = to_temporal_.apply(tape, communicator_, x);
      x = plan_.model->temporal(tape, parameters_, index, {x, steps, steps == 0 ? 0 : x->value.rows() / steps});
      x = to_spatial_.apply(tape, communicator_, x);
    }
    return x;
  }

  std::vector<double> host_values(const Tensor& tensor) {
    std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
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
  LocalGraph local_;
  Exchange spatial_halo_, to_temporal_, to_spatial_, train_halo_, test_halo_;
  DeviceSamples train_, test_;
  Parameters parameters_;
  Parameters evaluated_;  // what the last epoch's forward pass used: metrics and loss speak of the same parameters
  std::unique_ptr<Optimizer> optimizer_;
  Tensor loss_;
};

EpochSample measure(Device& device, std::size_t first_span, double begin, double end) {
  EpochSample sample = sample_from_spans(device.spans().spans(), first_span, device.spans().size(), begin, end);
  sample.rank = device.rank();
  (device.has_own_memory() ? sample.peak_device_bytes : sample.peak_host_bytes) = device.peak_bytes();
  return sample;
}

void run_repetition(const PlannedCase& plan, Device& device, Communicator& communicator, int repetition,
                    const RankWishes& wishes, RankOutcome& outcome) {
  RankTrainer trainer(plan, device, communicator);
  const std::int64_t epochs = plan.request.warmup + plan.request.epochs;
  for (std::int64_t e = 0; e < epochs; ++e) {
    if (stop_signal().load() != 0) throw Interrupted(stop_signal().load());
    device.synchronize();
    communicator.barrier();
    const std::size_t first_span = device.spans().size();
    const double begin = device.now();
    const Var embeddings = trainer.epoch();
    trainer.update();
    device.synchronize();
    EpochSample sample = measure(device, first_span, begin, device.now());
    sample.repetition = repetition;
    sample.epoch = static_cast<int>(e);
    sample.warmup = e < plan.request.warmup;
    outcome.samples.push_back(sample);
    double loss = 0;
    const bool has_loss = trainer.loss(loss);
    const std::map<std::string, double> metrics = trainer.evaluate(embeddings);
    if (wishes.embeddings && e + 1 == epochs) outcome.embeddings = trainer.gather_embeddings(embeddings);
    if (wishes.weights && e + 1 == epochs) outcome.weights = trainer.weights();
    if (repetition != 0) continue;
    if (has_loss) outcome.loss.push_back(loss);
    for (const auto& [name, value] : metrics) outcome.metrics[name].push_back(value);
  }
}

}  // namespace

RankOutcome train_rank(const PlannedCase& plan, Device& device, Communicator& communicator, const RankWishes& wishes) {
  RankOutcome outcome;
  for (int repetition = 0; repetition < plan.request.repeat; ++repetition) {
    device.spans().clear();
    run_repetition(plan, device, communicator, repetition, wishes, outcome);
  }
  if (wishes.spans) outcome.last_spans = device.spans().spans();
  return outcome;
}

}  // namespace strobe
