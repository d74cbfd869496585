#include "harness/training/training.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "core/kept_text.hpp"
#include "core/system/interrupt.hpp"
#include "core/system/process_memory.hpp"
#include "harness/request/until.hpp"

namespace strobe {
namespace {

/// Out of memory, with the epoch and the operation that the rank had reached.
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
  sample.peak_host_bytes = device.host_peak_bytes();
  (device.has_own_memory() ? sample.peak_device_bytes : sample.peak_host_bytes) = device.peak_bytes();
  sample.memory_parts = device.peak_parts();
  sample.memory_limit_bytes = device.memory_limit_bytes() > 0 ? device.memory_limit_bytes() : device.memory_bytes();
  sample.stage_rows = device.stage_rows();
  return sample;
}

/// One run from its first epoch to its last, on one rank.
///
/// Metrics belong to the weights after an epoch's update. The next epoch's forward pass usually computes their
/// embeddings anyway. So a separate pass is made only
/// - for final weights and weights in a checkpoint,
/// - for models whose embeddings in training differ from those of an evaluation (dropout), and
/// - when `until` needs the metrics before the next epoch.
class TrainingRun {
 public:
  TrainingRun(const PlannedCase& plan, Device& device, Communicator& communicator, int repetition,
              const RankRequest& requests, RankOutcome& outcome, RangeLog* ranges)
      : plan_(plan),
        device_(device),
        communicator_(communicator),
        requests_(requests),
        ranges_(ranges),
        outcome_(outcome),
        curves_(repetition == 0 ? outcome : later_),
        repetition_(repetition),
        epochs_(requests.epochs > 0 ? requests.epochs : plan.request.warmup + plan.request.epochs),
        trainer_(plan.schedule->trainer(device, communicator)) {
    trainer_->note_ranges(ranges_);
    trainer_->keep(requests.outputs);
    if (requests.own_process) host_parts_ = plan.schedule->host_parts();
    if (!rehearses() && plan.until) watch_.emplace(*plan.until);
    each_epoch_ = !plan.schedule->summary().epochs_tell_metrics || (watch_ && !watch_->rule().reads_loss());
  }

  /// Returns false when the gate closed before the last epoch.
  bool run() {
    begin();
    if (is_over()) {
      leave_again();
      return true;
    }
    for (std::int64_t e = start_; e < epochs_ && !reached_; ++e) {
      if (stop_signal().load() != 0) throw Interrupted(stop_signal().load());
      if (requests_.gate != nullptr && !requests_.gate->open(device_, communicator_, repetition_ * epochs_ + e)) {
        stop_before(e);
        return false;
      }
      outcome_.epoch_under_way = e;
      const std::map<std::string, double> before = measured_epoch(e);
      // Without separate evaluations, this epoch's pass gives the metrics of the weights after the previous epoch.
      if (!each_epoch_ && e > 0) set_metrics(e - 1, before);
      finish_epoch(e);
    }
    return true;
  }

 private:
  bool rehearses() const { return requests_.epochs > 0; }

  /// Restores the state that the case continues from, with the curves of the epochs before it.
  void begin() {
    outcome_.epochs_trained = 0;
    if (requests_.start == nullptr) return;
    trainer_->restore(*requests_.start);
    curves_.loss = requests_.start->loss;
    curves_.metrics = requests_.start->metrics;
    start_ = evaluated_ = outcome_.epochs_trained = requests_.start->epoch;
    for (std::int64_t e = 0; watch_ && e < start_; ++e) watch_->holds_after(watched_value(e));
  }

  /// Whether the case continues from a checkpoint of training that is already over.
  bool is_over() const {
    return !rehearses() && requests_.start != nullptr && strobe::is_over(plan_.request, plan_.until, *requests_.start);
  }

  /// Hands over the final weights and files again. The process that trained ended before it had written all of them.
  /// Losses and metrics are in its checkpoint.
  void leave_again() {
    curves_.until_reached = until_holds(plan_.until, requests_.start->loss, requests_.start->metrics);
    trainer_->evaluate({start_ - 1, true});  // embeddings and findings need a pass with these weights
    note_evaluation();
    keep_weights();
  }

  /// Trains and measures one epoch. Returns the metrics of the weights before the epoch, unless each epoch has a
  /// separate evaluation.
  std::map<std::string, double> measured_epoch(std::int64_t e) {
    device_.synchronize();
    if (!requests_.spans) device_.spans().clear();  // a million epochs would fill the memory with spans
    communicator_.barrier();
    device_.stage_rows() = {};
    const std::size_t first_span = device_.spans().size();
    const double begin = device_.now();
    const std::vector<double> drawn_begin = device_.drawn_now();
    Range range(ranges_, ranges_ == nullptr ? "" : kept_text(fmt::format("epoch {}", e)));
    trainer_->epoch(e);
    device_.synchronize();
    range.end();
    EpochSample sample = measure(device_, first_span, begin, device_.now());
    sample.drawn_seconds = device_.drawn_now();
    for (std::size_t d = 0; d < drawn_begin.size(); ++d) sample.drawn_seconds[d] -= drawn_begin[d];
    sample.repetition = repetition_;
    sample.epoch = static_cast<int>(e);
    sample.warmup = e < plan_.request.warmup;
    if (requests_.own_process) look_at_process(sample);
    if (requests_.gate != nullptr) requests_.gate->epoch_took(sample.epoch_seconds);
    // From here on, a signal may end exchanges between ranks. An epoch counts only if its loss is known, so the loss
    // comes first.
    EpochValues values = trainer_->values(!each_epoch_);
    if (values.loss) curves_.loss.push_back(*values.loss);
    outcome_.samples.push_back(sample);
    outcome_.epochs_trained = e + 1;
    if (requests_.measured) requests_.measured(communicator_);
    if (requests_.tell && device_.rank() == 0) {
      constexpr double none = std::numeric_limits<double>::quiet_NaN();
      requests_.tell(static_cast<int>(repetition_), e + 1, values.loss.value_or(none));
    }
    const TrainingFindings findings = trainer_->findings();
    curves_.dead_start = findings.dead_start;
    curves_.rounding = findings.rounding;
    return std::move(values.metrics_before);
  }

  /// Adds the memory of this rank's process. Freed blocks count as state, as far as they lie beyond the peak.
  void look_at_process(EpochSample& sample) const {
    look_at_process_memory();
    sample.process_bytes = most_process_memory();
    sample.host_parts = host_parts_;
    const auto held = static_cast<std::int64_t>(device_.live_bytes()) + kept_for_reuse();
    const std::int64_t beyond_peak = held - static_cast<std::int64_t>(device_.peak_bytes());
    if (!device_.has_own_memory() && beyond_peak > 0)
      sample.host_parts[MemoryPart::state] += static_cast<std::uint64_t>(beyond_peak);
  }

  /// Does the work that is due between epoch `e` and the next one.
  void finish_epoch(std::int64_t e) {
    const bool due = plan_.schedule->evaluates_after(e);
    if (each_epoch_ && due) evaluate_after(e, e + 1 == epochs_);
    if (watch_) reached_ = watch_->holds_after(watched_value(e)) && e >= plan_.request.warmup;
    const bool last = reached_ || e + 1 == epochs_;
    if (rehearses() || !(last || checkpoint_due(e + 1))) return;
    if (last || due) evaluate_after(e, last);
    if (repetition_ == 0) outcome_.until_reached = reached_;
    keep_state(e + 1);
    if (last) keep_weights();
  }

  /// Hands over the state and the final weights' metrics after `e` epochs.
  void stop_before(std::int64_t e) {
    if (e == start_) return;
    if (plan_.schedule->evaluates_after(e - 1)) evaluate_after(e - 1, false);
    if (!checkpoint_due(e)) keep_state(e);
    evaluate_after(e - 1, true);
  }

  bool checkpoint_due(std::int64_t done) const {
    return requests_.checkpoint && requests_.checkpoint_every > 0 && done % requests_.checkpoint_every == 0;
  }

  /// Evaluates the weights after epoch `e`, unless this was done before. `last`: these are the final weights.
  void evaluate_after(std::int64_t e, bool last) {
    const Range range(ranges_, "evaluate");
    const bool differs = last && plan_.schedule->summary().last_evaluation_differs;
    if (evaluated_ > e && !(differs && evaluated_last_ <= e)) return;
    set_metrics(e, trainer_->evaluate({e, last}));
    evaluated_ = e + 1;
    if (last) evaluated_last_ = e + 1;
  }

  void note_evaluation() {
    const TrainingFindings findings = trainer_->findings();
    curves_.equal_outputs = findings.equal_outputs;
    curves_.evaluation_bytes = findings.evaluation_bytes;
  }

  void set_metrics(std::int64_t e, const std::map<std::string, double>& metrics) {
    note_evaluation();
    const auto count = static_cast<std::size_t>(e) + 1;
    for (const auto& [name, value] : metrics) {
      std::vector<double>& curve = curves_.metrics[name];
      if (curve.size() < count) curve.resize(count, std::numeric_limits<double>::quiet_NaN());
      curve[count - 1] = value;
    }
  }

  double watched_value(std::int64_t e) const {
    const UntilRule& rule = watch_->rule();
    const std::size_t at = e;
    if (rule.reads_loss()) return curves_.loss.at(at);
    const auto curve = curves_.metrics.find(rule.series());
    const bool evaluated = curve != curves_.metrics.end() && at < curve->second.size();
    return evaluated ? curve->second[at] : std::numeric_limits<double>::quiet_NaN();
  }

  /// Hands over the state after `done` epochs.
  void keep_state(std::int64_t done) {
    if (!requests_.checkpoint || repetition_ != 0) return;
    trainer_->gather_state();
    if (device_.rank() != 0) return;
    TrainingState state = trainer_->state();
    state.epoch = done;
    state.loss = curves_.loss;
    state.metrics = curves_.metrics;
    requests_.checkpoint(state);
  }

  void keep_weights() {
    for (const std::string& name : requests_.outputs) outcome_.outputs[name] = trainer_->output(name);
    std::vector<double> weights = trainer_->weights();
    outcome_.finite_weights = all_finite(weights);
    if (requests_.weights) outcome_.weights = std::move(weights);
  }

  const PlannedCase& plan_;
  Device& device_;
  Communicator& communicator_;
  const RankRequest& requests_;
  RangeLog* const ranges_;  // null: nobody asks for ranges
  RankOutcome& outcome_;
  RankOutcome later_;  // takes the curves of all repetitions after the first
  RankOutcome& curves_;
  const int repetition_;
  const std::int64_t epochs_;
  std::unique_ptr<Trainer> trainer_;
  PerMemoryPart<std::uint64_t> host_parts_{};  // where this rank is a process
  std::optional<UntilWatch> watch_;
  bool each_epoch_ = false;          // whether each epoch has a separate evaluation
  bool reached_ = false;             // whether `until` holds
  std::int64_t start_ = 0;           // the first epoch to train
  std::int64_t evaluated_ = 0;       // epochs with separately evaluated weights, up to the last such epoch
  std::int64_t evaluated_last_ = 0;  // the same, for evaluations as final weights
};

}  // namespace

void train_rank(const PlannedCase& plan, Device& device, Communicator& communicator, const RankRequest& requests,
                RankOutcome& outcome) {
  device.time_each_operation(requests.spans);
  RangeLog ranges(device.spans());
  for (int repetition = 0; repetition < plan.request.repeat; ++repetition) {
    device.spans().clear();
    ranges.clear();
    outcome.epoch_under_way = -1;
    outcome.outputs.clear();  // the last repetition's are written
    try {
      RangeLog* const log = requests.spans ? &ranges : nullptr;
      if (!TrainingRun(plan, device, communicator, repetition, requests, outcome, log).run()) break;
    } catch (const OutOfMemory& error) {
      throw OutOfMemoryAtStep(error, device, outcome.epoch_under_way);
    }
  }
  if (!requests.spans) return;
  outcome.last_spans = device.spans().spans();
  for (const Span& range : ranges.as_spans()) outcome.last_spans.push_back(range);
}

namespace {

/// Where an epoch has several batches, the next one has others. With P ranks, a rank has met all batches after P
/// epochs.
std::int64_t epochs_to_rehearse(const PlannedCase& plan) {
  constexpr std::int64_t least = 2;  // the first one also sets up the optimizer
  if (plan.schedule->updates_through(1) <= 1) return least;
  return std::max(least, std::min<std::int64_t>(plan.request.warmup + plan.request.epochs, plan.ranks()));
}

}  // namespace

void rehearse(const PlannedCase& plan, Device& device, Communicator& communicator) {
  RankOutcome outcome;
  RankRequest requests;
  requests.epochs = epochs_to_rehearse(plan);
  TrainingRun(plan, device, communicator, 0, requests, outcome, nullptr).run();
}

}  // namespace strobe
