// The seam between the run loop and what it trains. One loop serves every kind of training: it runs repetitions and
// epochs, the validation gate, samples and checkpoints. A kind of training is a planner, an immutable plan, and a
// trainer on each rank.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/schedule_tag.hpp"
#include "models/tape/parameters.hpp"
#include "models/tape/range_log.hpp"
#include "models/tasks/reference_levels.hpp"
#include "results/row/facts.hpp"
#include "results/row/sample.hpp"
#include "workloads/storage/column.hpp"

namespace strobe {

/// How firmly a plan knows the bytes of a kind of traffic.
enum class Promise : std::uint8_t {
  exact,        // to the byte, in every epoch
  at_most,      // an upper bound: the bytes sent depend on values
  as_measured,  // unknown: the bytes sent depend on time
};

/// Bytes that all ranks together send in one measured epoch, by traffic in order of `traffic_names`.
struct ByteBudget {
  PerTraffic<std::uint64_t> bytes{};
  PerTraffic<Promise> promise{};  // exact unless stated

  /// Whether the plan allows `sent` bytes of that traffic.
  bool allows(std::size_t traffic, std::uint64_t sent) const;
};

/// The work of one epoch, for throughput.
struct EpochItems {
  double count = 0;                       // of `unit`, over all ranks
  std::string unit = "edges_per_second";  // key of the row's throughput, one of throughput_units
  double nonzeros = 0;                    // stored entries of the matrices that are multiplied with; 0 = unknown
  std::int64_t iterations = 1;            // weight updates
  double cells = 0;                       // vertices of all steps trained on, where `unit` is not cells; 0 = not stated
  double edges = 0;                       // edges of all steps trained on, where `unit` is not edges; 0 = not stated
};

/// The metrics that an evaluation gives.
struct MetricNames {
  std::vector<std::string> names;               // names of validation samples begin with `validation_prefix`
  std::map<std::string, std::string> absent;    // by name, why the metric is missing
  std::map<std::string, std::int64_t> samples;  // by name, the number of samples that it is computed over
  ReferenceLevels levels;                       // what is reached without a model
};

/// The content of an output file, which a trainer provides on rank 0. Files that follow from the plan alone need none
/// of it.
struct OutputContent {
  Column<double> values;
  std::vector<SavedMatrix> matrices;
};

/// A file that a plan can write in addition to the row. `name` is registered (OutputFileTag).
struct OutputFile {
  std::string name;
  /// Throws SystemError.
  std::function<void(const std::string& path, const OutputContent& content)> write;
};

/// The name of the file that lies next to a checkpoint. It lists the original ids of vertices where they differ from
/// the dense ones. It has no option of its own.
inline constexpr const char* ids_beside_checkpoint = "ids";

/// The results of an epoch. They are the same on every rank, and empty on devices without values.
struct EpochValues {
  std::optional<double> loss;
  /// Metrics of the weights that the epoch began with. Empty unless the epoch's own passes compute them.
  std::map<std::string, double> metrics_before;
};

/// When weights are evaluated.
struct EvaluationMoment {
  std::int64_t epoch = 0;  // the epoch after which weights are evaluated
  bool last = true;        // the weights are the final ones: nothing is skipped to save time
};

/// Findings about the training itself, for the row.
struct TrainingFindings {
  double rounding = 0;         // on rank 0: RoundingEstimate::largest, when it is beyond its limit
  bool dead_start = false;     // on rank 0: RoundingEstimate::dead of the first epoch
  bool equal_outputs = false;  // whether the last evaluation gave all test samples the same output
  /// [ranks] on rank 0: most accounted memory during an evaluation, of trainers that free it afterwards. Else empty.
  std::vector<std::uint64_t> evaluation_bytes = {};
};

/// Training on one rank. All ranks must call the same functions in the same order. Nothing here reads a clock.
class Trainer {
 public:
  virtual ~Trainer() = default;
  /// Notes the parts of each epoch in `log`, which must outlive the trainer. Kinds of training without such parts
  /// ignore it.
  virtual void note_ranges(RangeLog* /*log*/) {}
  /// Names the files whose content will be asked for after the last evaluation, so that it can be kept.
  virtual void keep(const std::set<std::string>& /*names*/) {}
  /// Trains one measured epoch, with its updates. `number` counts from 0, warm-up included.
  virtual void epoch(std::int64_t number) = 0;
  /// The results of the last trained epoch. Callers call it once after that epoch, outside measured time. If
  /// `metrics_before` is false, they are not needed.
  virtual EpochValues values(bool metrics_before) = 0;
  /// Metrics of the current weights, from separate passes without dropout. Empty without values.
  virtual std::map<std::string, double> evaluate(const EvaluationMoment& moment) = 0;
  virtual TrainingFindings findings() const { return {}; }
  /// Moves the parts of the state that other ranks hold to rank 0. All ranks call it before rank 0 asks for `state`.
  virtual void gather_state() {}
  /// The weights and everything else that the next epoch depends on, on rank 0. The loop adds the epoch and the curves.
  virtual TrainingState state() = 0;
  virtual void restore(const TrainingState& state) = 0;
  /// In the order of the plan's parameters; empty without values.
  virtual std::vector<double> weights() = 0;
  /// The content of the file of this name, on rank 0; asked for at most once, where the plan offers the file.
  virtual OutputContent output(const std::string& /*name*/) { return {}; }
};

/// Facts about a training that the loop and the row need before it begins.
struct PlanSummary {
  EpochItems items;
  std::vector<ParameterShape> parameters;
  MetricNames metrics;
  std::vector<std::string> approximations;  // how it differs from exact training, for the row; empty when it is exact
  std::vector<std::string> notes;           // assumptions made while planning, one sentence each
  bool epochs_tell_metrics = false;         // an epoch's own passes give the metrics of the weights that it began with
  bool last_evaluation_differs = false;     // the last evaluation is of another kind than the earlier ones
  std::int64_t settling_updates = 0;        // updates at the start that cost less than later ones
  std::uint64_t kept_bytes = 0;             // about how much memory the plan takes, the same in every process
};

/// The run loop's request to a kind of training that another program carries out.
struct OutsideRequest {
  double time_limit_seconds = 0;                                   // 0 = none
  std::function<void(const std::vector<EpochSample>&)> keep;       // gets samples of whole epochs; or empty
  std::function<void(int repetition, std::int64_t, double)> tell;  // gets epochs so far and the last loss; or empty
};

/// Everything about a case that is decided before ranks start and depends on the kind of training. All ranks share it,
/// and nobody changes it.
class SchedulePlan {
 public:
  virtual ~SchedulePlan() = default;

  virtual const PlanSummary& summary() const = 0;
  /// Bytes of measured epoch `epoch`, which counts from 0, warm-up included.
  virtual ByteBudget budget(std::int64_t epoch) const = 0;
  /// Updates of the weights in the first `epochs` epochs.
  virtual std::int64_t updates_through(std::int64_t epochs) const { return epochs * summary().items.iterations; }
  /// Whether weights are evaluated after that epoch. The final weights always are.
  virtual bool evaluates_after(std::int64_t /*epoch*/) const { return true; }
  /// The row keys that belong to this kind of training (FactsTag), from the epochs of all ranks. Without samples, only
  /// the keys that are known before training.
  virtual Facts facts(const std::vector<EpochSample>& /*samples*/) const { return {}; }
  /// Sentences for the row about the curves of metrics (one value an epoch).
  virtual std::vector<std::string> remarks(const std::map<std::string, std::vector<double>>& /*metrics*/) const {
    return {};
  }
  /// The roles in addition to the ranks, which are trainers, with their programs for one launch. The launcher decides
  /// where they run. Trainers find their channels to them at the communicator.
  virtual std::vector<HelperRequest> helpers() const { return {}; }
  /// Bytes of the data on the host that this process holds for the plan, by part. Data that a trainer makes are not
  /// counted.
  virtual PerMemoryPart<std::uint64_t> host_parts() const { return {}; }
  /// The rank that the plan can train in this process, where it holds nothing else; nothing when it can train all
  /// ranks.
  virtual std::optional<Rank> only_rank() const { return std::nullopt; }
  /// The plan as `--dry-run` prints it after the case itself. The caller adds notes and bytes.
  virtual Json describe() const = 0;
  /// SHA-256 of everything that ranks in several processes must have in common, except the request.
  virtual std::string digest() const = 0;
  /// The files that this plan can write.
  virtual std::vector<OutputFile> outputs() const { return {}; }
  /// Refuses a state that training of this plan cannot continue from. Throws InvalidRequest("--resume-training", ...).
  virtual void check_start(const TrainingState& /*state*/) const {}
  /// Whether another program trains: `train_outside` then takes the place of launched ranks and their trainers.
  virtual bool is_outside() const { return false; }
  /// Adds everything that the program stated, and how it ended, to `result`. Throws Interrupted, with `result` filled
  /// in, after a signal that stops the run.
  virtual void train_outside(const OutsideRequest& /*request*/, CaseResult& /*result*/) const {}
  /// A trainer of this plan. The plan must outlive it.
  virtual std::unique_ptr<Trainer> trainer(Device& device, Communicator& communicator) const = 0;
};

/// Plans one case. Data and model already exist; the planner may lay out the rest several times until it fits in
/// memory.
class SchedulePlanner {
 public:
  virtual ~SchedulePlanner() = default;
  /// The levels of a metric of the task's samples, named as in rows (validation_mrr).
  virtual ReferenceLevels levels(const std::string& /*metric*/) const { return {}; }
  /// Whether the case leaves a choice open, so that memory decides.
  virtual bool leaves_open() const { return false; }
  /// The open choices, best first: the first one that keeps every rank within its memory is taken. When nothing is
  /// open, the one choice that the case made.
  virtual std::vector<std::int64_t> choices() const { return {0}; }
  /// Throws InvalidRequest when the case, or this choice, cannot be laid out.
  virtual std::shared_ptr<const SchedulePlan> plan(std::int64_t choice) = 0;
  /// Texts such as "nb=auto chose 4 blocks" for a note, and "nb=4" for a refusal.
  virtual std::string chosen_text(std::int64_t /*choice*/) const { return ""; }
  virtual std::string choice_text(std::int64_t /*choice*/) const { return ""; }
  /// The name of the choice, for example "number of blocks".
  virtual std::string choice_name() const { return "choice"; }
};

}  // namespace strobe
