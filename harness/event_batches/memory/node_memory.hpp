// Node memory: state [N, d] and mails [N, 2 d] of every vertex. It is on the device, or on the host with transfers for
// reads and writes. MemoryClock (memory_clock.hpp) keeps the times of updates.
#pragma once

#include <memory>

#include "backends/device.hpp"
#include "harness/event_batches/batches/batch_draw.hpp"

namespace strobe {

/// The memory of a batch's U vertices, and the mails of the first M of them.
struct MemoryRows {
  Tensor memory;  // [U, d]
  Tensor mail;    // [M, 2 d]
};

/// The vertices and rows of reads and writes, on the device. Shapes are as in BatchDraw.
struct MemoryLists {
  Tensor vertices;                       // i64 [U, 1]
  Tensor written, own_rows, other_rows;  // i64 [W, 1]
};

class NodeMemory {
 public:
  virtual ~NodeMemory() = default;
  /// Sets memory and mails to zero.
  virtual void reset() = 0;
  virtual MemoryRows read(const SharedDraw& drawn, const MemoryLists& lists) = 0;
  /// Stores rows of `updated` [U, d] and the mails made of them.
  virtual void write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) = 0;
  /// Values on the host, [N, d] and [N, 2 d]; empty without values.
  virtual std::vector<double> memory() = 0;
  virtual std::vector<double> mails() = 0;
  /// Takes values that `memory` and `mails` returned.
  virtual void restore(const std::vector<double>& memory, const std::vector<double>& mails) = 0;
};

/// Mails [W, 2 d] of the written vertices from `updated` [U, d]: the own row, followed by the other end's row.
Tensor make_mails(Device& device, const MemoryLists& lists, const Tensor& updated);

/// `width` is d. Throws OutOfMemory.
std::unique_ptr<NodeMemory> make_node_memory(Device& device, std::int64_t vertices, std::int64_t width, bool on_host);

}  // namespace strobe
