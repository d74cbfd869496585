// Where the arrays of steps lie while a graph is made.
#pragma once

#include <cstddef>
#include <memory>

#include "workloads/graph/graph.hpp"
#include "workloads/storage/pages.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {

/// Under a bound of memory (reading_bound.hpp), steps beyond it move into temporary files. Without one they stay.
class StepShelf {
 public:
  /// The same step. The caller must hold no other copy of it, or its memory stays.
  std::shared_ptr<const Snapshot> keep(std::shared_ptr<const Snapshot> step);

 private:
  template <class T>
  void move_aside(Column<T>& values);

  const ReadingBound* bound_ = reading_bound();
  std::size_t in_memory_ = 0, used_ = 0;  // bytes of steps, and of the block
  std::shared_ptr<const Pages> block_;    // the file that is being filled
};

}  // namespace strobe
