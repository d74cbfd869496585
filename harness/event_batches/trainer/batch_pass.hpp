// One pass over a drawn batch: reads and updates memory, then embeds and scores the roots.
#pragma once

#include <functional>
#include <memory>

#include "harness/event_batches/trainer/batch_input.hpp"

namespace strobe {

/// The state of drawing batches. Each walk through the events has one, which host tasks use in order.
struct DrawState {
  DrawState(const EventCase& c, const EventData& data) : drawer(c, data), clock(data.graph->vertices) {}
  BatchDrawer drawer;
  MemoryClock clock;
};

/// A batch that the host draws; `drawn` may be read after `ready`.
struct PendingDraw {
  std::shared_ptr<BatchDraw> drawn;
  DeviceEvent ready;
};

struct PassOutput {
  Var outputs;     // [E, K] of the task's head; null if nothing is scored
  Var embeddings;  // [R, F]; null if nothing is scored
  Tensor updated;  // [U, d] memory after the mails; undefined without memory
};

/// The approximate work of drawing a batch: a search in the adjacency of each root, and the slots found.
Work drawing_work(const EventCase& c, const EventData& data, const BatchRequest& request);

/// Updates the memory `rows` of a drawn batch, embeds its roots and scores them. `rows` are empty for a model without
/// memory.
PassOutput compute_batch(const EventCase& c, Tape& tape, const Parameters& parameters, const BatchDraw& drawn,
                         BatchInput& input, const MemoryRows& rows, const Pass& pass);

/// A walk through all or the training events in time order, on one rank with memory of its own. The case and its `data`
/// must outlive it.
class EventWalk {
 public:
  EventWalk(const EventCase& c, const EventData& data, Device& device);

  /// Goes back to the beginning: sets memory and mails to zero.
  void reset();
  /// Continues after the events that left `clock`, a clock over the same events. No draw may be pending. The caller
  /// sets the values of the memory.
  void start_from(const MemoryClock& clock) { state_->clock = clock; }
  /// The host draws a batch while the device computes. Batches must be requested in time order.
  PendingDraw start_draw(const BatchRequest& request);
  /// Waits for the batch's draw and computes the batch. `loaded` is called after all host tasks of this batch are
  /// submitted, and before it is computed. So host tasks that `loaded` submits do not delay this batch.
  PassOutput pass(Tape& tape, const Parameters& parameters, const PendingDraw& draw, const Pass& pass,
                  const std::function<void()>& loaded = {});
  /// Stores the updates of the last pass; does nothing without memory.
  void write(const PassOutput& output);
  NodeMemory* memory() { return memory_.get(); }
  const MemoryClock& clock() const { return state_->clock; }

 private:
  const EventCase& case_;
  const EventData& data_;
  Device& device_;
  std::shared_ptr<DrawState> state_;
  BatchLoader loader_;
  std::unique_ptr<NodeMemory> memory_;  // null for models without memory
  SharedDraw drawn_;                    // of the last pass
  MemoryLists lists_;                   // of the last pass
};

}  // namespace strobe
