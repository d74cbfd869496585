// One rank's end of a copy of node memory that a daemon keeps for all ranks of its group.
#pragma once

#include <vector>

#include "backends/communicator.hpp"
#include "harness/events/memory_daemon.hpp"
#include "harness/events/node_memory.hpp"

namespace strobe {

/// Rows that are on their way: `ready` comes when the device has them.
struct ComingRows {
  MemoryRows rows;
  Event ready;
};

/// Reads and writes of one rank, [U, d] and [M, 2 d] of the case's precision, in the order of calls; what a call asks
/// of the daemon waits for nothing but the lane. What waits for an answer throws HelperTimeout or PeerFailed.
class SharedMemory {
 public:
  SharedMemory(Device& device, Communicator& communicator, const TrainingGroups& groups, const MemoryShape& shape);

  bool leads() const { return trainer_ == 0; }
  /// Of the leader: the batch that is read and written next; memory and mails are zero first where `resets`.
  void begin(std::int64_t sequence, bool resets);
  /// Asks for the rows of a draw, of set `set` of negatives.
  ComingRows read(std::int64_t set, const SharedDraw& drawn);
  /// Sends rows of `updated` [U, d] and the mails made of them; empty where nothing was drawn.
  void write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated);
  /// Waits until what was sent has arrived.
  void finish();

  /// Of the leader: memory [N, d], then mails [N, 2 d]; empty without values.
  std::vector<double> save();
  void restore(const std::vector<double>& values);

 private:
  TrainerLane& lane(std::size_t number) { return communicator_.lane(copy_, number); }
  void command(const MemoryRequestHeader& header);
  /// Has the host put a request's header and list into its lane.
  Event put_list(TrainerLane& lane, const MemoryRequestHeader& header, const SharedDraw& drawn, bool written,
                 const Event& after);

  Device& device_;
  Communicator& communicator_;
  TrainingGroups groups_;
  MemoryShape shape_;
  std::size_t copy_;
  std::int64_t trainer_;  // in its group
  Event led_, written_;
  std::vector<Event> moved_;  // by set: when the lane's answer has been taken
};

}  // namespace strobe
