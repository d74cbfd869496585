// Invariants: columns of a row are sorted and distinct; steps without events share one empty snapshot. Parallel edges
// are summed in double, in time order, and rounded once. Where fp32 rounds, the snapshot also holds the sums of exact
// weights, which fp64 runs read. With both orientations a self-loop is one entry with its own value, not twice that.
// Cost: O(E log d) time, d = events of one row in one window. Memory of the result plus O(N + events of a window).
// Under a bound of memory, a large window is first split into ranges of rows in a temporary file (12 bytes an entry),
// so that the entries of one range fit. The entries of a row that does not fit alone are added up column by column.
#include "workloads/graph/steps/step_builder.hpp"

#include <algorithm>

#include "workloads/graph/exact_values.hpp"
#include "workloads/storage/pages.hpp"

namespace strobe {

StepBuilder::StepBuilder(const EventGraph& events, StepWeights weights, bool rows_are_targets, bool rows_are_sources)
    : events_(events),
      weights_(weights),
      rows_are_targets_(rows_are_targets),
      rows_are_sources_(rows_are_sources),
      row_end_(static_cast<std::size_t>(events.vertices) + 1) {
  auto empty = std::make_shared<Snapshot>();
  empty->row_offsets.assign(row_end_.size(), 0);
  empty_ = empty;
}

std::shared_ptr<const Snapshot> StepBuilder::build(std::size_t first, std::size_t last) {
  if (first == last) return empty_;
  rounded_ = weights_ == StepWeights::file && !events_.exact_weight.empty();
  const std::size_t entries = count_entries(first, last);
  row_offsets_ = {0};
  row_offsets_.reserve(row_end_.size());
  columns_.resize(entries);
  values_.resize(entries);
  merged_ = 0;
  if (bound_ == nullptr || entries <= room())
    merge_all(first, last);
  else
    merge_in_parts(first, last);
  columns_.shrink(merged_), columns_.fit();
  values_.shrink(merged_), values_.fit();
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->row_offsets = std::move(row_offsets_);
  snapshot->columns = columns_.finish();
  snapshot->values = values_.finish();
  keep_exact(first, last, *snapshot);
  return snapshot;
}

template <class Visit>
void StepBuilder::for_each_entry(std::size_t first, std::size_t last, Visit&& visit) const {
  for (std::size_t e = first; e < last; ++e) {
    const float weight = weights_ == StepWeights::file ? events_.weight[e] : 1.0f;
    if (rows_are_targets_) visit(events_.target[e], Entry{events_.source[e], weight});
    const bool visited = rows_are_targets_ && events_.source[e] == events_.target[e];  // a loop is its own reverse
    if (rows_are_sources_ && !visited) visit(events_.source[e], Entry{events_.target[e], weight});
  }
}

/// Their number. row_end_[v] is the first place of row v then.
std::size_t StepBuilder::count_entries(std::size_t first, std::size_t last) {
  std::fill(row_end_.begin(), row_end_.end(), 0);
  for_each_entry(first, last, [&](VertexId row, Entry) { ++row_end_[static_cast<std::size_t>(row) + 1]; });
  for (std::size_t v = 1; v < row_end_.size(); ++v) row_end_[v] += row_end_[v - 1];
  return row_end_.back();
}

/// Counting sort by row; stable, so entries of a row stay in time order.
void StepBuilder::merge_all(std::size_t first, std::size_t last) {
  entries_.resize(row_end_.back());
  for_each_entry(first, last, [&](VertexId row, Entry entry) { place(row, entry, 0); });
  // row_end_[v] is one past row v's last entry now.
  for (std::size_t v = 0, begin = 0; v + 1 < row_end_.size(); begin = row_end_[v++]) {
    if (begin != row_end_[v]) merge_row(begin, row_end_[v]);
    close_row();
  }
}

/// The same with at most `room()` entries in memory.
void StepBuilder::merge_in_parts(std::size_t first, std::size_t last) {
  const std::size_t rows = row_end_.size() - 1;
  std::vector<std::size_t> first_row, begin;  // of each part
  for (std::size_t v = 0; v < rows; ++v) {
    if (!begin.empty() && row_end_[v + 1] - begin.back() <= room()) continue;
    first_row.push_back(v), begin.push_back(row_end_[v]);
  }
  first_row.push_back(rows), begin.push_back(row_end_.back());
  GrowingColumn<EntryOfRow> by_part(row_end_.back(), bound_);
  std::vector<std::size_t> next = begin;
  for_each_entry(first, last, [&](VertexId row, Entry entry) {
    const auto after = std::upper_bound(first_row.begin(), first_row.end(), static_cast<std::size_t>(row));
    by_part[next[after - first_row.begin() - 1]++] = {row, entry};
  });
  for (std::size_t p = 0; p + 1 < begin.size(); ++p) {
    const std::span<const EntryOfRow> part(by_part.data() + begin[p], begin[p + 1] - begin[p]);
    merge_part(part, first_row[p], first_row[p + 1], begin[p]);
    rest_pages(part.data(), part.size_bytes());
  }
}

/// Merges the rows [first_row, end_row), whose entries begin at place `base` of all.
void StepBuilder::merge_part(std::span<const EntryOfRow> part, std::size_t first_row, std::size_t end_row,
                             std::size_t base) {
  if (part.size() > room()) {  // it is one row
    sum_long_row(part);
    return close_row();
  }
  entries_.resize(part.size());
  for (const auto& [row, entry] : part) place(row, entry, base);
  for (std::size_t v = first_row, begin = base; v < end_row; begin = row_end_[v++]) {
    if (begin != row_end_[v]) merge_row(begin - base, row_end_[v] - base);
    close_row();
  }
}

void StepBuilder::merge_row(std::size_t begin, std::size_t end) {
  const auto at = [&](std::size_t i) { return entries_.begin() + static_cast<std::ptrdiff_t>(i); };
  std::stable_sort(at(begin), at(end), [](const Entry& a, const Entry& b) { return a.column < b.column; });
  for (std::size_t i = begin; i < end;) {
    const VertexId column = entries_[i].column;
    double sum = 0;
    for (; i < end && entries_[i].column == column; ++i) sum += static_cast<double>(entries_[i].weight);
    add(column, sum);
  }
}

/// Needs 9 bytes a vertex instead of the row's entries.
void StepBuilder::sum_long_row(std::span<const EntryOfRow> row) {
  const std::size_t vertices = row_end_.size() - 1;
  GrowingColumn<double> sums(vertices, bound_);
  GrowingColumn<char> there(vertices, bound_);
  for (const auto& [v, entry] : row) {
    sums[entry.column] += static_cast<double>(entry.weight);
    there[entry.column] = 1;
  }
  for (std::size_t v = 0; v < vertices; ++v)
    if (there[v] != 0) add(static_cast<VertexId>(v), sums[v]);
}

void StepBuilder::add(VertexId column, double sum) {
  const bool binary = weights_ == StepWeights::binary;
  const float value = binary ? 1.0f : static_cast<float>(sum);
  columns_[merged_] = column;
  values_[merged_++] = value;
  rounded_ |= !binary && static_cast<double>(value) != sum;
}

void StepBuilder::keep_exact(std::size_t first, std::size_t last, Snapshot& snapshot) const {
  if (!rounded_) return;
  const bool counted = weights_ == StepWeights::count;
  snapshot.exact_values = where_rounded(
      exact_sums(events_, first, last, counted, rows_are_targets_, rows_are_sources_, snapshot), snapshot.values);
}

}  // namespace strobe
