// One pass over a drawn batch: memory is read and updated, roots are embedded and scored.
#pragma once

#include <functional>
#include <memory>

#include "harness/event_batches/trainer/batch_input.hpp"

namespace strobe {

/// What the structure of batches depends on, in the order of the host's work: one for each walk through the events.
struct DrawState {
  DrawState(const EventCase& c, const EventData& data) : drawer(c, data), clock(data.graph->vertices) {}
  BatchDrawer drawer;
  MemoryClock clock;
};

/// A batch that the host draws; `drawn` may be read once `ready` has come.
struct PendingDraw {
  std::shared_ptr<BatchDraw> drawn;
  Event ready;
};

/// What a pass came to.
struct PassOutput {
  Var outputs;     // [E, K] of the task's head; null where nothing is scored
  Var embeddings;  // [R, F]; likewise
  Tensor updated;  // [U, d] memory after the mails; undefined without memory
};

/// About what drawing a batch takes: a search in the adjacency of each root, and the slots that it finds.
Work drawing_work(const EventCase& c, const EventData& data, const BatchWish& wish);

/// Updates the memory that was read for a drawn batch, embeds its roots and scores them. `rows` are empty for a model
/// without memory.
PassOutput compute_batch(const EventCase& c, Tape& tape, const Parameters& parameters, const BatchDraw& drawn,
                         BatchInput& input, const MemoryRows& rows, const Pass& pass);

/// A walk through events in time order on one rank, with memory of its own: through those that are trained on, or
/// through all. The case and its `data` must outlive it.
class EventWalk {
 public:
  EventWalk(const EventCase& c, const EventData& data, Device& device);

  /// Back to the beginning: memory is zero, no mail waits, nothing is drawn.
  void reset();
  /// As if events had passed that left `clock`, over the same events; only while nothing is drawn. Values of the memory
  /// are the caller's to set.
  void start_from(const MemoryClock& clock) { state_->clock = clock; }
  /// Has the host draw a batch, beside whatever is being computed. Batches must be asked for in time order.
  PendingDraw start_draw(const BatchWish& wish);
  /// Computes a batch; the program waits for its draw. `loaded` is called when the host has been given all that the
  /// batch needs of it, before anything is computed: what it gives the host does not hold this batch up.
  PassOutput pass(Tape& tape, const Parameters& parameters, const PendingDraw& draw, const Pass& pass,
                  const std::function<void()>& loaded = {});
  /// Stores what the last pass updated, unless there is no memory.
  void write(const PassOutput& output);
  NodeMemory* memory() { return memory_.get(); }
  const MemoryClock& clock() const { return state_->clock; }

 private:
  const EventCase& case_;
  const EventData& data_;
  Device& device_;
  std::shared_ptr<DrawState> state_;
  BatchLoader loader_;
  std::unique_ptr<NodeMemory> memory_;  // null for models without
  SharedDraw drawn_;                    // of the last pass
  MemoryLists lists_;                   // likewise
};

}  // namespace strobe
