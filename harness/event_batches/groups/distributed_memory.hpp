// One rank's end of node memory that lies on several nodes, row v on node v mod their number (DistTGL, Fig. 2b: what
// one memory for all nodes costs). Each node has a daemon for its rows. A rank reads and writes rows of its own node
// through it, and those of another through a rank of that node, its agent there.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness/event_batches/groups/group_memory.hpp"
#include "harness/event_batches/groups/memory_lanes.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"

namespace strobe {

/// Daemons of the nodes, as those of as many copies: each rank of a node is a trainer of its own.
TrainingGroups daemons_of_nodes(const RemoteRows& remote);
/// Sizes of one node's part of a memory of shape `whole`.
MemoryShape shape_of_node(const MemoryShape& whole, const RemoteRows& remote, std::int64_t node);

class DistributedMemory final : public GroupMemory {
 public:
  DistributedMemory(Device& device, Communicator& communicator, const MemoryShape& whole,
                    std::shared_ptr<const RemoteRows> remote);

  bool of_all_ranks() const override { return true; }
  void begin(std::int64_t sequence, bool resets) override;
  std::vector<ComingRows> read(const std::vector<SharedDraw>& drawn, const std::vector<MemoryLists>& lists) override;
  void write(const SharedDraw& drawn, const MemoryLists& lists, const Tensor& updated) override;
  void finish() override { lanes_.finish(); }

  std::int64_t saved_values() const override { return lanes_.saved_values(); }
  std::vector<double> save() override { return lanes_.save(); }
  void restore(const std::vector<double>& values) override { lanes_.restore(values); }

 private:
  /// Rows by node: asked of its agent by this rank, and given to the rank there whose agent this one is. The own node
  /// has its place in both, with the same number, and nothing is sent for it.
  struct Counts {
    std::vector<std::int64_t> asked, given;
  };
  using ListsByNode = std::vector<std::vector<std::int64_t>>;

  Counts counts_of(const std::function<std::int64_t(const RowsOfNode&)>& rows_of) const;
  /// Sends the rows of `send`, those of `sends` one node's behind the other's with the own among them, and receives
  /// those of `receives` without the own.
  void exchange(const Tensor& send, const std::vector<std::int64_t>& sends, const Tensor& receive,
                const std::vector<std::int64_t>& receives);
  /// Sends lists to the agents; returns what this rank is asked for. Empty lists without values.
  ListsByNode exchange_lists(const ListsByNode& own, const Counts& counts);
  /// The own daemon's answer: memory of the listed vertices, mails of the first of them.
  void ask_daemon(std::vector<std::int64_t> list, const Tensor& memory, const Tensor& mails);
  /// What this rank's daemon is given: its rows, and received ones behind them.
  void tell_daemon(std::vector<std::int64_t> list, const std::vector<Tensor>& memory, const std::vector<Tensor>& mails);
  /// Puts together what the sets read, of all rows that are there.
  std::vector<ComingRows> rows_of_sets(const std::vector<SharedDraw>& drawn, const Counts& with_mail,
                                       const Counts& without, const Tensor& memory, const Tensor& mails) const;
  Tensor list_on_device(const std::vector<std::int64_t>& list) const;

  Device& device_;
  std::shared_ptr<const RemoteRows> remote_;
  std::int64_t rank_, node_;
  std::unique_ptr<Communicator> column_;  // this rank and its agents, by node
  MemoryShape shape_;                     // of this node's part
  MemoryLanes lanes_;
  std::int64_t sequence_ = 0;
  Event moved_;  // when the lane's answer has been taken
};

}  // namespace strobe
