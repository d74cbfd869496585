// The memory daemon (DistTGL, section 3.3, Algorithm 1): one helper for each copy of the memory. It serves its
// trainers' reads and writes batch by batch, (R0..R i-1)(W0..W i-1)(R i..)..., so that trainers need no locks.
//
// A channel carries vertex numbers and memory rows. Each request begins with a header that names its command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/host/channel.hpp"
#include "backends/tensor.hpp"
#include "harness/event_batches/batches/batch_order.hpp"

namespace strobe {

struct MemoryRequestHeader {
  enum Command : std::int64_t {
    begin,  // leader only: batch `sequence` is read and written next; with `resets`, set memory to zero first;
            // with `evaluates`, the memory is that of an evaluation, which begins with a reset
    give,   // leader only: return all memory [N, d], then mails [N, 2 d]
    take,   // leader only: replace all memory [N, d] and mails [N, 2 d]
    read,   // return memory of `vertices` vertices, then mails of the first `mails` of them
    write,  // store rows of `vertices` vertices: memory, then mails
  };
  std::int64_t command = begin;
  std::int64_t sequence = 0, resets = 0;
  std::int64_t vertices = 0, mails = 0;
  std::int64_t evaluates = 0;
};

/// Sizes of one copy and of its requests.
struct MemoryShape {
  std::int64_t vertices = 0;  // N
  std::int64_t width = 0;     // d
  ElementType type = ElementType::f32;
  bool values = true;           // false: memory has sizes and no values
  std::int64_t read_rows = 0;   // the most rows that a request reads
  std::int64_t write_rows = 0;  // the most rows that a request writes

  std::uint64_t row_bytes() const { return static_cast<std::uint64_t>(width) * element_bytes(type); }
};

/// The offset of rows in a request for `vertices` vertices, in bytes.
std::uint64_t request_rows_at(std::int64_t vertices);

/// Channel of the leader, the group's first trainer. The leader announces the next batch, and saves and restores the
/// copy.
inline constexpr std::size_t leader_channel = 0;
/// Channels of trainer `trainer` of the group: one read channel for each set of negatives, and one write channel.
std::size_t read_channel(const TrainingGroups& groups, std::int64_t trainer, std::int64_t set);
std::size_t write_channel(const TrainingGroups& groups, std::int64_t trainer);

/// The daemon of copy `copy`. It uses `threads` threads.
HelperRequest memory_daemon(const TrainingGroups& groups, std::int64_t copy, const MemoryShape& shape, int threads);

/// Host memory in bytes of one copy of memory and mails, with all channels between its daemon and the group's ranks.
std::uint64_t bytes_of_copy(const TrainingGroups& groups, const MemoryShape& shape);

}  // namespace strobe
