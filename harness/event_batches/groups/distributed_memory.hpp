// One rank's access to node memory that is spread over several nodes: row v is on node v mod the number of nodes
// (DistTGL, Fig. 2b, the cost of one memory for all nodes). Each node has a daemon for its rows. A rank reads and
// writes rows of its own node through the daemon. For another node it asks a rank there, its agent.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness/event_batches/groups/group_memory.hpp"
#include "harness/event_batches/groups/memory_channels.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"

namespace strobe {

/// The daemons of the nodes, described like those of copies: copy = node, and each rank of the node is a trainer.
TrainingGroups daemons_of_nodes(const RemoteRows& remote);
/// The shape of one node's part of a memory of shape `whole`.
MemoryShape shape_of_node(const MemoryShape& whole, const RemoteRows& remote, std::int64_t node);

class DistributedMemory final : public GroupMemory {
 public:
  /// `column`: this rank and its agents, by node (RemoteRows::columns). With `evaluates`, it is the memory of an
  /// evaluation, which the daemons keep next to that of training. Only one of the two may be in use at a time, until
  /// `finish`.
  DistributedMemory(Device& device, Communicator& communicator, std::shared_ptr<Communicator> column,
                    const MemoryShape& whole, std::shared_ptr<const RemoteRows> remote, bool evaluates = false);

  bool of_all_ranks() const override { return true; }
  void begin(std::int64_t sequence, bool resets) override;
  std::vector<ComingRows> read(const std::vector<SharedDraw>& drawn, const std::vector<MemoryLists>& lists) override;
  void write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) override;
  void finish() override { channels_.finish(); }

  std::int64_t saved_values() const override { return channels_.saved_values(); }
  std::vector<double> save() override { return channels_.save(); }
  void restore(const std::vector<double>& values) override { channels_.restore(values); }

 private:
  /// Rows by node: `asked` from this rank's agent there, and `given` to the rank there that this rank is the agent of.
  /// The own node has an entry with the same number in both; nothing is sent for it.
  struct Counts {
    std::vector<std::int64_t> asked, given;
  };
  using ListsByNode = std::vector<std::vector<std::int64_t>>;

  Counts counts_of(const std::function<std::int64_t(const RowsOfNode&)>& rows_of) const;
  /// Sends the rows of `send`, sorted by node with counts `sends`; rows of the own node are in `send`, but stay.
  /// Receives `receives` rows from each other node, sorted by node without the own.
  void exchange(const Tensor& send, const std::vector<std::int64_t>& sends, const Tensor& receive,
                const std::vector<std::int64_t>& receives);
  /// Sends lists to the agents, and returns the lists that this rank must answer. Without values they are empty.
  ListsByNode exchange_lists(const ListsByNode& own, const Counts& counts);
  /// Reads memory of the listed vertices, and mails of the first of them, from the own daemon.
  void ask_daemon(std::vector<std::int64_t> list, const Tensor& memory, const Tensor& mails);
  /// Writes this rank's rows, followed by the received ones, to the own daemon.
  void tell_daemon(std::vector<std::int64_t> list, const std::vector<Tensor>& memory, const std::vector<Tensor>& mails);
  /// Gathers the rows that each set reads from all rows that were read.
  std::vector<ComingRows> rows_of_sets(const std::vector<SharedDraw>& drawn, const Counts& with_mail,
                                       const Counts& without, const Tensor& memory, const Tensor& mails) const;
  Tensor list_on_device(const std::vector<std::int64_t>& list) const;

  Device& device_;
  std::shared_ptr<const RemoteRows> remote_;
  std::int64_t rank_, node_;
  std::shared_ptr<Communicator> column_;
  MemoryShape shape_;  // of this node's part
  MemoryChannels channels_;
  bool evaluates_;
  std::int64_t sequence_ = 0;
  DeviceEvent moved_;  // the channel's answer has been copied out
};

}  // namespace strobe
