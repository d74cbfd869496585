// The memory daemon: one helper for each copy of the memory, which serves its trainers' reads and writes one batch
// after the other, (R0..R i-1)(W0..W i-1)(R i..)..., so that no trainer needs a lock (DistTGL, section 3.3, Algorithm
// 1).
//
// A lane carries numbers of vertices and rows of memory; a request begins with a header that says what is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/host/lane.hpp"
#include "backends/tensor.hpp"
#include "harness/event_batches/batches/batch_order.hpp"

namespace strobe {

/// What a request asks for.
struct MemoryRequestHeader {
  enum Command : std::int64_t {
    begin,  // of the leader: the batch `sequence` is read and written next; memory is zero first where `resets` is set
    give,   // of the leader: everything: memory [N, d], then mails [N, 2 d]
    take,   // of the leader: likewise, the other way
    read,   // memory of `vertices` vertices, mails of the first `mails` of them
    write,  // rows of `vertices` vertices: memory, then mails
  };
  std::int64_t command = begin;
  std::int64_t sequence = 0, resets = 0;
  std::int64_t vertices = 0, mails = 0;
};

/// Sizes of one copy, and of what its lanes carry.
struct MemoryShape {
  std::int64_t vertices = 0;  // N
  std::int64_t width = 0;     // d
  ElementType type = ElementType::f32;
  bool values = true;           // false: memory has sizes alone
  std::int64_t read_rows = 0;   // the most that a request reads
  std::int64_t write_rows = 0;  // the most that it writes

  std::uint64_t row_bytes() const { return static_cast<std::uint64_t>(width) * element_bytes(type); }
};

/// Where rows begin in a request that names so many vertices.
std::uint64_t request_rows_at(std::int64_t vertices);

/// Lane of the group's first trainer, its leader, who says which batch is next, and saves and restores the copy.
inline constexpr std::size_t leader_lane = 0;
/// Lanes of trainer `trainer` of the group: those that read, one for each set of negatives, and the one that writes.
std::size_t read_lane(const TrainingGroups& groups, std::int64_t trainer, std::int64_t set);
std::size_t write_lane(const TrainingGroups& groups, std::int64_t trainer);

/// The daemon of copy `copy`. `threads` carry out each of its pieces of work.
HelperRequest memory_daemon(const TrainingGroups& groups, std::int64_t copy, const MemoryShape& shape, int threads);

/// Bytes on the host of one copy of memory and mails with all lanes between its daemon and the group's ranks.
std::uint64_t bytes_of_copy(const TrainingGroups& groups, const MemoryShape& shape);

}  // namespace strobe
