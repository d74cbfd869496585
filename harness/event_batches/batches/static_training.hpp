// Trains static vectors on the graph of the training events. Consecutive events form a batch, and batches come in
// random order. Neighbours are any training events of a root except the one to predict.
#pragma once

#include <vector>

#include "core/system/parallel.hpp"
#include "harness/event_batches/batches/event_data.hpp"
#include "models/optimizers/optimizer.hpp"

namespace strobe {

/// Everything that static vectors depend on.
struct StaticTrainingSource {
  EventData events;  // of training
  std::shared_ptr<const EventModel> model;
  std::shared_ptr<const EventTask> task;
  std::uint64_t seed = 0;

  EdgeId training_events() const { return events.task->split.train_end; }
};

class StaticTraining {
 public:
  /// `device` needs values. Both must outlive it.
  StaticTraining(const StaticTrainingSource& source, Device& device, std::int64_t host_threads);

  /// Trains on every training event once. Returns the mean loss per event.
  double epoch(std::int64_t number);
  /// The table [N, d]; 0 for vertices without a training event.
  std::vector<float> rows();

 private:
  /// A batch: roots as in BatchDraw, their slots, and the distinct vertices among both.
  struct Draw {
    EdgeId first = 0;
    std::int64_t count = 0, candidates = 1;
    std::vector<VertexId> roots, slots;
    std::vector<std::int64_t> offsets, vertices, root_rows, slot_rows;
  };

  Draw draw(std::int64_t epoch, std::int64_t batch);
  void ask(std::int64_t epoch, Draw& drawn, std::vector<EdgeId>& asked_of) const;
  void number_vertices(Draw& drawn);
  /// One update with the batch's loss.
  void train(const Draw& drawn);

  const StaticTrainingSource& source_;
  Device& device_;
  StaticMemoryRequest request_;
  Workers workers_;
  std::vector<std::int64_t> row_, seen_;  // [N] row of a vertex in the batch; the draw that set it
  std::int64_t draws_ = 0;
  Parameters parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  Tensor batch_loss_, epoch_loss_;
};

}  // namespace strobe
