// Brings blocks of snapshots to the device. A snapshot's indices move in one piece, and its values move straight to
// their place. Operations of backends/operations/operations_store.hpp make rows of the matrix from them. Invariant:
// `bring` returns the same matrix, entry for entry, with every method and format. Cost on the device: the block's
// matrix, and the indices of one snapshot at a time.
#include "harness/full_batch/inputs/snapshot_store.hpp"

#include <limits>

#include "core/errors.hpp"
#include "workloads/shape/shape_difference.hpp"

namespace strobe {
namespace {

std::vector<StepPair> neighbours(const HeldSteps& block) {
  std::vector<StepPair> pairs;
  for (std::size_t i = 1; i < block.held.size(); ++i) pairs.push_back({block.held[i - 1], block.held[i]});
  return pairs;
}

std::uint64_t value_bytes(const PreparedGraph& graph) { return graph.values64.empty() ? 4 : 8; }

SnapshotTransfer chosen(const DifferenceSizes& sizes, const TransferChoice& choice, std::uint64_t bytes) {
  if (choice.method == "least") return cheapest_transfer(sizes, choice.format, bytes);
  return choice.method == "changed" ? SnapshotTransfer::changed : SnapshotTransfer::difference;
}

/// Host values from index `first` on; null for a graph that is known by its counts only.
template <class T>
const void* behind(const Column<T>& values, std::int64_t first) {
  return values.empty() ? nullptr : values.data() + first;
}

std::int64_t first_entry(const PreparedGraph& graph, Step step) {
  return graph.has_structure() ? graph.row_offsets[step * graph.vertices] : 0;
}

/// Whether the method reads values.
bool compares_values(const TransferChoice& choice) { return choice.method == "changed" || choice.method == "least"; }

}  // namespace

HeldSteps held_steps(const Placement& placement, Rank rank, std::int64_t first_step) {
  HeldSteps block{first_step, placement.steps(), {}};
  for (Step t = 0; t < placement.steps(); ++t) {
    const std::int64_t rows = placement.step_rows(rank, t);
    if (rows == placement.vertices) block.held.push_back(static_cast<Step>(first_step + t));
    if (rows == 0 || rows == placement.vertices) continue;
    throw InvalidRequest("/transfer",
                         "snapshots are moved one by one only to ranks that hold whole snapshots, and this strategy "
                         "divides a snapshot among ranks; use transfer=direct");
  }
  return block;
}

std::vector<PlannedSnapshot> plan_snapshots(const PreparedGraph& graph, const HeldSteps& block,
                                            const TransferChoice& choice) {
  std::vector<PlannedSnapshot> snapshots;
  if (block.held.empty()) return snapshots;
  std::vector<DifferenceSizes> sizes;
  if (choice.method != "full" && !graph.has_structure()) {
    sizes = counted_differences(graph, choice.removed, neighbours(block));
  } else if (choice.method != "full") {
    sizes = count_differences(graph, neighbours(block), compares_values(choice));
  }
  for (std::size_t i = 0; i < block.held.size(); ++i) {
    if (i == 0 || choice.method == "full") {
      snapshots.push_back({block.held[i], SnapshotTransfer::full, whole_snapshot(graph, block.held[i])});
    } else {
      snapshots.push_back({block.held[i], chosen(sizes[i - 1], choice, value_bytes(graph)), sizes[i - 1]});
    }
  }
  return snapshots;
}

std::uint64_t planned_bytes(const std::vector<PlannedSnapshot>& snapshots, TransferFormat format,
                            std::uint64_t value_bytes) {
  std::uint64_t sum = 0;
  for (const PlannedSnapshot& one : snapshots) sum += transfer_bytes(one.sizes, one.how, format, value_bytes);
  return sum;
}

SnapshotStore::SnapshotStore(Device& device, const PreparedGraph& graph, const std::vector<HeldSteps>& blocks,
                             const TransferChoice& choice, bool structure)
    : device_(device), graph_(graph), choice_(choice), structure_(structure) {
  for (const HeldSteps& steps : blocks) blocks_.push_back(prepare(steps));
}

SnapshotStore::Block SnapshotStore::prepare(const HeldSteps& steps) const {
  Block block{steps, {}, {}, {}};
  const PartScope part(device_, MemoryPart::graph);
  if (!structure_) return block;
  if (static_cast<std::int64_t>(steps.held.size()) * graph_.vertices > std::numeric_limits<std::int32_t>::max()) {
    throw InvalidRequest("/ranks", "a rank would hold more than 2^31 - 1 rows; use more ranks");
  }
  std::vector<std::int64_t> step_rows = {0};
  std::size_t held = 0;
  for (std::int64_t t = steps.first_step; t < steps.first_step + steps.steps; ++t) {
    if (held < steps.held.size() && steps.held[held] == t) ++held;
    step_rows.push_back(static_cast<std::int64_t>(held) * graph_.vertices);
  }
  const std::vector<std::int64_t> step_halo(step_rows.size(), 0);
  block.step_rows = device_.move_in(step_rows.data(), steps.steps + 1, 1, ElementType::i64);
  block.step_halo = device_.move_in(step_halo.data(), steps.steps + 1, 1, ElementType::i64);
  if (!device_.has_values()) {
    for (const PlannedSnapshot& one : plan_snapshots(graph_, steps, choice_))
      block.payloads.push_back({one.how, one.sizes, {}, {}, {}, {}});
    return block;
  }
  const std::vector<StepPair> pairs = neighbours(steps);
  std::vector<GraphDifference> differences;
  if (choice_.method != "full") differences = find_differences(graph_, pairs, compares_values(choice_));
  for (std::size_t i = 0; i < steps.held.size(); ++i) {
    const SnapshotTransfer how = i == 0 || choice_.method == "full"
                                     ? SnapshotTransfer::full
                                     : chosen(differences[i - 1].sizes, choice_, value_bytes(graph_));
    block.payloads.push_back(how == SnapshotTransfer::full
                                 ? full_payload(graph_, steps.held[i], choice_.format)
                                 : difference_payload(graph_, pairs[i - 1], differences[i - 1], how, choice_.format));
    if (i > 0 && i <= differences.size()) differences[i - 1] = {};
  }
  return block;
}

std::uint64_t SnapshotStore::bytes(std::size_t block) const {
  const Block& one = blocks_[block];
  const std::uint64_t element = element_bytes(device_.precision());
  std::uint64_t sum = static_cast<std::uint64_t>(static_cast<std::int64_t>(one.steps.held.size()) * graph_.vertices *
                                                 graph_.cell_width()) *
                      element;
  for (const SnapshotPayload& payload : one.payloads)
    sum += transfer_bytes(payload.sizes, payload.how, choice_.format, element);
  return sum;
}

SparseMatrix SnapshotStore::begin_matrix(const Block& block) const {
  SparseMatrix a;
  a.rows = a.columns = a.halo_begin = static_cast<std::int64_t>(block.steps.held.size()) * graph_.vertices;
  a.steps = block.steps.steps;
  for (const SnapshotPayload& payload : block.payloads) a.nonzeros += payload.sizes.entries;
  a.row_offsets = device_.allocate(a.rows + 1, 1, ElementType::i64);
  a.column_indices = device_.allocate(a.nonzeros, 1, ElementType::i32);
  a.values = device_.allocate(a.nonzeros, 1);
  a.step_rows = block.step_rows;
  a.step_halo = block.step_halo;
  return a;
}

LocalGraph SnapshotStore::bring(std::size_t block) {
  const PartScope part(device_, MemoryPart::graph);
  const Block& one = blocks_[block];
  LocalGraph local;
  if (structure_) {
    Growing growing{begin_matrix(one), 0, 0};
    if (one.payloads.empty()) {
      // A matrix without rows has a single offset, which this writes.
      device_.run(CooToCsr{device_.allocate(0, 1, ElementType::i32), device_.allocate(0, 1, ElementType::i32),
                           growing.a.row_offsets, growing.a.column_indices, 0, 0});
    }
    for (std::size_t i = 0; i < one.payloads.size(); ++i) {
      const SnapshotPayload& payload = one.payloads[i];
      payload.how == SnapshotTransfer::full ? add_full(payload, one.steps.held[i], growing)
                                            : add_difference(payload, one.steps.held[i], growing);
      growing.entries += payload.sizes.entries;
      growing.rows += graph_.vertices;
    }
    local.a = growing.a;
  }
  local.features = stream_cells(one.steps, graph_.features32, graph_.features64);
  if (graph_.features_kept) local.first_product = stream_cells(one.steps, graph_.products32, graph_.products64);
  return local;
}

void SnapshotStore::add_full(const SnapshotPayload& payload, Step step, Growing& growing) {
  const std::int64_t entries = payload.sizes.entries;
  const Tensor offsets = growing.a.row_offsets.slice_rows(growing.rows, graph_.vertices + 1);
  const Tensor columns = growing.a.column_indices.slice_rows(growing.entries, entries);
  const Tensor indices = stream_indices(payload);
  if (choice_.format == TransferFormat::csr32) {
    device_.stream_in(behind(graph_.columns, first_entry(graph_, step)), columns);
    device_.run(PlaceCsr{indices, offsets, columns, growing.entries, growing.rows});
  } else {
    device_.run(CooToCsr{indices.slice_rows(0, entries), indices.slice_rows(entries, entries), offsets, columns,
                         growing.entries, growing.rows});
  }
  stream_values(step, growing.a.values.slice_rows(growing.entries, entries));
}

void SnapshotStore::add_difference(const SnapshotPayload& payload, Step step, Growing& growing) {
  const DifferenceSizes& sizes = payload.sizes;
  const std::int64_t n = graph_.vertices, first_before = growing.entries - sizes.before;
  ApplyDifference op;
  op.before_offsets = growing.a.row_offsets.slice_rows(growing.rows - n, n + 1);
  op.before_columns = growing.a.column_indices.slice_rows(first_before, sizes.before);
  op.offsets = growing.a.row_offsets.slice_rows(growing.rows, n + 1);
  op.columns = growing.a.column_indices.slice_rows(growing.entries, sizes.entries);
  op.column_shift = n;
  const Tensor indices = stream_indices(payload);
  const std::int64_t used = take_indices(sizes, indices, growing.rows, op);
  const Tensor values = growing.a.values.slice_rows(growing.entries, sizes.entries);
  if (payload.how == SnapshotTransfer::changed) {
    op.values = values;
    op.before_values = growing.a.values.slice_rows(first_before, sizes.before);
    op.changed = indices.slice_rows(used, sizes.changed);
    const Tensor moved = device_.allocate(sizes.added + sizes.changed, 1);
    const bool fp64 = device_.precision() == ElementType::f64;
    device_.stream_in(fp64 ? static_cast<const void*>(payload.values64.data()) : payload.values32.data(), moved);
    op.added_values = moved.slice_rows(0, sizes.added);
    op.changed_values = moved.slice_rows(sizes.added, sizes.changed);
  } else {
    stream_values(step, values);
  }
  device_.run(op);
}

std::int64_t SnapshotStore::take_indices(const DifferenceSizes& sizes, const Tensor& indices, std::int64_t first_column,
                                         ApplyDifference& op) {
  const std::int64_t n = graph_.vertices;
  const bool coo = choice_.format == TransferFormat::coo64;
  std::int64_t next = sizes.removed;
  op.removed = indices.slice_rows(0, sizes.removed);
  if (coo) {
    const Tensor rows = op.removed, columns = indices.slice_rows(next, sizes.removed);
    op.removed = device_.allocate(sizes.removed, 1, ElementType::i32);
    device_.run(LocateEntries{op.before_offsets, op.before_columns, rows, columns, op.removed, first_column - n});
    next += sizes.removed;
  }
  const bool pointers = !coo && added_as_offsets(sizes);
  const Tensor rows = indices.slice_rows(next, pointers ? n + 1 : sizes.added);
  const Tensor columns = indices.slice_rows(next + rows.rows(), sizes.added);
  op.added_offsets = device_.allocate(n + 1, 1, ElementType::i64);
  if (pointers) {
    op.added_columns = columns;
    device_.run(PlaceCsr{rows, op.added_offsets, columns, 0, first_column});
  } else {
    op.added_columns = device_.allocate(sizes.added, 1, ElementType::i32);
    device_.run(CooToCsr{rows, columns, op.added_offsets, op.added_columns, 0, first_column});
  }
  return next + rows.rows() + sizes.added;
}

Tensor SnapshotStore::stream_indices(const SnapshotPayload& payload) {
  const bool coo = choice_.format == TransferFormat::coo64;
  const Tensor indices = device_.allocate(payload_indices(payload.sizes, payload.how, choice_.format), 1,
                                          coo ? ElementType::i64 : ElementType::i32);
  device_.stream_in(coo ? static_cast<const void*>(payload.indices64.data()) : payload.indices32.data(), indices);
  return indices;
}

void SnapshotStore::stream_values(Step step, const Tensor& to) {
  const std::int64_t first = first_entry(graph_, step);
  const bool fp64 = device_.precision() == ElementType::f64;
  device_.stream_in(fp64 ? behind(graph_.values64, first) : behind(graph_.values32, first), to);
}

Tensor SnapshotStore::stream_cells(const HeldSteps& steps, const Column<float>& all32, const Column<double>& all64) {
  const std::int64_t n = graph_.vertices, width = graph_.feature_width;
  const PartScope part(device_, MemoryPart::features);
  const Tensor cells = device_.allocate(static_cast<std::int64_t>(steps.held.size()) * n, width);
  const bool fp64 = device_.precision() == ElementType::f64;
  for (std::size_t i = 0; i < steps.held.size(); ++i) {
    const std::int64_t first = static_cast<std::int64_t>(steps.held[i]) * n * width;
    device_.stream_in(fp64 ? behind(all64, first) : behind(all32, first),
                      cells.slice_rows(static_cast<std::int64_t>(i) * n, n));
  }
  return cells;
}

}  // namespace strobe
