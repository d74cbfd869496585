// How snapshots reach the devices: what `transfer` of a case asks for, and the bytes that it will take.
#pragma once

#include <vector>

#include "harness/inputs/snapshot_store.hpp"
#include "harness/plan/planned_case.hpp"

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

/// What a snapshot store is to do for this plan.
TransferChoice choice_of(const PlannedCase& plan);

/// [blocks] the steps that `rank` holds. Throws InvalidRequest where a strategy divides steps.
std::vector<HeldSteps> held_blocks(const PlannedCase& plan, Rank rank);

}  // namespace strobe
