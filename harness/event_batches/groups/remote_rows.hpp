// Counts the rows of a distributed memory that each rank reads and writes on each node. The counts are known before
// training, because the reads of a batch follow from the events alone. So exchanges are planned exactly.
#pragma once

#include <memory>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/event_batches/batches/batch_draw.hpp"
#include "harness/event_batches/batches/batch_order.hpp"
#include "harness/event_batches/batches/event_case.hpp"

namespace strobe {

class EvaluationOrder;

/// The rows of one node that one rank reads and writes in one iteration.
struct RowsOfNode {
  std::vector<std::int64_t> vertices, mails;  // by set of negatives: rows read, and those of them with a mail
  std::vector<std::int64_t> distinct;         // by set: vertices whose times and features the draw asks for
  std::int64_t written = 0;
  /// [set, level] Roots whose vertex the node owns, and their neighbours; levels outermost first.
  std::vector<std::int64_t> roots, slots;
  std::vector<std::int64_t> features;  // by set: events whose edge features the node sends
  std::int64_t all_vertices() const;
  std::int64_t all_mails() const;
  std::int64_t all_distinct() const;
  /// Roots and neighbours of a level, of all sets.
  std::int64_t roots_of(std::int64_t level) const;
  std::int64_t slots_of(std::int64_t level) const;
  std::int64_t all_features() const;
};

/// The events whose edge features a batch reads.
struct FeatureEvents {
  std::vector<EdgeId> events;           // distinct, ascending
  std::vector<std::uint32_t> place_of;  // in `events`, of each mail's event, then of each level's, innermost first
};
/// Cost: O(mails and slots).
FeatureEvents events_with_features(const BatchDraw& drawn);

/// Bytes that a node answers about a vertex of a draw: the times of its memory, its features and its static memory. 0:
/// draws ask for none.
std::int64_t vertex_answer_bytes(const EventCase& c);

/// Row v of the memory is on node v mod `nodes`. Each node has the same number of consecutive ranks.
class RemoteRows {
 public:
  /// Draws the first `iterations` iterations of all ranks; what repeats, it draws once. `order` must have one copy of
  /// the memory.
  RemoteRows(const EventCase& c, const BatchOrder& order, std::int64_t nodes, std::int64_t iterations);
  /// Draws all steps of an evaluation, which `ranks` ranks take in turn. A step counts as an iteration.
  RemoteRows(const EvaluationOrder& order, std::int64_t ranks, std::int64_t nodes);

  std::int64_t nodes() const { return nodes_; }
  std::int64_t ranks_of_node() const { return ranks_ / nodes_; }
  std::int64_t node_of(std::int64_t rank) const { return rank / ranks_of_node(); }
  /// The rank of node `node` that reads and writes there for `rank`.
  std::int64_t agent(std::int64_t rank, std::int64_t node) const {
    return node * ranks_of_node() + rank % ranks_of_node();
  }
  /// Groups with one rank of each node; ranks of a group are each other's agents.
  RankGroups columns() const;
  /// The node from which ranks of `node` get the edge features of an event: their own if it has one of the ends.
  std::int64_t holder(const EventGraph& graph, EdgeId event, std::int64_t node) const;
  /// The number of `all` vertices that are on the node.
  std::int64_t vertices_of(std::int64_t node, std::int64_t all) const { return (all - node + nodes_ - 1) / nodes_; }

  const RowsOfNode& rows(std::int64_t iteration, std::int64_t rank, std::int64_t node) const;
  /// The most rows that a rank reads and writes at a time through its daemon, for itself and for others.
  std::int64_t most_read() const { return most_read_; }
  std::int64_t most_written() const { return most_written_; }
  /// Total bytes that all ranks send in the iterations [first, end): vertex numbers, and rows of memory and mails. A
  /// row of memory has `row_bytes`.
  std::uint64_t sent_bytes(std::int64_t first, std::int64_t end, std::uint64_t row_bytes) const;
  /// Total bytes that all ranks send to draw the batches of these iterations: roots, their neighbours, answers of
  /// `vertex_bytes` about vertices, and features of `edge_width` values.
  std::uint64_t drawing_bytes(std::int64_t first, std::int64_t end, std::int64_t vertex_bytes,
                              std::int64_t edge_width) const;

 private:
  /// Calls visit(rows) for the rows that each rank reads and writes on each node but its own.
  template <class Visit>
  void for_each_remote(std::int64_t first, std::int64_t end, const Visit& visit) const;
  using IterationRows = std::vector<RowsOfNode>;  // [rank, node]

  /// Draws the batches that begin in iteration `n`.
  IterationRows drawn_rows(const EventCase& c, const BatchOrder& order, std::int64_t n, BatchDrawer& drawer) const;
  /// Adds a draw of a rank of node `own` to its rows `all` [node].
  void count(const BatchDraw& drawn, BatchDrawer& drawer, const EventData& data, std::int64_t own, std::size_t set,
             RowsOfNode* all) const;
  void find_most();

  std::int64_t ranks_, nodes_;
  bool in_turn_ = false;  // iteration n is of rank n mod `ranks_` alone, and its rows are those of [node]
  std::vector<std::shared_ptr<const IterationRows>> rows_;  // by iteration
  std::int64_t most_read_ = 0, most_written_ = 0;
};

}  // namespace strobe
