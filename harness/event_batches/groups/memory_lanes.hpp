// One rank's lanes to a memory daemon, and what is said through them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/event_batches/groups/memory_daemon.hpp"

namespace strobe {

/// Numbers of vertices; shared with the host's work that reads them later.
using VertexList = std::shared_ptr<const std::vector<std::int64_t>>;

/// What a call asks of the daemon waits for nothing but its lane. What waits for an answer throws HelperTimeout or
/// PeerFailed.
class MemoryLanes {
 public:
  /// Of the rank `communicator.rank()` among `groups`, to the daemon of its copy.
  MemoryLanes(Device& device, Communicator& communicator, const TrainingGroups& groups, const MemoryShape& shape);

  bool leads() const { return trainer_ == 0; }
  TrainerLane& read(std::int64_t set) { return lane(read_lane(groups_, trainer_, set)); }
  TrainerLane& write() { return lane(write_lane(groups_, trainer_)); }

  /// Of the leader, and nothing on others: the batch that is read and written next; memory and mails are zero first
  /// where `resets`.
  void begin(std::int64_t sequence, bool resets);
  /// Has the host put a request's header and list into `to` behind `after`. Without values the list may be null.
  Event put_list(TrainerLane& to, const MemoryRequestHeader& header, const VertexList& list, const Event& after);
  /// Sends what lies in the lane for writes, once all of `after` has come; `written` is the answer to the write before.
  void send_write(std::vector<Event> after) { written_ = write().ask(std::move(after)); }
  const Event& written() const { return written_; }
  /// Waits until the last write and the leader's last word have been heard.
  void finish();

  /// How many values `save` gives: those of all vertices of the daemon on the leader, else 0.
  std::int64_t saved_values() const { return leads() ? 3 * shape_.vertices * shape_.width : 0; }
  /// Of the leader: memory [N, d], then mails [N, 2 d], of all N vertices of the daemon; empty without values.
  std::vector<double> save();
  void restore(const std::vector<double>& values);

 private:
  TrainerLane& lane(std::size_t number) { return communicator_.lane(copy_, number); }
  void command(const MemoryRequestHeader& header);

  Device& device_;
  Communicator& communicator_;
  TrainingGroups groups_;
  MemoryShape shape_;
  std::size_t copy_;
  std::int64_t trainer_;  // in its group
  Event led_, written_;
};

}  // namespace strobe
