// One rank's channels to a memory daemon, and the requests on them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/event_batches/groups/memory_daemon.hpp"

namespace strobe {

/// Numbers of vertices. Shared, because host tasks read them later.
using VertexList = std::shared_ptr<const std::vector<std::int64_t>>;

/// A request waits only for its channel to be free. Calls that wait for an answer throw HelperTimeout or PeerFailed.
class MemoryChannels {
 public:
  /// Connects rank `communicator.rank()` of `groups` with the daemon of its copy.
  MemoryChannels(Device& device, Communicator& communicator, const TrainingGroups& groups, const MemoryShape& shape);

  bool leads() const { return trainer_ == 0; }
  TrainerChannel& read(std::int64_t set) { return channel(read_channel(groups_, trainer_, set)); }
  TrainerChannel& write() { return channel(write_channel(groups_, trainer_)); }

  /// Announces the batch that is read and written next; with `resets`, memory and mails are set to zero first. With
  /// `evaluates`, it is in the memory of an evaluation. Does nothing on ranks other than the leader.
  void begin(std::int64_t sequence, bool resets, bool evaluates = false);
  /// The host puts a request's header and list into `to` after `after`. Without values the list may be null.
  DeviceEvent put_list(TrainerChannel& to, const MemoryRequestHeader& header, const VertexList& list,
                       const DeviceEvent& after);
  /// Sends the request in the write channel after all of `after`. `written` is the answer to the last write.
  void send_write(std::vector<DeviceEvent> after) { written_ = write().ask(std::move(after)); }
  const DeviceEvent& written() const { return written_; }
  /// Waits for the answers to the last write and to the leader's last command.
  void finish();

  /// The number of values that `save` returns: all of the daemon's on the leader, 0 on other ranks.
  std::int64_t saved_values() const { return leads() ? 3 * shape_.vertices * shape_.width : 0; }
  /// On the leader: memory [N, d], then mails [N, 2 d], of all N vertices of the daemon. Empty elsewhere and without
  /// values.
  std::vector<double> save();
  void restore(const std::vector<double>& values);

 private:
  TrainerChannel& channel(std::size_t number) { return communicator_.channel(copy_, number); }
  void command(const MemoryRequestHeader& header);

  Device& device_;
  Communicator& communicator_;
  TrainingGroups groups_;
  MemoryShape shape_;
  std::size_t copy_;
  std::int64_t trainer_;  // in its group
  DeviceEvent led_, written_;
};

}  // namespace strobe
