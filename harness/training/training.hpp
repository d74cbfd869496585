// Training: the loop over repetitions and epochs on one rank, with its gate, samples and checkpoints. What an epoch is,
// the plan's trainer knows.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/schedule/planned_case.hpp"
#include "harness/training/epoch_gate.hpp"
#include "harness/training/tell_epoch.hpp"

namespace strobe {

/// What one rank hands back. Losses and metrics are the same on every rank; they are empty without values.
struct RankOutcome {
  std::int64_t epoch_under_way = -1;  // of the repetition under way; -1 before its first
  std::vector<EpochSample> samples;   // every repetition and epoch, warm-up included
  std::vector<double> loss;           // [epoch] first repetition, summed over ranks, of the epoch's own pass
  /// Likewise, of the weights after the epoch's update: the last entry speaks of the weights that are left. NaN, or not
  /// there yet, where training was cut off before they were evaluated.
  std::map<std::string, std::vector<double>> metrics;
  std::int64_t epochs_trained = 0;  // of the last repetition, those of a run that it continued included
  bool until_reached = false;       // in the first repetition
  bool equal_outputs = false;       // whether the last evaluation gave all test samples one output (all_equal)
  bool finite_weights = true;       // those that are left
  std::vector<Span> last_spans;     // of the last repetition, with its ranges behind them (models/tape/range_log.hpp)
  std::vector<double> weights;      // after the last update, in the plan's order
  std::map<std::string, OutputContent> outputs;  // by name, content of files under these weights, on rank 0
  double rounding = 0;      // of the first repetition, on rank 0: RoundingEstimate::largest beyond its limit
  bool dead_start = false;  // on rank 0: RoundingEstimate::dead of the first epoch
};

/// What to keep beside samples, and where to begin.
struct RankWishes {
  bool spans = false;
  bool weights = false;
  std::set<std::string> outputs;                         // names of files whose content is wanted
  std::function<void(const TrainingState&)> checkpoint;  // called on rank 0 when a checkpoint is due; or empty
  std::int64_t checkpoint_every = 0;                     // epochs; 0 = only after the last
  const TrainingState* start = nullptr;                  // null: from the beginning
  std::int64_t epochs = 0;                               // > 0: a rehearsal of so many, whose weights serve nothing
  EpochGate* gate = nullptr;                             // null: nothing ends training early
  std::function<void(Communicator&)> measured;           // on all ranks after each epoch, outside its time; or empty
  TellEpoch tell;                                        // on rank 0 after each epoch, outside its time; or empty
};

/// Trains `plan` on this rank, until its epochs are done, its `until` holds after a measured epoch, or the gate closes;
/// in that case a checkpoint is due, and weights and embeddings are not. The weights that are left are evaluated
/// outside of measured time. Whatever ends training by an exception leaves the epochs before it in `outcome`.
void train_rank(const PlannedCase& plan, Device& device, Communicator& communicator, const RankWishes& wishes,
                RankOutcome& outcome);

/// Two epochs of one repetition, for what they take: nothing is handed back.
void rehearse(const PlannedCase& plan, Device& device, Communicator& communicator);

}  // namespace strobe
