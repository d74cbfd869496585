// The difference of two snapshots (ESDG section 3.2): what has to reach a device that holds the earlier one so that it
// can make the later one; and the bytes that each way of moving a snapshot costs (decisions section 2).
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/preparation/preprocess.hpp"

namespace strobe {

/// How one snapshot reaches the device.
enum class SnapshotTransfer : std::uint8_t {
  full,        // all indices and values
  difference,  // indices of removed entries, indices of added entries, all values (ESDG)
  changed,     // as difference, but only the values of added entries and of common entries whose value differs
};

/// How indices are written on the way.
enum class TransferFormat : std::uint8_t {
  coo64,  // every index is a row and a column of 8 bytes, as in torch.sparse; positions of changed values 8 bytes
  csr32,  // 4-byte columns under 4-byte row pointers; 4-byte positions name entries that the device already has
};

/// Counts of one snapshot from which its bytes follow. Those of an earlier snapshot and the difference are zero without
/// an earlier one.
struct DifferenceSizes {
  std::int64_t rows = 0;
  std::int64_t entries = 0;  // z of the snapshot
  std::int64_t before = 0;   // z of the earlier snapshot
  std::int64_t removed = 0;  // entries of the earlier snapshot alone
  std::int64_t added = 0;    // entries of the snapshot alone
  std::int64_t changed = 0;  // common entries whose value differs
  friend bool operator==(const DifferenceSizes&, const DifferenceSizes&) = default;
};

/// Whether csr32 writes the rows of added entries as row pointers [rows + 1] instead of one row an entry: whichever is
/// shorter.
bool added_as_offsets(const DifferenceSizes& sizes);

/// Bytes on the way, W = `value_bytes`, of z entries in n rows. With r removed, a added, c changed entries:
/// coo64: full (16 + W) z; difference 16 (r + a) + W z; changed 16 (r + a) + W a + (8 + W) c;
/// csr32: full 4 (n + 1) + (4 + W) z; difference 4 r + 4 a + 4 min(a, n + 1) + W z;
///        changed 4 r + 4 a + 4 min(a, n + 1) + W a + (4 + W) c.
std::uint64_t transfer_bytes(const DifferenceSizes& sizes, SnapshotTransfer how, TransferFormat format,
                             std::uint64_t value_bytes);

/// The way with the fewest bytes; of equals the first of the enumeration.
SnapshotTransfer cheapest_transfer(const DifferenceSizes& sizes, TransferFormat format, std::uint64_t value_bytes);

/// The difference as ascending positions: an entry's position counts from its snapshot's first entry.
struct GraphDifference {
  DifferenceSizes sizes;
  std::vector<std::int32_t> removed;  // in the earlier snapshot
  std::vector<std::int32_t> added;    // in the later snapshot
  std::vector<std::int32_t> changed;  // in the later snapshot; bit patterns of the values differ
};

/// Two steps of one graph: the earlier, and the one to be made from it.
struct StepPair {
  Step from = 0, to = 0;
};

/// The differences of the pairs, in their order. Values are compared only with `values`; without it, `changed` is empty
/// and its count 0. Runs on `workload_threads()` threads. Cost: one pass over the columns (and values) of both
/// snapshots. Throws InvalidRequest when a snapshot has more than 2^31 - 1 entries.
std::vector<GraphDifference> find_differences(const PreparedGraph& graph, const std::vector<StepPair>& pairs,
                                              bool values);

/// The same counts without the lists.
std::vector<DifferenceSizes> count_differences(const PreparedGraph& graph, const std::vector<StepPair>& pairs,
                                               bool values);

/// The counts of a snapshot that has no earlier one.
DifferenceSizes whole_snapshot(const PreparedGraph& graph, Step step);

}  // namespace strobe
