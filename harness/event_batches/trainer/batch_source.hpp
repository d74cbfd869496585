// Draws the structure of a rank's batches on the host: some iterations ahead, or before training.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "backends/device.hpp"
#include "harness/event_batches/batches/batch_draw.hpp"
#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/trainer/presampled_batches.hpp"

namespace strobe {

/// The state of drawing the batches of a walk through the events, in their order.
struct WalkState {
  WalkState(const EventCase& c, const EventData& data) : drawer(c, data), clock(data.graph->vertices) {}
  virtual ~WalkState() = default;
  /// Moves the clock to the moment when batch `sequence` is read.
  virtual void move_to(std::int64_t sequence, const EventData& data) = 0;

  BatchDrawer drawer;
  MemoryClock clock;
};

/// The state of drawing a rank's batches: the clock of its copy, which moves from batch to batch in the copy's order.
struct GroupDrawState final : WalkState {
  GroupDrawState(const EventCase& c, const BatchOrder& of_batches, std::int64_t number)
      : WalkState(c, c.training), order(of_batches), copy(number), width(c.model->traits().memory) {}
  /// The clock can go back only to the beginning of a sweep.
  void move_to(std::int64_t sequence, const EventData& data) override;

  BatchOrder order;
  std::int64_t copy;
  std::int64_t width;     // of memory; 0: there are no mails
  std::int64_t next = 0;  // the first batch that the clock has not passed
};

/// The moments of training on one copy of the memory.
class TrainingMoments final : public MemoryMoments {
 public:
  explicit TrainingMoments(const BatchOrder& order) : order_(order) {}
  TakenEvents taken(std::int64_t sequence) const override {
    return {0, order_.batch_at(0, sequence) * order_.whole_batch()};
  }
  EdgeId batch_begin(EdgeId event) const override { return event / order_.whole_batch() * order_.whole_batch(); }

 private:
  BatchOrder order_;
};

/// The draw of a rank for the batch that it begins in iteration `sequence`, with set `set` of negatives.
BatchRequest request_of(const BatchOrder& order, std::int64_t sequence, int rank, std::int64_t set);

/// The number of iterations that draws begin ahead of training. `joint_steps`: of a joint draw (JointDraws::steps);
/// 0: each rank draws alone.
std::int64_t draws_ahead(const EventBatchOptions& options, std::int64_t j, std::int64_t joint_steps);

/// The most draws that a rank of GroupTrainer holds amid an epoch, each for one set of negatives: those of the batch in
/// training, those ahead of it, and a last set of the batch before, while its backward pass runs.
struct HeldDraws {
  std::int64_t made = 0;       // they have all their lists
  std::int64_t under_way = 0;  // they have what their drawers keep

  std::int64_t all() const { return made + under_way; }
};
HeldDraws held_draws(const EventBatchOptions& options, std::int64_t j, std::int64_t joint_steps);

/// The draws of a batch, one for each set of negatives; they may be read after `ready`.
struct DrawnSets {
  std::int64_t sequence = -1;  // -1: none
  std::vector<SharedDraw> draws;
  DeviceEvent ready;
};

/// Draws that all ranks make together, because each holds a part of the events. Their messages travel during training.
/// All ranks call these functions in the same order, for the same iterations.
class JointDraws {
 public:
  virtual ~JointDraws() = default;
  /// Begins to draw the batch that this rank begins in iteration `sequence`: for each request, a draw that comes into
  /// `drawn`. Gives other ranks what they need for theirs. Both lists are empty if this rank begins no batch there.
  virtual void start(std::int64_t sequence, const std::vector<BatchRequest>& requests,
                     std::vector<std::shared_ptr<BatchDraw>> drawn) = 0;
  /// Takes one step of every draw under way: the messages of its last step have had the time since then.
  virtual void advance() = 0;
  /// Ends the draws of all iterations up to `iteration`.
  virtual void finish(std::int64_t iteration) = 0;
  /// The number of steps that a draw takes.
  virtual std::int64_t steps() const = 0;
};

class EventBatchSource {
 public:
  /// Draws for rank `rank`. With `presample`, it draws all batches now, and throws SystemError if a file of them cannot
  /// be written.
  EventBatchSource(std::shared_ptr<const EventCase> c, const BatchOrder& order, int rank, Device& device);

  /// Draws together with the other ranks from now on, without `presample`. All ranks call `meet`, `advance`,
  /// `draw_ahead` and `restart` at the same points of the same iterations.
  void join(std::unique_ptr<JointDraws> joint);
  /// Ends the joint draws of all iterations up to `iteration`.
  void meet(std::int64_t iteration);
  /// Takes one step of the joint draws under way.
  void advance() {
    if (joint_ != nullptr) joint_->advance();
  }
  /// The draws of the batch that the rank begins in iteration `sequence`. Draws them now unless they were drawn ahead.
  DrawnSets take(std::int64_t sequence);
  /// Starts to draw the batches that the rank begins after `iteration`, as far ahead as the case says. Joint draws end
  /// with iteration `epoch_end` - 1, so that every epoch sends its own messages.
  void draw_ahead(std::int64_t iteration, std::int64_t epoch_end);
  /// Continues in `iteration` with batch `sequence`, which this rank may have begun before. The clock moves there again
  /// from the beginning of its sweep. Joint draws of all batches in training are made again.
  void restart(std::int64_t sequence, std::int64_t iteration);
  std::int64_t copy() const { return order_.groups().copy_of(rank_); }

 private:
  DrawnSets start(std::int64_t sequence);
  void start_jointly(std::int64_t sequence);
  void start_jointly_to(std::int64_t last);
  DeviceEvent start_draw(std::int64_t sequence, const BatchRequest& request, std::shared_ptr<BatchDraw> drawn);
  void presample();
  const std::shared_ptr<GroupDrawState>& state();

  std::shared_ptr<const EventCase> case_;
  BatchOrder order_;
  int rank_;
  Device& device_;
  std::int64_t ahead_;                     // iterations
  std::int64_t end_;                       // number of iterations of the run
  std::shared_ptr<GroupDrawState> state_;  // null until the rank draws alone
  std::deque<DrawnSets> coming_;
  std::unique_ptr<JointDraws> joint_;              // null: each rank draws alone
  std::int64_t joined_ = 0;                        // iterations whose joint draws have begun
  std::shared_ptr<PresampledBatches> presampled_;  // null: drawn while training
};

}  // namespace strobe
