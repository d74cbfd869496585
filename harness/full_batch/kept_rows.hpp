// Embeddings that outlive the blocks in which they were computed: those of the steps that metrics read, or of all
// steps.
#pragma once

#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

class KeptRows {
 public:
  /// Keeps this rank's embeddings of `steps` (ascending).
  KeptRows(const FullBatchPlan& plan, Device& device, std::vector<Step> steps)
      : plan_(plan), device_(device), steps_(std::move(steps)) {}

  /// Keeps the rows of `steps` among the embeddings [own rows of the block, F]. Blocks come in order. A single block is
  /// kept without a copy.
  void keep(std::size_t block, const Tensor& embeddings);

  /// This rank's embeddings of `steps` (ascending, all of them kept), one step below the other.
  Tensor rows(const std::vector<Step>& steps) const;

 private:
  std::int64_t own_rows(Step t) const { return plan_.strategy.spatial.step_rows(device_.rank(), t); }

  const FullBatchPlan& plan_;
  Device& device_;
  std::vector<Step> steps_;
  std::vector<Tensor> at_step_;  // [steps_]: views
  std::int64_t width_ = 0;
};

}  // namespace strobe
