// Finds the difference of two sorted snapshots. Rows are cut into ranges of about equal numbers of entries, which are
// tasks; row_difference.hpp compares one row.
// Invariant: lists ascend; the entries of the earlier snapshot without `removed`, united with `added`, are the later.
// Cost: O(z) per pair; 4 bytes read an entry of both snapshots, 4 + W with values; lists are written and copied once,
// and the memory in between is used again for one batch of pairs after the other.
// Source: ESDG section 3.2 (common, removed and added edges).
#include "workloads/preparation/graph_difference.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "core/errors.hpp"
#include "workloads/preparation/row_difference.hpp"
#include "workloads/storage/pages.hpp"
#include "workloads/storage/parallel.hpp"

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

/// The differences of one range of rows.
struct Found {
  Ends begin, end;
};

/// Memory for the lists of some ranges, used again and again: touching fresh pages costs more than comparing.
class Lists {
 public:
  /// Room for every list of each of `ranges` at its longest.
  std::vector<Found> places(const PreparedGraph& graph, const std::vector<StepPair>& pairs,
                            std::span<const RowRange> ranges, bool values) {
    std::int64_t need = 0;
    std::vector<std::int64_t> starts;
    for (const RowRange& range : ranges) {
      const std::int64_t added = entries_of(graph, pairs[range.pair].to, range) + trailing_room;
      starts.insert(starts.end(), {need, need + added, need + added + (values ? added : 0)});
      need = starts.back() + entries_of(graph, pairs[range.pair].from, range) + trailing_room;
    }
    const std::size_t bytes = static_cast<std::size_t>(need) * sizeof(std::int32_t);
    if (bytes > memory_.bytes()) memory_ = Pages(bytes);
    std::vector<Found> places;
    auto* const at = reinterpret_cast<std::int32_t*>(memory_.data());
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const Ends begin{at + starts[3 * i + 2], at + starts[3 * i], at + starts[3 * i + 1]};
      places.push_back({begin, begin});
    }
    return places;
  }

 private:
  static std::int64_t entries_of(const PreparedGraph& graph, Step step, const RowRange& range) {
    const StepView view = view_of(graph, step);
    return view.offsets[range.end] - view.offsets[range.begin];
  }

  Pages memory_;
};

/// Writes the lists of one range of rows from `begin` on; returns their ends.
template <class T, bool Values>
Ends compare_range(const PreparedGraph& graph, const StepPair& pair, const RowRange& range, const Column<T>& values,
                   Ends begin) {
  const StepView from = view_of(graph, pair.from), to = view_of(graph, pair.to);
  const RowDifference<T, Values> rows(from, to, values.data() + from.first, values.data() + to.first);
  for (std::int64_t row = range.begin; row < range.end; ++row) begin = rows.find(row, begin);
  return begin;
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

/// An empty list with room for `count` positions, on large pages where they can hold it. Touching small pages for the
/// first time takes longer than finding the positions.
std::vector<std::int32_t> list_for(std::int64_t count) {
  constexpr std::uintptr_t page = std::uintptr_t{2} << 20;
  std::vector<std::int32_t> list;
  list.reserve(count);
  const auto memory = reinterpret_cast<std::uintptr_t>(list.data());
  const std::uintptr_t begin = (memory + page - 1) / page * page;
  const std::uintptr_t end = (memory + list.capacity() * sizeof(std::int32_t)) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a hint to the system
  return list;
}

/// One pair's counts, and with `keep` its lists, from those of its ranges.
GraphDifference join(std::span<const Found> parts, bool keep) {
  GraphDifference all;
  for (const Found& part : parts) {
    all.sizes.removed += part.end.removed - part.begin.removed;
    all.sizes.added += part.end.added - part.begin.added;
    all.sizes.changed += part.end.changed - part.begin.changed;
  }
  if (!keep) return all;
  all.removed = list_for(all.sizes.removed);
  all.added = list_for(all.sizes.added);
  all.changed = list_for(all.sizes.changed);
  for (const Found& part : parts) {
    all.removed.insert(all.removed.end(), part.begin.removed, part.end.removed);
    all.added.insert(all.added.end(), part.begin.added, part.end.added);
    all.changed.insert(all.changed.end(), part.begin.changed, part.end.changed);
  }
  return all;
}

/// The first pairs of groups that are compared together: each group has `ranges_at_once` ranges, or is one pair.
std::vector<std::size_t> cut_ranges(const std::vector<RowRange>& ranges) {
  constexpr std::size_t ranges_at_once = 32;
  std::vector<std::size_t> starts = {0};
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].pair != ranges[i - 1].pair && i - starts.back() >= ranges_at_once) starts.push_back(i);
  }
  starts.push_back(ranges.size());
  return starts;
}

template <class T>
std::vector<GraphDifference> find(const PreparedGraph& graph, const std::vector<StepPair>& pairs,
                                  const Column<T>& values, bool compare, bool keep) {
  const std::vector<RowRange> ranges = cut_rows(graph, pairs);
  const std::vector<std::size_t> cuts = cut_ranges(ranges);
  std::vector<GraphDifference> differences(pairs.size());
  Lists lists;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    const auto batch = std::span(ranges).subspan(cuts[c], cuts[c + 1] - cuts[c]);
    std::vector<Found> found = lists.places(graph, pairs, batch, compare);
    parallel_tasks(static_cast<std::int64_t>(batch.size()), [&](std::int64_t i) {
      const RowRange& range = batch[i];
      Found& one = found[i];
      one.end = compare ? compare_range<T, true>(graph, pairs[range.pair], range, values, one.begin)
                        : compare_range<T, false>(graph, pairs[range.pair], range, values, one.begin);
    });
    if (batch.empty()) break;
    const std::size_t first = batch.front().pair, count = batch.back().pair - first + 1;
    parallel_tasks(static_cast<std::int64_t>(count), [&](std::int64_t i) {
      const std::size_t p = first + static_cast<std::size_t>(i);
      const auto begin = std::find_if(batch.begin(), batch.end(), [p](const RowRange& r) { return r.pair == p; });
      const auto end = std::find_if(begin, batch.end(), [p](const RowRange& r) { return r.pair != p; });
      differences[p] = join(std::span(found).subspan(begin - batch.begin(), end - begin), keep);
      differences[p].sizes.rows = graph.vertices;
      differences[p].sizes.entries = graph.step_nonzeros(pairs[p].to);
      differences[p].sizes.before = graph.step_nonzeros(pairs[p].from);
    });
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
  const std::uint64_t changed = sizes.changed;
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
