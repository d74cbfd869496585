// One rank's lanes to a memory daemon, and what is said through them.
#pragma once

#include <memory>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/events/groups/memory_daemon.hpp"

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
  /// Waits until the leader's last word has been heard.
  void finish() { device_.await(led_); }

  /// Of the leader: memory, then mails, of all vertices of the daemon; empty without values.
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
  Event led_;
};

}  // namespace strobe
