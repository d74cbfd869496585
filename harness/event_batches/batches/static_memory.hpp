// Static node memory that is trained beforehand (DistTGL, section 3.1 and 4.0.1): a vector of each vertex from the
// static graph of the training events, by the task that is trained afterwards. It is frozen, and read like features of
// vertices.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "harness/event_batches/batches/event_case.hpp"
#include "harness/event_batches/batches/static_training.hpp"

namespace strobe {

/// Trained when it is first asked for, on device cpu, and before any measured epoch; the same bits at every number of
/// threads. Shared by ranks.
class StaticMemory {
 public:
  /// Reads the events of `source` and nothing behind them.
  StaticMemory(StaticTrainingSource source, bool fp64) : source_(std::move(source)), fp64_(fp64) {}

  std::int64_t width() const { return source_.model->traits().static_memory.width; }
  /// Trains with so many threads (DeviceRequest), unless that has been done.
  void prepare(std::int64_t threads, std::int64_t host_threads) const;
  /// The vector of a vertex, [width]; 0 for one that no training event has at either end. After `prepare`.
  const float* row(VertexId vertex) const { return rows_.data() + vertex * width(); }
  /// A sentence for the row about the result of the training; empty before `prepare`.
  std::string remark() const;

 private:
  mutable StaticTrainingSource source_;  // without events once they were trained on
  bool fp64_;
  mutable std::once_flag trained_;
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

/// The static memory that the case's model asks for, or null.
std::shared_ptr<const StaticMemory> static_memory_of(const EventCase& c, const DataCache& cache);

}  // namespace strobe
