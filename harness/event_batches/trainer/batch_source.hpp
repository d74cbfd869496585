// Where a rank of a group gets the structure of its batches from: drawn by the host some iterations ahead, or before
// training.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "backends/device.hpp"
#include "harness/event_batches/batches/batch_draw.hpp"
#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/trainer/presampled_batches.hpp"

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

/// What a rank draws for the batch that it begins in iteration `sequence`, with set `set` of negatives.
BatchWish wish_of(const BatchOrder& order, std::int64_t sequence, int rank, std::int64_t set);

/// The draws of a batch, one for each set of negatives; to be read once `ready` has come.
struct DrawnSets {
  std::int64_t sequence = -1;  // -1: none
  std::vector<SharedDraw> draws;
  Event ready;
};

class BatchSource {
 public:
  /// Of rank `rank`; the case must outlive it. Draws what is wanted beforehand. Throws SystemError.
  BatchSource(std::shared_ptr<const EventCase> c, const BatchOrder& order, int rank, Device& device);

  /// The draws of the batch that the rank begins in iteration `sequence`; drawn now unless they were ahead.
  DrawnSets take(std::int64_t sequence);
  /// Has what the rank begins after `iteration` drawn, as far ahead as the case wants.
  void draw_ahead(std::int64_t iteration);
  /// Goes on with batch `sequence`: the clock is moved again from the beginning of its sweep.
  void restart(std::int64_t sequence);
  std::int64_t copy() const { return state_->copy; }

 private:
  DrawnSets start(std::int64_t sequence);
  Event start_draw(std::int64_t sequence, const BatchWish& wish, std::shared_ptr<BatchDraw> drawn);
  void presample();

  std::shared_ptr<const EventCase> case_;
  BatchOrder order_;
  int rank_;
  Device& device_;
  std::int64_t ahead_;  // iterations
  std::int64_t end_;    // behind the last iteration of the run
  std::shared_ptr<GroupDrawState> state_;
  std::deque<DrawnSets> coming_;
  std::shared_ptr<PresampledBatches> presampled_;  // null: drawn while training
};

}  // namespace strobe
