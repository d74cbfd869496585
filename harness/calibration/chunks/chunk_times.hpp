// What a chunk takes: the pass that training makes over it, forward and backward, on one rank's device.
#pragma once

#include <memory>
#include <vector>

#include "harness/calibration/chunks/staged_model.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

/// A device of the case's kind with one kernel thread, and what it takes to run chunks on it alone.
class ChunkBench {
 public:
  /// Throws as the registries and `load_cluster` do.
  explicit ChunkBench(const Case& c);
  ~ChunkBench();
  ChunkBench(const ChunkBench&) = delete;
  ChunkBench& operator=(const ChunkBench&) = delete;

  /// Seconds of rank 0 of a plan of two ranks (plan_chunk_alone), the median of `runs` passes behind one that is not
  /// counted. Rows and states from the other rank are zero; their transfer is no part of it.
  StageSeconds measure(const FullBatchPlan& plan, int runs);
  /// Operations of the last pass.
  const std::vector<Span>& spans() const;

 private:
  bool moves_pieces_;
  std::unique_ptr<Device> device_;
};

}  // namespace strobe
