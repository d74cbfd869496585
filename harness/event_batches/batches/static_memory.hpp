// Static node memory (DistTGL, sections 3.1 and 4.0.1): a vector per vertex. It is trained before the model, on the
// static graph of the training events with the same task. Then it is frozen, and models read it like vertex features.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "harness/event_batches/batches/event_case.hpp"
#include "harness/event_batches/batches/static_training.hpp"
#include "harness/event_batches/batches/vertex_share.hpp"

namespace strobe {

/// Ranks share it. It is trained on first use, on device cpu, before any measured epoch. Its bits do not depend on the
/// number of threads.
class StaticMemory {
 public:
  /// Reads only the events of `source`.
  StaticMemory(StaticTrainingSource source, bool fp64) : source_(std::move(source)), fp64_(fp64) {}

  std::int64_t width() const { return source_.model->traits().static_memory.width; }
  /// Trains with these numbers of threads (DeviceRequest). Does nothing if it has the vectors already. `column` has one
  /// rank of each node. All its ranks call this; they train together, and each keeps the vectors of its node's vertices
  /// (StaticTraining). Null: this rank trains alone, and keeps all vectors.
  void prepare(std::int64_t threads, std::int64_t host_threads, Communicator* column = nullptr) const;
  /// The vector of a kept vertex, [width]; 0 if the vertex has no training event. Call `prepare` before.
  const float* row(VertexId vertex) const { return rows_.data() + kept_.row(vertex) * width(); }
  /// A note for the row about the result of the training; empty before `prepare`.
  std::string remark() const;

 private:
  void train(std::int64_t threads, std::int64_t host_threads, Communicator* column) const;

  mutable StaticTrainingSource source_;  // without its events if the first training was for all vectors
  bool fp64_;
  mutable std::mutex mutex_;
  mutable bool trained_ = false;
  mutable VertexShare kept_;
  mutable std::vector<float> rows_;
  mutable std::string remark_;
};

struct StaticMemoryKey {
  using Value = std::shared_ptr<const StaticMemory>;
  static constexpr std::size_t kept = 1;

  DrawsKey draws;
  KeyOptions model;
  bool fp64 = false;

  bool operator==(const StaticMemoryKey&) const = default;
  Value make(const DataCache& cache) const;
};

/// The static memory that the case's model needs, or null.
std::shared_ptr<const StaticMemory> static_memory_of(const EventCase& c, const DataCache& cache);

}  // namespace strobe
