// Training: what one rank does. It walks the schedule of a planned case: move in, then per layer spatial stage,
// exchange, temporal stage, exchange; loss; backward along the tape; gradient all-reduce; optimiser. It knows neither
// the equations nor the links.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/checkpoint.hpp"
#include "harness/epoch_gate.hpp"
#include "harness/planned_case.hpp"

namespace strobe {

/// What one rank hands back. Losses and metrics are the same on every rank; they are empty without values.
struct RankOutcome {
  std::int64_t epoch_under_way = -1;                   // of the repetition under way; -1 before its first
  std::vector<EpochSample> samples;                    // every repetition and epoch, warm-up included
  std::vector<double> loss;                            // first repetition, summed over ranks, from the first epoch
  std::map<std::string, std::vector<double>> metrics;  // likewise, of the test samples, before each epoch's update
  std::vector<Span> last_spans;                        // of the last repetition
  std::vector<double> weights;                         // after the last update, in the plan's order
  std::vector<double> embeddings;                      // [T * N * F] of the last epoch, on rank 0
};

/// What to keep beside samples, and where to begin.
struct RankWishes {
  bool spans = false;
  bool weights = false;
  bool embeddings = false;
  std::function<void(const TrainingState&)> checkpoint;  // called on rank 0 when a checkpoint is due; or empty
  std::int64_t checkpoint_every = 0;                     // epochs; 0 = only after the last
  const TrainingState* start = nullptr;                  // null: from the beginning
  std::int64_t epochs = 0;                               // in all; 0 = those of the case
  EpochGate* gate = nullptr;                             // null: nothing ends training early
  std::function<void(Communicator&)> measured;           // on all ranks after each epoch, outside its time; or empty
};

/// Trains `plan` on this rank, until the gate closes; then a checkpoint is due, and weights and embeddings are not.
/// Whatever ends training by an exception leaves the epochs before it in `outcome`.
void train_rank(const PlannedCase& plan, Device& device, Communicator& communicator, const RankWishes& wishes,
                RankOutcome& outcome);

/// Two epochs of one repetition, for what they take: nothing is handed back.
void rehearse(const PlannedCase& plan, Device& device, Communicator& communicator);

}  // namespace strobe
