// Training of a model of events on many ranks: i ranks share a batch, j batches of a memory are in training at a time,
// k copies of the memory are in different parts of the events (batch_order.hpp). On each rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/events/event_replay.hpp"
#include "harness/events/event_weights.hpp"
#include "harness/events/group_plan.hpp"
#include "harness/events/shared_memory.hpp"
#include "harness/plan/schedule.hpp"

namespace strobe {

/// What the structure of a rank's batches depends on: its copy's clock, moved from batch to batch in the order in which
/// the copy begins them.
struct GroupDrawState {
  GroupDrawState(const EventCase& c, const BatchOrder& of_batches, std::int64_t number)
      : drawer(c, c.training),
        clock(c.training.graph->vertices),
        order(of_batches),
        copy(number),
        width(c.model->traits().memory) {}
  /// Moves the clock to where it stands when batch `sequence` is read. Never backwards, but to the beginning of a
  /// sweep.
  void move_to(std::int64_t sequence, const EventData& data);

  BatchDrawer drawer;
  MemoryClock clock;
  BatchOrder order;
  std::int64_t copy;
  std::int64_t width;     // of memory; 0: there are no mails to know of
  std::int64_t next = 0;  // the first batch that the clock has not seen
};

class GroupTrainer final : public Trainer {
 public:
  GroupTrainer(const GroupPlan& plan, Device& device, Communicator& communicator);

  void epoch(std::int64_t number) override;
  EpochValues values(bool metrics_before) override;
  std::map<std::string, double> evaluate() override;
  TrainingFindings findings() const override;
  void gather_state() override;
  TrainingState state() override;
  void restore(const TrainingState& state) override;
  std::vector<double> weights() override { return weights_.values(); }
  std::vector<double> embeddings() override;
  std::vector<SavedMatrix> memory() override;

 private:
  /// A batch that this rank trains on for j iterations: what it reads, for each set of negatives.
  struct Batch {
    std::int64_t sequence = -1;  // -1: none
    std::vector<std::shared_ptr<BatchDraw>> draws;
    Event drawn;
    std::vector<BatchInput> inputs;
    std::vector<ComingRows> rows;
  };

  /// Asks for what one set of the current batch reads.
  void read(std::int64_t set, const SharedDraw& drawn);
  /// What this rank alone holds: the copy of the memory, of a leader; rows of a batch that is not done with.
  std::vector<double> own_state();
  void restore_own(const std::vector<double>& values, std::int64_t iteration);
  void iterate(std::int64_t iteration, bool last);
  /// Has the host draw batch `sequence` of this rank's copy, for all sets.
  void start_draws(std::int64_t sequence, Batch& batch);
  /// What an iteration needs before it computes: the leader's word, and the reads of a batch that begins.
  void begin(std::int64_t iteration);
  void compute(const TrainerTurn& turn, std::int64_t iteration, bool last);
  void write(const PassOutput& output);
  const EventCase& events() const { return *plan_.events; }
  bool pipelined() const { return events().options.pipeline; }

  const GroupPlan& plan_;
  Device& device_;
  Communicator& communicator_;
  EventWeights weights_;
  std::shared_ptr<GroupDrawState> state_;
  BatchLoader loader_;
  // Of a model with memory one of the two: the daemon's copy, or one on this rank's device, which nobody shares.
  std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<NodeMemory> device_memory_;
  std::unique_ptr<EventReplay> replay_;  // of rank 0
  Batch current_, coming_;
  std::int64_t begun_ = 0;                     // iterations whose reads have been asked for
  std::int64_t trained_ = 0;                   // iterations that are done
  std::vector<std::vector<double>> gathered_;  // by rank, what it alone holds; of rank 0
  Tensor batch_loss_, epoch_loss_;
};

}  // namespace strobe
