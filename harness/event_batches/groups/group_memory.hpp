// One rank's access to the node memory that its group of ranks shares.
#pragma once

#include <memory>
#include <vector>

#include "harness/event_batches/memory/node_memory.hpp"

namespace strobe {

/// Rows in transfer: the device has them after `ready`.
struct ComingRows {
  MemoryRows rows;
  DeviceEvent ready;
};

/// Reads and writes of one rank, carried out in the order of calls. Memory is [U, d] and mails are [M, 2 d], in the
/// case's precision.
class GroupMemory {
 public:
  virtual ~GroupMemory() = default;
  /// Whether reads and writes of a batch are collective: ranks without a part of the batch take part with empty lists.
  virtual bool of_all_ranks() const { return false; }
  /// Whether `read` uses the lists on the device, so that they must be there before.
  virtual bool reads_by_lists() const { return false; }

  /// Announces the batch that is read and written next. Every rank must call it. If `resets`, memory and mails are set
  /// to zero first.
  virtual void begin(std::int64_t sequence, bool resets) = 0;
  /// Requests the rows of a batch's draws, one for each set of negatives. A later `read` moves them in. Transfers
  /// between the two calls do not wait for the answer.
  virtual void ask(const std::vector<SharedDraw>& /*drawn*/) {}
  /// `lists` are those of the draws, on the device.
  virtual std::vector<ComingRows> read(const std::vector<SharedDraw>& drawn, const std::vector<MemoryLists>& lists) = 0;
  /// Writes rows of `updated` [U, d] and the mails made from them. `drawn` is null if this rank has nothing to write.
  virtual void write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) = 0;
  /// Waits until all writes are done.
  virtual void finish() = 0;

  /// The number of values that `save` returns on this rank. One rank saves each copy or node's part; on the others it
  /// is 0.
  virtual std::int64_t saved_values() const = 0;
  /// Memory [N, d], then mails [N, 2 d], of the vertices that this rank saves; empty without values.
  virtual std::vector<double> save() = 0;
  virtual void restore(const std::vector<double>& values) = 0;
};

/// Memory on the device, for a group of one rank.
std::unique_ptr<GroupMemory> make_device_group_memory(Device& device, std::int64_t vertices, std::int64_t width);

}  // namespace strobe
