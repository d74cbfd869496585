// Trains an event model on one of many ranks, in DistTGL's order of batches (batch_order.hpp).
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/event_batches/groups/group_memory.hpp"
#include "harness/event_batches/groups/group_plan.hpp"
#include "harness/event_batches/groups/joint_evaluation.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"
#include "harness/event_batches/trainer/evaluation_pass.hpp"
#include "harness/event_batches/trainer/event_weights.hpp"
#include "harness/schedule/schedule.hpp"

namespace strobe {

class GroupTrainer final : public Trainer {
 public:
  GroupTrainer(const GroupPlan& plan, Device& device, Communicator& communicator);

  void note_ranges(RangeLog* log) override { ranges_ = log; }
  void keep(const std::set<std::string>& names) override;
  void epoch(std::int64_t number) override;
  EpochValues values(bool metrics_before) override;
  std::map<std::string, double> evaluate(const EvaluationMoment& moment) override;
  TrainingFindings findings() const override;
  void gather_state() override;
  TrainingState state() override;
  void restore(const TrainingState& state) override;
  std::vector<double> weights() override { return weights_.values(); }
  OutputContent output(const std::string& name) override;

 private:
  /// A batch that this rank trains on for j iterations, with its inputs for each set of negatives.
  struct Batch {
    DrawnSets drawn;
    std::vector<BatchInput> inputs;
    std::vector<ComingRows> rows;
  };
  /// An iteration's forward pass on this rank; `turn` is empty if the rank has no batch.
  struct Forward {
    std::optional<TrainerTurn> turn;
    SharedDraw drawn;            // kept for the tape, because `current_` may be the next batch already
    std::unique_ptr<Tape> tape;  // null: no events
    PassOutput output;
    Tensor labels;
  };

  /// State that only this rank has: its part of the memory, and rows of a batch that it still trains on.
  std::vector<double> own_state();
  void restore_own(const std::vector<double>& values, std::int64_t iteration);
  void iterate(std::int64_t iteration, bool last);
  /// Prepares an iteration: announces it to the memory, and starts the reads if this rank begins a batch.
  void begin(std::int64_t iteration);
  /// Makes the batch that this rank begins the current one: reads its memory and loads its inputs.
  void take_batch(const TrainerTurn& turn);
  /// Moves in the memory rows of the current batch, for all sets.
  void read_memory();
  Forward forward(std::int64_t iteration);
  void backward(const Forward& pass, std::int64_t iteration);
  /// Writes the iteration's updates to memory.
  void write(const Forward& pass);
  /// Saves copy 0 at the end of its sweep for a later evaluation.
  void keep_sweep_end(std::int64_t iteration, bool resets);
  MemoryState memory_after_training();
  /// Rank 0 evaluates alone.
  std::map<std::string, double> measure(const EvaluationMoment& moment);
  /// All ranks evaluate. Returns the metrics on rank 0.
  std::map<std::string, double> measure_jointly(const EvaluationMoment& moment);
  /// Whether all ranks evaluate together. Files of embeddings and of the memory are made by rank 0 alone.
  bool evaluates_jointly(const EvaluationMoment& moment) const {
    const bool views = kept_.count("embeddings") != 0 || kept_.count("memory") != 0;
    return plan_.evaluation.order != nullptr && !(moment.last && views);
  }
  const EventCase& events() const { return *plan_.events; }
  bool pipelined() const { return events().options.pipeline; }

  const GroupPlan& plan_;
  Device& device_;
  Communicator& communicator_;
  EventWeights weights_;
  EventBatchSource source_;
  BatchLoader loader_;
  std::unique_ptr<GroupMemory> memory_;     // null: the model has none
  std::unique_ptr<EvaluationPass> replay_;  // on rank 0, if it evaluates alone; else null
  std::shared_ptr<Communicator> column_;    // of joint evaluations; else null
  JointResults joint_;                      // of the last joint evaluation
  std::set<std::string> kept_;              // names of views that the last evaluation keeps
  Batch current_;
  std::int64_t begun_ = 0;                     // iterations that called `begin`
  std::int64_t trained_ = 0;                   // finished iterations
  std::int64_t epoch_first_ = 0;               // the first iteration of the current epoch
  std::int64_t epoch_end_ = 0;                 // the first one of the next epoch
  std::vector<double> sweep_end_;              // copy 0 at the end of its last sweep, if that was amid an epoch
  std::vector<std::vector<double>> gathered_;  // by rank, its `own_state`; on rank 0
  Tensor batch_loss_, epoch_loss_;
  RangeLog* ranges_ = nullptr;
};

}  // namespace strobe
