// The inputs of blocks through a snapshot store: what `transfer` of a case asks for.
#pragma once

#include "harness/inputs/snapshot_store.hpp"
#include "harness/timeline/block_inputs.hpp"

namespace strobe {

/// Whether snapshots move one by one through a store, and not as the rank's part of a block in one piece.
bool moves_snapshots(const Case& c);

/// Whether all blocks' inputs lie on the device from beginning to end: where there is one block, or they are to be
/// resident, and no store brings them.
bool inputs_stay(const PlannedCase& plan);

/// Throws InvalidRequest when the plan's snapshots cannot move one by one: a strategy that divides them, a model with
/// matrices of its own for every step, inputs that stay on the device, values to compare of a graph that is known by
/// its shape only. Notes in the plan what differences of a shape are counted from.
void check_transfer(PlannedCase& plan);

/// Bytes from the hosts to all ranks' devices in one epoch.
struct TransferBytes {
  std::uint64_t snapshots = 0, features = 0;
  std::uint64_t total() const { return snapshots + features; }
};

/// Every block's snapshots and features, each as often as the block is brought (ESDG section 3.2: forward and re-run).
TransferBytes planned_transfer_bytes(const PlannedCase& plan);

/// One rank's inputs.
class BlockStore {
 public:
  /// Prepares all blocks; the plan must outlive the store.
  BlockStore(Device& device, const PlannedCase& plan);

  /// Moves block number `block` in; it lies on the device as long as the result lives.
  BlockInputs bring(std::size_t block, Visit visit);

 private:
  Device& device_;
  const PlannedCase& plan_;
  SnapshotStore snapshots_;
  std::vector<CellRows> cells_;  // [blocks]
};

}  // namespace strobe
