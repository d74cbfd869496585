// Fusion by the measured bytes of chunks, instead of bytes that follow from their sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

/// The plan for the measurement, in which units of spatial stages are single chunks: fusion=none in place of spatial,
/// fusion=temporal in place of both.
std::shared_ptr<FullBatchPlan> plan_chunks_alone(const FullBatchPlan& plan);

/// `plan` with chunks merged by their measured bytes. `bytes` is [P][parts of the rank's chunks, block by block, chunks
/// ascending], measured one by one. Blocks in which no rank has several parts
/// have no entries. Planned bytes count there, and for a rank with an empty list. The bytes of a merged unit are
/// planned as before, plus the bytes that its chunks took beyond their planned bytes.
std::shared_ptr<FullBatchPlan> fuse_as_measured(const FullBatchPlan& plan,
                                                const std::vector<std::vector<std::uint64_t>>& bytes);

}  // namespace strobe
