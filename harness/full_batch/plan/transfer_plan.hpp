// How snapshots reach the devices: what `transfer` of a case asks for, and the bytes that it will take.
#pragma once

#include <vector>

#include "harness/full_batch/inputs/snapshot_store.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

/// Whether all blocks' inputs lie on the device from beginning to end: where there is one block, or they are to be
/// resident, and no store brings them.
bool inputs_stay(const FullBatchPlan& plan);

/// Throws InvalidRequest when the case's snapshots cannot move one by one: a strategy that divides them, a model with
/// matrices of its own for every step, inputs that stay on the device, values to compare of a graph that is known by
/// its shape only. Notes what differences of a shape are counted from.
void check_transfer(const FullBatchCase& c, const std::vector<BlockPlan>& blocks, std::vector<std::string>& notes);

/// Bytes from the hosts to all ranks' devices in one epoch.
struct TransferBytes {
  std::uint64_t snapshots = 0, features = 0;
  std::uint64_t total() const { return snapshots + features; }
};

/// Every block's snapshots and features, each as often as the block is brought (ESDG section 3.2: forward and re-run).
TransferBytes planned_transfer_bytes(const FullBatchPlan& plan);

/// What a snapshot store is to do for this case.
TransferChoice choice_of(const FullBatchCase& c);

/// [blocks] the steps that `rank` holds. Throws InvalidRequest where a strategy divides steps.
std::vector<HeldSteps> held_blocks(const std::vector<BlockPlan>& blocks, Rank rank);

}  // namespace strobe
