// The seam between the run loop and what it trains. The loop over repetitions and epochs, the gate, samples and
// checkpoints are one and know no kind of training; a kind is a planner, an immutable plan, and a trainer on each rank.
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
#include "results/row/facts.hpp"
#include "results/row/sample.hpp"

namespace strobe {

/// How firmly a plan knows the bytes of a kind of traffic.
enum class Promise : std::uint8_t {
  exact,        // to the byte, in every epoch
  at_most,      // no more: what is sent depends on values
  as_measured,  // not known: what is sent depends on time
};

/// Bytes that all ranks together send in one measured epoch, by traffic in order of `traffic_names`.
struct ByteBudget {
  std::array<std::uint64_t, traffic_count> bytes{};
  std::array<Promise, traffic_count> promise{};  // exact unless stated

  /// Whether the plan allows `sent` bytes of that traffic.
  bool allows(std::size_t traffic, std::uint64_t sent) const;
};

/// What an epoch works through, for throughput.
struct EpochItems {
  double count = 0;                       // of `unit`, over all ranks
  std::string unit = "edges_per_second";  // key of the row's throughput, one of throughput_units
  double nonzeros = 0;                    // stored entries of the matrices that are multiplied with; 0 = unknown
  std::int64_t iterations = 1;            // updates of the weights
  double cells = 0;                       // vertices of all steps trained on, beside another unit; 0 = not stated
};

/// The metrics that an evaluation gives.
struct MetricNames {
  std::vector<std::string> names;               // those of the validation samples with `validation_prefix` in front
  std::map<std::string, std::string> absent;    // by name, why there is none
  std::map<std::string, std::int64_t> samples;  // by name, over how many samples it is taken
};

/// What a trainer hands over for a file, on rank 0. Files that follow from the plan alone need none of it.
struct OutputContent {
  std::vector<double> values;
  std::vector<SavedMatrix> matrices;
};

/// A file beside the row that a plan can write; `name` is registered (OutputFileTag).
struct OutputFile {
  std::string name;
  /// Throws SystemError.
  std::function<void(const std::string& path, const OutputContent& content)> write;
};

/// The name of the file that stands beside a checkpoint and lists the original ids of vertices where they differ from
/// the dense ones. It has no option of its own.
inline constexpr const char* ids_beside_checkpoint = "ids";

/// What an epoch came to; the same on every rank, and empty without values.
struct EpochValues {
  std::optional<double> loss;
  /// Of the weights that the epoch began with, where its own passes tell them; else empty.
  std::map<std::string, double> metrics_before;
};

/// When weights are evaluated.
struct EvaluationMoment {
  std::int64_t epoch = 0;  // behind which
  bool last = true;        // the weights are those that are left: nothing is spared
};

/// What training shows about itself, for the row.
struct TrainingFindings {
  double rounding = 0;         // on rank 0: RoundingEstimate::largest, where it is beyond its limit
  bool dead_start = false;     // on rank 0: RoundingEstimate::dead of the first epoch
  bool equal_outputs = false;  // whether the last evaluation gave all test samples one output
};

/// Training on one rank. All ranks must call the same functions in the same order. Nothing here reads a clock.
class Trainer {
 public:
  virtual ~Trainer() = default;
  /// Notes in `log`, which must outlive the trainer, what an epoch goes through; kinds without such parts ignore it.
  virtual void note_ranges(RangeLog* /*log*/) {}
  /// Names the files whose content will be asked for after the last evaluation, so that it can be kept.
  virtual void keep(const std::set<std::string>& /*names*/) {}
  /// Trains one measured epoch, with its updates. `number` counts from 0, warm-up included.
  virtual void epoch(std::int64_t number) = 0;
  /// What the epoch trained last came to; to be called once after it, outside of measured time. Without
  /// `metrics_before` nobody asks for these.
  virtual EpochValues values(bool metrics_before) = 0;
  /// Metrics of the weights as they are, from passes of their own that drop nothing; empty without values.
  virtual std::map<std::string, double> evaluate(const EvaluationMoment& moment) = 0;
  virtual TrainingFindings findings() const { return {}; }
  /// Brings what other ranks hold of the state to rank 0; all ranks call it before rank 0 asks for `state`.
  virtual void gather_state() {}
  /// Weights and whatever else the next epoch depends on; the loop adds the epoch and the curves. On rank 0.
  virtual TrainingState state() = 0;
  virtual void restore(const TrainingState& state) = 0;
  /// In the order of the plan's parameters; empty without values.
  virtual std::vector<double> weights() = 0;
  /// The content of the file of this name, on rank 0; asked for only where the plan offers the file.
  virtual OutputContent output(const std::string& /*name*/) { return {}; }
};

/// What the loop and the row must know of a training before it begins.
struct PlanSummary {
  EpochItems items;
  std::vector<ParameterShape> parameters;
  MetricNames metrics;
  std::vector<std::string> approximations;  // how it differs from exact training, for the row; empty where it does not
  std::vector<std::string> notes;           // what was assumed while planning, one sentence each
  bool epochs_tell_metrics = false;         // an epoch's own passes give the metrics of the weights that it began with
  bool last_evaluation_differs = false;     // the last evaluation is of another kind than those before it
  std::int64_t settling_updates = 0;        // updates at the start that cost less than later ones do
  std::uint64_t kept_bytes = 0;             // about what keeping the plan takes, the same in every process
};

/// Everything about a case that is decided before ranks start and depends on the kind of training: immutable and shared
/// by all ranks.
class SchedulePlan {
 public:
  virtual ~SchedulePlan() = default;

  virtual const PlanSummary& summary() const = 0;
  /// Bytes of measured epoch `epoch`, which counts from 0, warm-up included.
  virtual ByteBudget budget(std::int64_t epoch) const = 0;
  /// Updates of the weights in the first `epochs` epochs.
  virtual std::int64_t updates_through(std::int64_t epochs) const { return epochs * summary().items.iterations; }
  /// Whether weights are evaluated after that epoch; those that are left always are.
  virtual bool evaluates_after(std::int64_t /*epoch*/) const { return true; }
  /// The kind's own keys of the row (FactsTag), from the epochs of all ranks; without samples, those known beforehand.
  virtual Facts facts(const std::vector<EpochSample>& /*samples*/) const { return {}; }
  /// Sentences for the row about the curves of metrics (one value an epoch).
  virtual std::vector<std::string> remarks(const std::map<std::string, std::vector<double>>& /*metrics*/) const {
    return {};
  }
  /// The roles beside the ranks, which are trainers, with programs for one launch: where they run is the launcher's
  /// affair. Trainers find their lanes at the communicator.
  virtual std::vector<HelperRequest> helpers() const { return {}; }
  /// What `--dry-run` prints after the case itself; notes and bytes are filled in there.
  virtual Json describe() const = 0;
  /// SHA-256 of all that ranks in several processes must have alike, beside the request.
  virtual std::string digest() const = 0;
  /// The files that this plan can write.
  virtual std::vector<OutputFile> outputs() const { return {}; }
  /// Refuses a state that training of this plan cannot go on from. Throws InvalidRequest("--resume-training", ...).
  virtual void check_start(const TrainingState& /*state*/) const {}
  /// A trainer of this plan, which must outlive it.
  virtual std::unique_ptr<Trainer> trainer(Device& device, Communicator& communicator) const = 0;
};

/// Plans one case: its data and its model are there, the rest is laid out once or as often as it takes to fit.
class SchedulePlanner {
 public:
  virtual ~SchedulePlanner() = default;
  /// Whether the case leaves something open, so that memory decides.
  virtual bool leaves_open() const { return false; }
  /// What is left open, best first: the first that keeps every rank within its memory is taken. Otherwise the one
  /// choice that the case made.
  virtual std::vector<std::int64_t> choices() const { return {0}; }
  /// Throws InvalidRequest when the case, or this choice, cannot be laid out.
  virtual std::shared_ptr<const SchedulePlan> plan(std::int64_t choice) = 0;
  /// "nb=auto chose 4 blocks", for a note, and "nb=4", for a refusal.
  virtual std::string chosen_text(std::int64_t /*choice*/) const { return ""; }
  virtual std::string choice_text(std::int64_t /*choice*/) const { return ""; }
  /// "number of blocks": what was to be chosen.
  virtual std::string choice_name() const { return "choice"; }
};

}  // namespace strobe
