// Writes the indices and values that move for one snapshot. Positions ascend, so their rows are found by one walk along
// the row offsets. Cost: O(n + indices written).
#include "workloads/preparation/snapshot_payload.hpp"

#include <span>

namespace strobe {
namespace {

/// A step's part of the graph.
struct Entries {
  std::span<const std::int64_t> offsets;  // [n + 1]
  const VertexId* columns;
  std::int64_t first;

  Entries(const PreparedGraph& graph, Step step)
      : offsets(graph.row_offsets.data() + static_cast<std::int64_t>(step) * graph.vertices,
                static_cast<std::size_t>(graph.vertices) + 1),
        columns(graph.columns.data() + offsets[0]),
        first(offsets[0]) {}
};

/// Rows of the entries at ascending positions.
template <class Index>
void append_rows(std::vector<Index>& to, const Entries& entries, const std::vector<std::int32_t>& positions) {
  std::size_t row = 0;
  for (const std::int32_t position : positions) {
    while (entries.offsets[row + 1] - entries.first <= position) ++row;
    to.push_back(static_cast<Index>(row));
  }
}

/// The row pointers of the entries at ascending positions alone.
void append_pointers(std::vector<std::int32_t>& to, const Entries& entries,
                     const std::vector<std::int32_t>& positions) {
  std::size_t before = 0;
  for (const std::int64_t offset : entries.offsets) {
    while (before < positions.size() && positions[before] < offset - entries.first) ++before;
    to.push_back(static_cast<std::int32_t>(before));
  }
}

template <class Index>
void append_columns(std::vector<Index>& to, const Entries& entries, const std::vector<std::int32_t>& positions) {
  for (const std::int32_t position : positions) to.push_back(static_cast<Index>(entries.columns[position]));
}

template <class T>
std::vector<T> moved_values(const Column<T>& values, std::int64_t first, const GraphDifference& difference) {
  std::vector<T> moved;
  if (values.empty()) return moved;
  moved.reserve(difference.added.size() + difference.changed.size());
  for (const auto* list : {&difference.added, &difference.changed}) {
    for (const std::int32_t position : *list) moved.push_back(values[first + position]);
  }
  return moved;
}

}  // namespace

std::int64_t payload_indices(const DifferenceSizes& sizes, SnapshotTransfer how, TransferFormat format) {
  const bool coo = format == TransferFormat::coo64;
  if (how == SnapshotTransfer::full) return coo ? 2 * sizes.entries : sizes.rows + 1;
  const std::int64_t changed = how == SnapshotTransfer::changed ? sizes.changed : 0;
  if (coo) return 2 * (sizes.removed + sizes.added) + changed;
  return sizes.removed + (added_as_offsets(sizes) ? sizes.rows + 1 : sizes.added) + sizes.added + changed;
}

SnapshotPayload full_payload(const PreparedGraph& graph, Step step, TransferFormat format) {
  SnapshotPayload payload{SnapshotTransfer::full, whole_snapshot(graph, step), {}, {}, {}, {}};
  const Entries entries(graph, step);
  const std::size_t count = payload_indices(payload.sizes, payload.how, format);
  if (format == TransferFormat::csr32) {
    payload.indices32.reserve(count);
    for (const std::int64_t offset : entries.offsets)
      payload.indices32.push_back(static_cast<std::int32_t>(offset - entries.first));
    return payload;
  }
  payload.indices64.reserve(count);
  for (std::size_t row = 0; row + 1 < entries.offsets.size(); ++row) {
    payload.indices64.insert(payload.indices64.end(),
                             static_cast<std::size_t>(entries.offsets[row + 1] - entries.offsets[row]),
                             static_cast<std::int64_t>(row));
  }
  payload.indices64.insert(payload.indices64.end(), entries.columns, entries.columns + payload.sizes.entries);
  return payload;
}

SnapshotPayload difference_payload(const PreparedGraph& graph, const StepPair& pair, const GraphDifference& difference,
                                   SnapshotTransfer how, TransferFormat format) {
  SnapshotPayload payload{how, difference.sizes, {}, {}, {}, {}};
  const Entries from(graph, pair.from), to(graph, pair.to);
  const std::size_t count = payload_indices(payload.sizes, how, format);
  if (format == TransferFormat::coo64) {
    payload.indices64.reserve(count);
    append_rows(payload.indices64, from, difference.removed);
    append_columns(payload.indices64, from, difference.removed);
    append_rows(payload.indices64, to, difference.added);
    append_columns(payload.indices64, to, difference.added);
  } else {
    payload.indices32.reserve(count);
    payload.indices32 = difference.removed;
    added_as_offsets(difference.sizes) ? append_pointers(payload.indices32, to, difference.added)
                                       : append_rows(payload.indices32, to, difference.added);
    append_columns(payload.indices32, to, difference.added);
  }
  if (how != SnapshotTransfer::changed) return payload;
  const auto append_changed = [&](auto& indices) {
    indices.insert(indices.end(), difference.changed.begin(), difference.changed.end());
  };
  format == TransferFormat::coo64 ? append_changed(payload.indices64) : append_changed(payload.indices32);
  payload.values32 = moved_values(graph.values32, to.first, difference);
  payload.values64 = moved_values(graph.values64, to.first, difference);
  return payload;
}

}  // namespace strobe
