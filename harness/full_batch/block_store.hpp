// The inputs of blocks through a snapshot store, as `transfer` of a case requests.
#pragma once

#include "harness/full_batch/block_inputs.hpp"
#include "harness/full_batch/inputs/snapshot_store.hpp"
#include "harness/full_batch/plan/transfer_plan.hpp"

namespace strobe {

/// One rank's inputs.
class BlockStore {
 public:
  /// Prepares all blocks; the plan must outlive the store.
  BlockStore(Device& device, const FullBatchPlan& plan);

  /// Moves block number `block` in. It lies on the device as long as the result lives.
  BlockInputs bring(std::size_t block, Visit visit);

 private:
  Device& device_;
  const FullBatchPlan& plan_;
  SnapshotStore snapshots_;
  std::vector<CellRows> cells_;  // [blocks]
};

}  // namespace strobe
