// The data that is written for one snapshot on its way to a device (graph_difference.hpp has the bytes of each way).
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/preparation/graph_difference.hpp"

namespace strobe {

/// Indices, and those values that do not lie in one piece in the graph. Indices are in this order:
/// coo64 full: rows [z], columns [z];
/// coo64 difference: rows and columns of removed entries, rows and columns of added entries, positions of changed ones;
/// csr32 full: row pointers [n + 1] (columns come from the graph itself);
/// csr32 difference: positions of removed entries, rows of added entries (or row pointers, `added_as_offsets`), columns
/// of added entries, positions of changed ones.
/// Values of `changed`: of added entries, then of changed ones. Full snapshots and `difference` take the graph's own.
struct SnapshotPayload {
  SnapshotTransfer how = SnapshotTransfer::full;
  DifferenceSizes sizes;
  std::vector<std::int32_t> indices32;  // csr32
  std::vector<std::int64_t> indices64;  // coo64
  std::vector<float> values32;          // `changed`, fp32
  std::vector<double> values64;         // `changed`, fp64
};

/// Indices of the payload, by the sizes alone.
std::int64_t payload_indices(const DifferenceSizes& sizes, SnapshotTransfer how, TransferFormat format);

/// The whole snapshot of step `step`.
SnapshotPayload full_payload(const PreparedGraph& graph, Step step, TransferFormat format);

/// Step `pair.to` from step `pair.from`, by `difference` or `changed`. The latter needs a difference with values.
SnapshotPayload difference_payload(const PreparedGraph& graph, const StepPair& pair, const GraphDifference& difference,
                                   SnapshotTransfer how, TransferFormat format);

}  // namespace strobe
