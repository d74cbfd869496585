// Measures the time of a chunk: training's pass over it, forward and backward, on one rank's device.
#pragma once

#include <memory>
#include <vector>

#include "harness/calibration/chunks/staged_model.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

/// A device of the case's kind with one kernel thread, set up to run single chunks.
class ChunkBench {
 public:
  /// Throws the exceptions of the registries and of `load_cluster`.
  explicit ChunkBench(const Case& c);
  ~ChunkBench();
  ChunkBench(const ChunkBench&) = delete;
  ChunkBench& operator=(const ChunkBench&) = delete;

  /// Seconds of rank 0 in a plan of two ranks (plan_chunk_alone): the median of `runs` passes after an uncounted one.
  /// Rows and states from the other rank are zero, and their transfer is not included.
  StageSeconds measure(const FullBatchPlan& plan, int runs);
  /// Operations of the last pass.
  const std::vector<Span>& spans() const;

 private:
  bool moves_pieces_;
  std::unique_ptr<Device> device_;
};

}  // namespace strobe
