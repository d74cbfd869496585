// Training: the loop over repetitions and epochs on one rank, with its gate, samples and checkpoints. The plan's
// trainer defines what an epoch is.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/training/stop_check.hpp"
#include "harness/training/tell_epoch.hpp"

namespace strobe {

/// The results of one rank. Losses and metrics are the same on every rank; they are empty without values.
struct RankOutcome {
  std::int64_t epoch_under_way = -1;  // of the current repetition; -1 before its first
  std::vector<EpochSample> samples;   // every repetition and epoch, warm-up included
  std::vector<double> loss;           // [epoch] first repetition, summed over ranks, of the epoch's own pass
  /// [epoch] first repetition, of the weights after the epoch's update. The last entry belongs to the final weights. It
  /// is NaN or missing when training stopped before they were evaluated.
  std::map<std::string, std::vector<double>> metrics;
  std::int64_t epochs_trained = 0;  // of the last repetition, including those before a resumed checkpoint
  bool until_reached = false;       // in the first repetition
  bool equal_outputs = false;       // whether the last evaluation gave all test samples one output (all_equal)
  std::vector<std::uint64_t> evaluation_bytes = {};  // on rank 0: TrainingFindings::evaluation_bytes
  bool finite_weights = true;                        // whether all final weights are finite
  std::vector<Span> last_spans;  // of the last repetition, followed by its ranges (models/tape/range_log.hpp)
  std::vector<double> weights;   // after the last update, in the plan's order
  std::map<std::string, OutputContent> outputs;  // by name, content of files for these weights, on rank 0
  double rounding = 0;      // first repetition, on rank 0: RoundingEstimate::largest, or 0 when within its limit
  double load_seconds = 0;  // wall time of its process to read and prepare the data and to plan
  bool dead_start = false;  // on rank 0: RoundingEstimate::dead of the first epoch
};

/// The results to keep in addition to samples, and the state to start from.
struct RankRequest {
  bool spans = false;
  bool weights = false;
  std::set<std::string> outputs;                         // names of the requested files
  std::function<void(const TrainingState&)> checkpoint;  // called on rank 0 when a checkpoint is due; or empty
  std::int64_t checkpoint_every = 0;                     // epochs; 0 = only after the last
  const TrainingState* start = nullptr;                  // null: from the beginning
  std::int64_t epochs = 0;    // > 0: a rehearsal with this number of epochs; its weights are discarded
  bool own_process = false;   // whether this rank is a process, whose memory is looked at
  StopCheck* gate = nullptr;  // null: nothing ends training early
  std::function<void(Communicator&)> measured;  // on all ranks after each epoch, outside its time; or empty
  TellEpoch tell;                               // on rank 0 after each epoch, outside its time; or empty
};

/// Trains `plan` on this rank until its epochs are done, its `until` holds after a measured epoch, or the gate closes.
/// When the gate closes, this hands over a checkpoint, but neither weights nor embeddings. It evaluates the final
/// weights outside measured time. When an exception ends training, `outcome` still holds the earlier epochs.
void train_rank(const PlannedCase& plan, Device& device, Communicator& communicator, const RankRequest& requests,
                RankOutcome& outcome);

/// Runs two epochs of one repetition to measure the resources that they take. The results are discarded.
void rehearse(const PlannedCase& plan, Device& device, Communicator& communicator);

}  // namespace strobe
