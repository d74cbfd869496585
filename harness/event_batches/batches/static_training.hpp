// Trains static vectors on the graph of the training events. Consecutive events form a batch, and batches come in
// random order. Neighbours are any training events of a root except the one to predict.
//
// The vectors may lie by node: vertex v on node v mod the number of nodes, with its gradient and moments. The nodes
// then train together. For each batch they send each other the vectors that it reads. Each computes the whole batch,
// and updates its own vectors. So all vectors have the same bits as on one node.
#pragma once

#include <vector>

#include "backends/communicator.hpp"
#include "core/system/parallel.hpp"
#include "harness/event_batches/batches/event_data.hpp"
#include "harness/event_batches/batches/vertex_numbers.hpp"
#include "harness/event_batches/batches/vertex_share.hpp"
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
  /// `device` needs values. `column` has one rank of each node, and they train together; null: this rank has all
  /// vectors. All three must outlive it. Memory: values, gradients and two moments of the node's vectors.
  StaticTraining(const StaticTrainingSource& source, Device& device, std::int64_t host_threads, Communicator* column);

  /// Trains on every training event once. Returns the mean loss per event.
  double epoch(std::int64_t number);
  /// The vectors of this node's vertices [N / nodes, d]; 0 for vertices without a training event.
  std::vector<float> rows();

 private:
  /// A batch: roots as in BatchDraw, their slots, and the distinct vertices among both.
  struct Draw {
    EdgeId first = 0;
    std::int64_t count = 0, candidates = 1;
    std::vector<VertexId> roots, slots, vertices;
    std::vector<std::int64_t> offsets, root_rows, slot_rows;
  };

  Draw draw(std::int64_t epoch, std::int64_t batch);
  void ask(std::int64_t epoch, Draw& drawn, std::vector<EdgeId>& asked_of) const;
  void number_vertices(Draw& drawn);
  /// Drops the spans of a batch, which nobody reads.
  void forget_spans();
  /// One update with the batch's loss.
  void train(const Draw& drawn);
  /// The vectors of vertices, [U, d].
  Var vectors_of(Tape& tape, const std::vector<VertexId>& vertices);
  /// The same from all nodes. `own`: the rows of this node's vertices among them, in their order.
  Tensor from_nodes(const std::vector<VertexId>& vertices, const Tensor& own);

  const StaticTrainingSource& source_;
  Device& device_;
  Communicator* column_;
  VertexShare share_;  // of this node
  StaticMemoryRequest request_;
  Workers workers_;
  VertexNumbers numbers_;  // of a batch's vertices
  Parameters parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  Tensor batch_loss_, epoch_loss_;
};

}  // namespace strobe
