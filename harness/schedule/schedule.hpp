// The seam between the run loop and what it trains. The loop over repetitions and epochs, the gate, samples and
// checkpoints are one and know no kind of training; a kind is a planner, an immutable plan, and a trainer on each rank.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/files/model_files.hpp"
#include "harness/request/schedule_tag.hpp"
#include "models/tape/parameters.hpp"
#include "models/tape/range_log.hpp"
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

/// Traffic of exchanges that do not send all of their rows in every epoch: bytes in an epoch, all ranks together.
struct StaleTraffic {
  std::array<std::uint64_t, traffic_count> exact{};   // what they would send if they sent all
  std::array<std::uint64_t, traffic_count> beside{};  // what others send of the same kinds of traffic, in every epoch
};

/// What an epoch works through, for throughput.
struct EpochItems {
  double count = 0;                       // of `unit`, over all ranks
  std::string unit = "edges_per_second";  // key of the row's throughput, one of throughput_units
  double nonzeros = 0;                    // stored entries of the matrices that are multiplied with; 0 = unknown
  std::int64_t iterations = 1;            // updates of the weights
  double cells = 0;                       // vertices of all steps trained on, beside another unit; 0 = not stated
  std::optional<BatchEvents> batch_events = {};          // of kinds that go through events in batches
  std::optional<BatchRedundancy> batch_redundancy = {};  // of hybrid batches
};

/// The metrics that an evaluation gives.
struct MetricNames {
  std::vector<std::string> names;               // those of the validation samples with `validation_prefix` in front
  std::map<std::string, std::string> absent;    // by name, why there is none
  std::map<std::string, std::int64_t> samples;  // by name, over how many samples it is taken
};

/// Files beside rows: those that a kind of training can write, or those that are wanted of it.
struct OutputKinds {
  bool embeddings = false;  // --dump-embeddings
  bool memory = false;      // --dump-memory
  bool ranks = false;       // --dump-ranks
  bool samples = false;     // --dump-samples
  bool placement = false;   // --dump-placement
  bool schedule = false;    // --dump-schedule
};

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
  /// What will be asked for behind the evaluation of the weights that are left, which may then keep it.
  virtual void keep(const OutputKinds& /*wanted*/) {}
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
  /// What --dump-embeddings writes, on rank 0; only of plans that offer it.
  virtual std::vector<double> embeddings() { return {}; }
  /// Likewise of --dump-memory.
  virtual std::vector<SavedMatrix> memory() { return {}; }
  /// Likewise of --dump-ranks.
  virtual std::vector<double> ranks() { return {}; }
};

/// Everything about a case that is decided before ranks start and depends on the kind of training: immutable and shared
/// by all ranks.
class SchedulePlan {
 public:
  virtual ~SchedulePlan() = default;

  /// Of the first epoch, and of all others unless `budget_of` says otherwise.
  virtual const ByteBudget& budget() const = 0;
  virtual ByteBudget budget_of(std::int64_t /*epoch*/) const { return budget(); }
  virtual EpochItems items() const = 0;
  /// [ranks] units of chunks that each rank walks one by one; empty for kinds and strategies without chunks.
  virtual std::vector<std::int64_t> fusion_units() const { return {}; }
  /// Only where a policy of staleness is in force.
  virtual std::optional<StaleTraffic> stale_traffic() const { return std::nullopt; }
  /// Updates of the weights in the first `epochs` epochs.
  virtual std::int64_t updates_through(std::int64_t epochs) const { return epochs * items().iterations; }
  /// What makes the training differ from the exact one, in words of the row; empty for an exact plan (law 3).
  virtual std::vector<std::string> approximations() const { return {}; }
  /// The roles beside the ranks, which are trainers, with programs for one launch: where they run is the launcher's
  /// affair. Trainers find their lanes at the communicator.
  virtual std::vector<HelperRequest> helpers() const { return {}; }
  virtual const std::vector<ParameterShape>& parameters() const = 0;
  virtual MetricNames metrics() const { return {}; }
  /// What the curves of metrics (one value an epoch) say that the row must say in words.
  virtual std::vector<std::string> remarks(const std::map<std::string, std::vector<double>>& /*metrics*/) const {
    return {};
  }
  /// Whether an epoch's own passes tell the metrics of the weights that it began with (EpochValues::metrics_before).
  virtual bool epochs_tell_metrics() const { return false; }
  /// Whether weights are evaluated after that epoch; those that are left always are.
  virtual bool evaluates_after(std::int64_t /*epoch*/) const { return true; }
  /// Whether the evaluation of weights that are left is another one than those before it.
  virtual bool last_evaluation_differs() const { return false; }
  /// What was assumed while planning, one sentence each.
  virtual const std::vector<std::string>& notes() const = 0;

  /// What `--dry-run` prints behind the case itself; `notes` and the bytes are filled in there.
  virtual Json describe() const = 0;
  /// SHA-256 of all that ranks in several processes must have alike, beside the request.
  virtual std::string digest() const = 0;

  virtual OutputKinds outputs() const { return {}; }
  /// Write the files that `outputs` offers. Throw SystemError.
  virtual void write_embeddings(const std::string& /*path*/, const std::vector<double>& /*values*/) const {}
  virtual void write_memory(const std::string& /*path*/, const std::vector<SavedMatrix>& /*memory*/) const {}
  virtual void write_ranks(const std::string& /*path*/, const std::vector<double>& /*ranks*/) const {}
  virtual void write_samples(const std::string& /*path*/) const {}
  virtual void write_placement(const std::string& /*path*/) const {}
  virtual void write_schedule(const std::string& /*path*/) const {}
  /// Writes the original ids of vertices beside the file at `path`, where they differ from the dense ones.
  virtual void write_ids_beside(const std::string& /*path*/) const {}

  /// About what keeping the plan for later takes, the same in every process.
  virtual std::uint64_t kept_bytes() const { return 0; }

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
