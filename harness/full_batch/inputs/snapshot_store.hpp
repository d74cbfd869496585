// A rank's part of the graph on its device, one block of steps at a time (ESDG sections 3.1, 3.2). Snapshots move in
// one after the other, whole or as the difference to the previous snapshot, and the device rebuilds them. The first
// snapshot of a block always moves whole. Every byte that moves leaves a transfer span, on every device.
#pragma once

#include <string>
#include <vector>

#include "backends/device.hpp"
#include "backends/operations/operations_store.hpp"
#include "harness/full_batch/inputs/local_graph.hpp"
#include "harness/placement/placement.hpp"
#include "workloads/preparation/snapshot_payload.hpp"

namespace strobe {

/// How snapshots reach the device.
struct TransferChoice {
  std::string method = "full";  // full | difference | changed | least (the one that moves the fewest bytes)
  TransferFormat format = TransferFormat::csr32;
  std::vector<std::int64_t> removed = {};  // [T], for a graph known by its counts: entries that a step removes
};

/// The steps of one block, and the steps among them at which a rank holds all vertices.
struct HeldSteps {
  std::int64_t first_step = 0, steps = 0;
  std::vector<Step> held;  // ascending, numbered as in the graph
};

/// The steps of a block that `rank` holds under `placement`. Step t of the placement is the graph's step first_step +
/// t. Throws InvalidRequest("/transfer") if the rank holds only a part of a snapshot.
HeldSteps held_steps(const Placement& placement, Rank rank, std::int64_t first_step);

/// How each snapshot of a block that a rank holds is moved, and its counts. Reads only the graph's structure and
/// values, so it is the same with and without numerics. Cost O(non-zeros of the block).
struct PlannedSnapshot {
  Step step = 0;
  SnapshotTransfer how = SnapshotTransfer::full;
  DifferenceSizes sizes;
};
std::vector<PlannedSnapshot> plan_snapshots(const PreparedGraph& graph, const HeldSteps& block,
                                            const TransferChoice& choice);

/// Bytes of values and indices of planned snapshots.
std::uint64_t planned_bytes(const std::vector<PlannedSnapshot>& snapshots, TransferFormat format,
                            std::uint64_t value_bytes);

class SnapshotStore {
 public:
  /// Prepares the data to move for each of the rank's blocks; `graph` must outlive the store. With `structure` false no
  /// layer multiplies with A~, so only features move. Cost O(the rank's non-zeros), once.
  SnapshotStore(Device& device, const PreparedGraph& graph, const std::vector<HeldSteps>& blocks,
                const TransferChoice& choice, bool structure);

  /// Moves block number `block` in and makes its matrix, in plain CSR. Its device memory lives as long as the result.
  LocalGraph bring(std::size_t block);

  /// Bytes that `bring` moves: snapshots as planned, and features.
  std::uint64_t bytes(std::size_t block) const;

 private:
  struct Block {
    HeldSteps steps;
    std::vector<SnapshotPayload> payloads;  // [held]; without indices when the device has no values
    Tensor step_rows, step_halo;            // stay on the device
  };

  /// The matrix that is being filled.
  struct Growing {
    SparseMatrix a;
    std::int64_t entries = 0;  // of the snapshots added so far
    std::int64_t rows = 0;
  };

  Block prepare(const HeldSteps& steps) const;
  SparseMatrix begin_matrix(const Block& block) const;
  void add_full(const SnapshotPayload& payload, Step step, Growing& growing);
  void add_difference(const SnapshotPayload& payload, Step step, Growing& growing);
  /// Sets the removed and added entries from the payload's `indices`. Returns the number of indices that it used.
  std::int64_t take_indices(const DifferenceSizes& sizes, const Tensor& indices, std::int64_t first_column,
                            ApplyDifference& op);
  Tensor stream_indices(const SnapshotPayload& payload);
  void stream_values(Step step, const Tensor& to);
  Tensor stream_cells(const HeldSteps& steps, const Column<float>& all32, const Column<double>& all64);

  Device& device_;
  const PreparedGraph& graph_;
  TransferChoice choice_;
  bool structure_;
  std::vector<Block> blocks_;
};

}  // namespace strobe
