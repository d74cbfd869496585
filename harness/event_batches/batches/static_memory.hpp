// Static node memory that is trained beforehand (DistTGL, section 3.1 and 4.0.1): a vector of each vertex from the
// static graph of the training events, by the task that is trained afterwards. It is frozen, and read like features of
// vertices.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "harness/event_batches/batches/event_case.hpp"

namespace strobe {

/// Trained when it is first asked for, on device cpu in the case's precision and with its threads, and before any
/// measured epoch; the same bits at every number of threads. Shared by ranks.
class StaticMemory {
 public:
  /// Reads the training part of `c` and nothing behind it; `c` without static memory of its own.
  explicit StaticMemory(EventCase c) : case_(std::move(c)) {}

  std::int64_t width() const { return case_.model->traits().static_memory.width; }
  /// Trains, unless that has been done.
  void prepare() const;
  /// The vector of a vertex, [width]; 0 for one that no training event has at either end. After `prepare`.
  const float* row(VertexId vertex) const { return rows_.data() + vertex * width(); }
  /// What the training came to, in words of a row; empty before `prepare`.
  std::string remark() const;

 private:
  EventCase case_;
  mutable std::once_flag trained_;
  mutable std::vector<float> rows_;
  mutable std::string remark_;
};

/// The static memory that the case's model asks for, or null; kept for the next case that asks for the same.
std::shared_ptr<const StaticMemory> static_memory_of(const EventCase& c);

}  // namespace strobe
