// Fusion by what chunks were measured to take, in place of what follows from their sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

/// The plan whose units of spatial stages are single chunks, in which they are measured: as fusion=none for spatial,
/// as fusion=temporal for both.
std::shared_ptr<const FullBatchPlan> plan_chunks_alone(const FullBatchPlan& plan);

/// `plan` with chunks merged by `bytes` [P][chunks of the rank, ascending], which its chunks took one by one; a rank's
/// list is empty where nothing was measured, and planned bytes stand. What a merged unit takes is planned as before,
/// and what its chunks took beyond their planned bytes is added.
std::shared_ptr<const FullBatchPlan> fuse_as_measured(const FullBatchPlan& plan,
                                                      const std::vector<std::vector<std::uint64_t>>& bytes);

}  // namespace strobe
