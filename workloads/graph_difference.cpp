// Finds the difference of two sorted snapshots. Rows are cut into ranges of about equal numbers of entries, which are
// tasks; row_difference.hpp compares one row.
// Invariant: lists ascend, and the entries of the earlier snapshot without `removed`, united with `added`, are the later.
// Cost: O(z) per pair; 4 bytes read an entry of both snapshots, 4 + W with values; lists are written and copied once.
// Source: ESDG section 3.2 (common, removed and added edges).
#include "workloads/graph_difference.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include "core/errors.hpp"
#include "workloads/parallel.hpp"
#include "workloads/row_difference.hpp"

namespace strobe {
namespace {

constexpr std::int64_t entries_per_task = 1 << 16;

/// Rows [begin, end) of a pair of steps.
struct RowRange {
  std::size_t pair;
  std::int64_t begin, end;
};

StepView view_of(const PreparedGraph& graph, Step step) {
  const std::int64_t* offsets = graph.row_offsets.data() + static_cast<std::int64_t>(step) * graph.vertices;
  return {offsets, graph.columns.data() + offsets[0], offsets[0]};
}

/// The calling thread's memory for one range: `count` positions and the room behind them, not initialised.
std::int32_t* scratch(int list, std::int64_t count) {
  struct Memory {
    std::unique_ptr<std::int32_t[]> values;
    std::int64_t size = 0;
  };
  thread_local Memory lists[3];
  Memory& memory = lists[list];
  if (memory.size < count + room_behind) {
    memory.size = std::max(count + room_behind, 2 * entries_per_task);
    memory.values = std::make_unique_for_overwrite<std::int32_t[]>(static_cast<std::size_t>(memory.size));
  }
  return memory.values.get();
}

/// The lists of one range of rows; sizes.rows, .entries and .before are not set.
template <class T, bool Values>
GraphDifference compare_range(const PreparedGraph& graph, const StepPair& pair, const RowRange& range,
                              const std::vector<T>& values, bool keep) {
  const StepView from = view_of(graph, pair.from), to = view_of(graph, pair.to);
  const std::int64_t to_entries = to.offsets[range.end] - to.offsets[range.begin];
  const Ends begin{scratch(0, from.offsets[range.end] - from.offsets[range.begin]), scratch(1, to_entries),
                   scratch(2, to_entries)};
  const RowDifference<T, Values> rows(from, to, values.data() + from.first, values.data() + to.first);
  Ends end = begin;
  for (std::int64_t row = range.begin; row < range.end; ++row) end = rows.find(row, end);
  GraphDifference found;
  found.sizes.removed = end.removed - begin.removed;
  found.sizes.added = end.added - begin.added;
  found.sizes.changed = end.changed - begin.changed;
  if (keep) {
    found.removed.assign(begin.removed, end.removed);
    found.added.assign(begin.added, end.added);
    found.changed.assign(begin.changed, end.changed);
  }
  return found;
}

/// Ranges of rows of all pairs with about `entries_per_task` entries each.
std::vector<RowRange> cut_rows(const PreparedGraph& graph, const std::vector<StepPair>& pairs) {
  std::vector<RowRange> ranges;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    for (const Step step : {pairs[p].from, pairs[p].to}) {
      if (graph.step_nonzeros(step) > std::numeric_limits<std::int32_t>::max()) {
        throw InvalidRequest("/transfer",
                             "a snapshot has more than 2^31 - 1 entries; differences count them in 32 bits");
      }
    }
    const std::int64_t entries = graph.step_nonzeros(pairs[p].from) + graph.step_nonzeros(pairs[p].to);
    const std::int64_t parts = std::clamp<std::int64_t>(entries / (2 * entries_per_task), 1, graph.vertices);
    for (std::int64_t part = 0; part < parts; ++part) {
      const Run rows = even_share(graph.vertices, parts, part);
      ranges.push_back({p, rows.first, rows.first + rows.count});
    }
  }
  return ranges;
}

/// One pair's lists from those of its ranges, which are released.
GraphDifference join(std::span<GraphDifference> parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  GraphDifference all;
  for (const GraphDifference& part : parts) {
    all.sizes.removed += part.sizes.removed;
    all.sizes.added += part.sizes.added;
    all.sizes.changed += part.sizes.changed;
  }
  for (const auto list : {&GraphDifference::removed, &GraphDifference::added, &GraphDifference::changed}) {
    std::size_t total = 0;
    for (const GraphDifference& part : parts) total += (part.*list).size();
    (all.*list).reserve(total);
    for (GraphDifference& part : parts) {
      (all.*list).insert((all.*list).end(), (part.*list).begin(), (part.*list).end());
      part.*list = {};
    }
  }
  return all;
}

template <class T>
std::vector<GraphDifference> find(const PreparedGraph& graph, const std::vector<StepPair>& pairs,
                                  const std::vector<T>& values, bool compare, bool keep) {
  const std::vector<RowRange> ranges = cut_rows(graph, pairs);
  std::vector<GraphDifference> parts(ranges.size());
  parallel_tasks(static_cast<std::int64_t>(ranges.size()), [&](std::int64_t i) {
    const RowRange& range = ranges[static_cast<std::size_t>(i)];
    parts[static_cast<std::size_t>(i)] = compare
                                             ? compare_range<T, true>(graph, pairs[range.pair], range, values, keep)
                                             : compare_range<T, false>(graph, pairs[range.pair], range, values, keep);
  });
  std::vector<GraphDifference> differences;
  for (std::size_t p = 0, first = 0; p < pairs.size(); ++p) {
    std::size_t last = first;
    while (last < ranges.size() && ranges[last].pair == p) ++last;
    GraphDifference& difference = differences.emplace_back(join(std::span(parts).subspan(first, last - first)));
    difference.sizes.rows = graph.vertices;
    difference.sizes.entries = graph.step_nonzeros(pairs[p].to);
    difference.sizes.before = graph.step_nonzeros(pairs[p].from);
    first = last;
  }
  return differences;
}

std::vector<GraphDifference> find(const PreparedGraph& graph, const std::vector<StepPair>& pairs, bool compare,
                                  bool keep) {
  return graph.values64.empty() ? find(graph, pairs, graph.values32, compare, keep)
                                : find(graph, pairs, graph.values64, compare, keep);
}

}  // namespace

bool added_as_offsets(const DifferenceSizes& sizes) { return sizes.added > sizes.rows + 1; }

std::uint64_t transfer_bytes(const DifferenceSizes& sizes, SnapshotTransfer how, TransferFormat format,
                             std::uint64_t value_bytes) {
  const auto rows = static_cast<std::uint64_t>(sizes.rows), entries = static_cast<std::uint64_t>(sizes.entries);
  const auto removed = static_cast<std::uint64_t>(sizes.removed), added = static_cast<std::uint64_t>(sizes.added);
  const auto changed = static_cast<std::uint64_t>(sizes.changed);
  const bool coo = format == TransferFormat::coo64;
  if (how == SnapshotTransfer::full) {
    return (coo ? 16 * entries : 4 * (rows + 1) + 4 * entries) + value_bytes * entries;
  }
  const std::uint64_t indices = coo ? 16 * (removed + added) : 4 * (removed + added + std::min(added, rows + 1));
  if (how == SnapshotTransfer::difference) return indices + value_bytes * entries;
  return indices + value_bytes * added + ((coo ? 8 : 4) + value_bytes) * changed;
}

SnapshotTransfer cheapest_transfer(const DifferenceSizes& sizes, TransferFormat format, std::uint64_t value_bytes) {
  SnapshotTransfer best = SnapshotTransfer::full;
  for (const SnapshotTransfer how : {SnapshotTransfer::difference, SnapshotTransfer::changed}) {
    if (transfer_bytes(sizes, how, format, value_bytes) < transfer_bytes(sizes, best, format, value_bytes)) best = how;
  }
  return best;
}

std::vector<GraphDifference> find_differences(const PreparedGraph& graph, const std::vector<StepPair>& pairs,
                                              bool values) {
  return find(graph, pairs, values, true);
}

std::vector<DifferenceSizes> count_differences(const PreparedGraph& graph, const std::vector<StepPair>& pairs,
                                               bool values) {
  std::vector<DifferenceSizes> sizes;
  for (const GraphDifference& difference : find(graph, pairs, values, false)) sizes.push_back(difference.sizes);
  return sizes;
}

DifferenceSizes whole_snapshot(const PreparedGraph& graph, Step step) {
  DifferenceSizes sizes;
  sizes.rows = graph.vertices;
  sizes.entries = graph.step_nonzeros(step);
  return sizes;
}

}  // namespace strobe
