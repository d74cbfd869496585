// The node memory that a group of ranks shares, as one of its ranks sees it.
#pragma once

#include <memory>
#include <vector>

#include "harness/event_batches/memory/node_memory.hpp"

namespace strobe {

/// Rows that are on their way: `ready` comes when the device has them.
struct ComingRows {
  MemoryRows rows;
  Event ready;
};

/// Reads and writes of one rank, [U, d] and [M, 2 d] of the case's precision, in the order of calls.
class GroupMemory {
 public:
  virtual ~GroupMemory() = default;
  /// Whether every rank takes part in every batch's reads and writes, with empty lists where it has none.
  virtual bool of_all_ranks() const { return false; }
  /// Whether reads go by lists that lie on the device, which has to have them then.
  virtual bool reads_by_lists() const { return false; }

  /// Of every rank: the batch that is read and written next; memory and mails are zero first where `resets`.
  virtual void begin(std::int64_t sequence, bool resets) = 0;
  /// Asks for the rows of a batch's draws, one for each set of negatives; `read` follows, and has them moved in. What
  /// is moved between the two calls does not wait for an answer.
  virtual void ask(const std::vector<SharedDraw>& /*drawn*/) {}
  /// `lists` are those of the draws, on the device.
  virtual std::vector<ComingRows> read(const std::vector<SharedDraw>& drawn, const std::vector<MemoryLists>& lists) = 0;
  /// Sends rows of `updated` [U, d] and the mails made of them; `drawn` is empty, or null, where there are none.
  virtual void write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) = 0;
  /// Waits until what was sent has arrived.
  virtual void finish() = 0;

  /// How many values `save` gives on this rank: those of vertices whose memory no other rank speaks for. 0 for most.
  virtual std::int64_t saved_values() const = 0;
  /// Memory [N, d], then mails [N, 2 d], of its vertices; empty without values.
  virtual std::vector<double> save() = 0;
  virtual void restore(const std::vector<double>& values) = 0;
};

/// Memory on the device of the only rank of its group.
std::unique_ptr<GroupMemory> make_device_group_memory(Device& device, std::int64_t vertices, std::int64_t width);

}  // namespace strobe
