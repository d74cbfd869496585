// Blocks of a binary graph: its events by ranges of time, each with a checksum, so that a reader checks what it reads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "workloads/graph/graph.hpp"
#include "workloads/storage/binary_file.hpp"

namespace strobe {

/// The kind of file that holds an event graph.
inline constexpr BinaryKind binary_graph_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'G', '\n'}, 4, "binary graph"};

/// The events of a mapped file: views on its columns, unread. All about vertices is left out.
EventGraph event_columns(const BinaryFile& file);

/// Events of each block but the last: a multiple of `PackedTimes::block_times`.
constexpr std::int64_t block_events = std::int64_t{1} << 20;

/// The blocks of a file. Empty for a graph of one block, whose sections have checksums of their own.
struct BlockIndex {
  std::vector<double> first_time, last_time;  // [blocks]
  std::vector<std::int8_t> sha256;            // [blocks * 64] hexadecimal, over all columns of the block's events
};

/// The index of a graph's events. Cost: one pass over them on all threads.
BlockIndex index_blocks(const EventGraph& graph);

/// A binary graph whose events are read block by block.
class BinaryBlocks {
 public:
  /// Maps the file and reads its index. A file without one, such as one of an earlier version, is checked whole.
  explicit BinaryBlocks(const std::string& path);

  std::int64_t events() const { return events_; }
  std::int64_t blocks() const { return (events_ + block_events - 1) / block_events; }
  /// The blocks with events of begin <= time < end: the first of them, and how many.
  std::pair<std::int64_t, std::int64_t> find(double begin, double end) const;
  /// The events of `count` blocks from `first` on: columns are views of the file. Vertices have the numbers of the
  /// file; ids, names and labels of vertices are left out. Reads and checks these blocks only. Throws InvalidInput when
  /// one is damaged.
  EventGraph read(std::int64_t first, std::int64_t count) const;

 private:
  void check_whole();
  void check_digest(std::int64_t block) const;
  void check_range(const EventGraph& part, std::int64_t first_block) const;

  BinaryFile file_;
  std::int64_t events_ = 0;
  EventGraph all_;  // columns of all events
  Column<double> first_time_, last_time_;
  Column<std::int8_t> sha256_;  // empty: the whole file was checked
};

}  // namespace strobe
