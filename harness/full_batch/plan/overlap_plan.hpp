// Overlap: a rank's steps of a block are cut into slices. The spatial stage of one slice is computed while the
// redistribution of others is under way (ESDG section 6.5, future work).
#pragma once

#include <string>
#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

struct FullBatchCase;  // harness/full_batch/plan/full_batch_case.hpp
struct BlockPlan;      // harness/full_batch/plan/block_plan.hpp

/// One slice of a block, for all ranks. Its placements have the block's steps; steps of other slices have no owner.
struct SlicePlan {
  Placement spatial;
  HaloNeeds needs;
  ExchangePlan halo;         // the identity if the block's halo is
  ExchangePlan to_temporal;  // from the slice's rows into the block's
  ExchangePlan to_spatial;   // from the block's rows into the slice's
};

/// The slices of `block`, whose other exchanges must exist already. There are as many as the case requests, but not
/// more than the steps of a rank. Empty if one is enough, or if no rows change ranks between the stages. Throws
/// InvalidRequest("/overlap") if the block cannot be cut. Cost: that of the block's exchanges for each slice.
std::vector<SlicePlan> derive_slices(const FullBatchCase& c, const BlockPlan& block, const ListScope& scope);

/// A note if the case requests an overlap that none of its blocks has, else "".
std::string overlap_note(const FullBatchCase& c, const std::vector<BlockPlan>& blocks);

}  // namespace strobe
