// Rows beyond a memory bound: sorted runs in temporary files, merged at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/graph/graph.hpp"
#include "workloads/reading/events/event_block.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {

/// Bytes that the rows of a block take.
std::uint64_t bytes_of(const EventBlock& block);

/// A run: consecutive rows of the file in time order. Its columns lie in files.
struct RowRun {
  EventGraph rows;       // vertices are numbers of the run, in ascending order of the file's ids
  Column<double> exact;  // [rows] or empty: the weights, where fp32 rounds any of them
};

/// Collects blocks of rows in file order as runs, and merges the runs.
class RowRuns {
 public:
  /// `bound` must outlive the object; `path` is the file that is read.
  RowRuns(const ReadingBound& bound, std::string path) : bound_(bound), path_(std::move(path)) {}

  bool empty() const { return runs_.empty(); }
  /// Moves the rows out of `blocks`, which have the same extras. Throws SystemError for a full disk.
  void add(std::vector<EventBlock>& blocks);
  /// Gives `graph` the ids and columns that `number_vertices` and `move_in_time_order` make of all rows together. The
  /// columns lie in files. Cost: O(E log R) for R runs; one more pass over the ids of each run.
  void finish(EventGraph& graph);

 private:
  void add_run(std::vector<EventBlock> blocks);
  void say(const std::string& text) const;  // a line of progress

  const ReadingBound& bound_;
  std::string path_;
  std::vector<RowRun> runs_;
  std::int64_t rows_ = 0, reported_ = 0;
};

}  // namespace strobe
