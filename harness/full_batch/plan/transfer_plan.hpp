// How snapshots reach the devices: the `transfer` of a case, and the bytes that it takes.
#pragma once

#include <vector>

#include "harness/full_batch/inputs/snapshot_store.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"

namespace strobe {

/// Whether all blocks' inputs lie on the device from beginning to end. They do if there is one block, or if they are to
/// be resident, and no store brings them.
bool inputs_stay(const FullBatchPlan& plan);

/// Throws InvalidRequest if the case's snapshots cannot move one by one. Reasons: a strategy that divides them, a model
/// with a matrix of its own for every step, inputs that stay on the device, or values to compare in a graph that is
/// known by its shape only. Adds a note on the source of a shape's differences.
void check_transfer(const FullBatchCase& c, const std::vector<BlockPlan>& blocks, std::vector<std::string>& notes);

/// Bytes from the hosts to all ranks' devices in one epoch.
struct TransferBytes {
  std::uint64_t snapshots = 0, features = 0;
  std::uint64_t total() const { return snapshots + features; }
};

/// Every block's snapshots and features, each as often as the block is brought (ESDG section 3.2: forward and re-run).
TransferBytes planned_transfer_bytes(const FullBatchPlan& plan);

/// The settings of the snapshot store for this case.
TransferChoice choice_of(const FullBatchCase& c);

/// The steps that `rank` holds, by block. Throws InvalidRequest if a strategy divides steps.
std::vector<HeldSteps> held_blocks(const std::vector<BlockPlan>& blocks, Rank rank);

}  // namespace strobe
