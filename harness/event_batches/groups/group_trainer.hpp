// Training of a model of events on many ranks: i ranks share a batch, j batches of a memory are in training at a time,
// k copies of the memory are in different parts of the events (batch_order.hpp). On each rank.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/event_batches/groups/group_memory.hpp"
#include "harness/event_batches/groups/group_plan.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"
#include "harness/event_batches/trainer/event_replay.hpp"
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
  /// A batch that this rank trains on for j iterations: what it reads, for each set of negatives.
  struct Batch {
    DrawnSets drawn;
    std::vector<BatchInput> inputs;
    std::vector<ComingRows> rows;
  };
  /// An iteration's forward pass on this rank; `turn` is empty where it has no batch.
  struct Forward {
    std::optional<TrainerTurn> turn;
    SharedDraw drawn;            // kept while the tape is: the rank may have taken over the next batch
    std::unique_ptr<Tape> tape;  // null: no events
    PassOutput output;
    Tensor labels;
  };

  /// What this rank alone holds: its part of the memory, and rows of a batch that is not done with.
  std::vector<double> own_state();
  void restore_own(const std::vector<double>& values, std::int64_t iteration);
  void iterate(std::int64_t iteration, bool last);
  /// What an iteration needs before it computes: the word to the memory, and the reads of a batch that begins.
  void begin(std::int64_t iteration);
  /// Takes a batch over that this rank begins: its memory is read, its inputs are loaded.
  void take_batch(const TrainerTurn& turn);
  /// Has the rows of the current batch's memory moved in, for all sets.
  void read_memory();
  Forward forward(std::int64_t iteration);
  void backward(const Forward& pass, std::int64_t iteration);
  /// What the iteration leaves in memory.
  void write(const Forward& pass);
  /// Keeps what copy 0 holds at the end of its sweep, which an evaluation needs later.
  void keep_sweep_end(std::int64_t iteration, bool resets);
  MemoryState memory_behind_training();
  std::map<std::string, double> measure(const EvaluationMoment& moment);
  const EventCase& events() const { return *plan_.events; }
  bool pipelined() const { return events().options.pipeline; }

  const GroupPlan& plan_;
  Device& device_;
  Communicator& communicator_;
  EventWeights weights_;
  BatchSource source_;
  BatchLoader loader_;
  std::unique_ptr<GroupMemory> memory_;  // null: the model has none
  std::unique_ptr<EventReplay> replay_;  // of rank 0
  Batch current_;
  std::int64_t begun_ = 0;                     // iterations whose reads have been asked for
  std::int64_t trained_ = 0;                   // iterations that are done
  std::int64_t epoch_first_ = 0;               // the first iteration of the epoch under way
  std::vector<double> sweep_end_;              // of copy 0, where a sweep of it ended amid an epoch
  std::vector<std::vector<double>> gathered_;  // by rank, what it alone holds; of rank 0
  Tensor batch_loss_, epoch_loss_;
  RangeLog* ranges_ = nullptr;
};

}  // namespace strobe
