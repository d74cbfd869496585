// How many rows of a memory that lies on several nodes each rank reads and writes on each of them, known before
// training: what a batch reads follows from the events alone, so exchanges are planned to the row.
#pragma once

#include <memory>
#include <vector>

#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/batches/event_case.hpp"

namespace strobe {

/// What one rank wants of one node's vertices in one iteration.
struct RowsOfNode {
  std::vector<std::int64_t> vertices, mails;  // by set of negatives: read, and of these with a mail
  std::int64_t written = 0;

  std::int64_t all_vertices() const;
  std::int64_t all_mails() const;
};

/// Row v of the memory lies on node v mod `nodes`; ranks are dealt to nodes in equal parts, one after the other.
class RemoteRows {
 public:
  /// Draws the first `iterations` iterations of all ranks of `order`, which has one copy of the memory.
  RemoteRows(const EventCase& c, const BatchOrder& order, std::int64_t nodes, std::int64_t iterations);

  std::int64_t nodes() const { return nodes_; }
  std::int64_t ranks_of_node() const { return order_.groups().ranks() / nodes_; }
  std::int64_t node_of(std::int64_t rank) const { return rank / ranks_of_node(); }
  /// The rank of node `node` that reads and writes there for `rank`.
  std::int64_t agent(std::int64_t rank, std::int64_t node) const {
    return node * ranks_of_node() + rank % ranks_of_node();
  }
  /// Vertices of `all` that lie on that node.
  std::int64_t vertices_of(std::int64_t node, std::int64_t all) const { return (all - node + nodes_ - 1) / nodes_; }

  const RowsOfNode& rows(std::int64_t iteration, std::int64_t rank, std::int64_t node) const;
  /// The most that a daemon's trainer reads and writes at a time, for itself and for others.
  std::int64_t most_read() const { return most_read_; }
  std::int64_t most_written() const { return most_written_; }
  /// Bytes that all ranks together send in the iterations [first, end): numbers of vertices, and rows of memory and
  /// mails, `row_bytes` a row of memory.
  std::uint64_t sent_bytes(std::int64_t first, std::int64_t end, std::uint64_t row_bytes) const;

 private:
  void find_most();

  BatchOrder order_;
  std::int64_t nodes_;
  std::vector<std::vector<RowsOfNode>> rows_;  // by iteration; [rank, node]
  std::int64_t most_read_ = 0, most_written_ = 0;
};

}  // namespace strobe
