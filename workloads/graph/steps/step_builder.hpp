// The edges of one step: a sorted CSR of a window of events.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {

enum class StepWeights { count, binary, file };

/// Builds the snapshots of one graph; keeps its working memory from window to window.
class StepBuilder {
 public:
  /// Made where a bound of memory holds (reading_bound.hpp), it keeps to it. `events` must outlive it.
  StepBuilder(const EventGraph& events, StepWeights weights, bool rows_are_targets, bool rows_are_sources);

  /// The step of the events [first, last).
  std::shared_ptr<const Snapshot> build(std::size_t first, std::size_t last);

 private:
  struct Entry {
    VertexId column;
    float weight;
  };
  struct EntryOfRow {
    VertexId row;
    Entry entry;
  };

  /// Entries that are sorted in memory at once. Sorting takes as much again.
  std::size_t room() const { return bound_->run_bytes() / 2 / sizeof(Entry); }
  template <class Visit>
  void for_each_entry(std::size_t first, std::size_t last, Visit&& visit) const;
  std::size_t count_entries(std::size_t first, std::size_t last);
  void place(VertexId row, Entry entry, std::size_t base) { entries_[row_end_[row]++ - base] = entry; }
  void merge_all(std::size_t first, std::size_t last);
  void merge_in_parts(std::size_t first, std::size_t last);
  void merge_part(std::span<const EntryOfRow> part, std::size_t first_row, std::size_t end_row, std::size_t base);
  void merge_row(std::size_t begin, std::size_t end);
  void sum_long_row(std::span<const EntryOfRow> row);
  void add(VertexId column, double sum);
  void close_row() { row_offsets_.push_back(static_cast<std::int64_t>(merged_)); }
  void keep_exact(std::size_t first, std::size_t last, Snapshot& snapshot) const;

  const EventGraph& events_;
  StepWeights weights_;
  bool rows_are_targets_, rows_are_sources_;
  const ReadingBound* bound_ = reading_bound();
  bool rounded_ = false;  // fp32 may round a value of the snapshot under way
  std::vector<std::size_t> row_end_;
  std::vector<Entry> entries_;
  std::vector<std::int64_t> row_offsets_;  // of the snapshot under way
  std::size_t merged_ = 0;                 // edges of the snapshot under way
  GrowingColumn<VertexId> columns_{};
  GrowingColumn<float> values_{};
  std::shared_ptr<const Snapshot> empty_;
};

}  // namespace strobe
