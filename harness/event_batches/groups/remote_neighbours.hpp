// Draws batches whose neighbours and edge features lie on several nodes: those of vertex v on node v mod the number of
// nodes. A rank asks its agent on the owner's node. Each level is one exchange of roots and one of their neighbours.
// Then the batch's distinct events get their features in two exchanges. The numbers of rows are planned (RemoteRows).
// All sets of negatives share these exchanges. Messages travel during training, which takes a step of the draws now and
// then.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "harness/event_batches/batches/event_part.hpp"
#include "harness/event_batches/groups/node_exchange.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"

namespace strobe {

class RemoteNeighbours final : public JointDraws {
 public:
  /// Draws from `data`, one of the case's, which must outlive it; `part` is the own node's share. `column`: this rank
  /// and its agents, by node (RemoteRows::columns).
  RemoteNeighbours(const EventCase& c, const EventData& data, Device& device, std::shared_ptr<Communicator> column,
                   std::shared_ptr<const RemoteRows> remote, std::shared_ptr<const EventPart> part);
  ~RemoteNeighbours() override;

  void start(std::int64_t sequence, const std::vector<BatchRequest>& requests,
             std::vector<std::shared_ptr<BatchDraw>> drawn, WalkState& state) override;
  void advance() override;
  void finish(std::int64_t iteration) override;

 private:
  struct Draws;  // of one iteration, under way

  /// Waits for the exchange or the host work that the draws have begun last, and begins the next.
  void step(Draws& draws);
  /// Asks for the neighbours of the level's roots.
  void ask(Draws& draws);
  /// Makes the draws from the neighbours of all levels.
  void end_levels(Draws& draws);
  /// Draws the neighbours of the roots that each node asks for: first their numbers, then the neighbours.
  void draw_neighbours(Draws& draws, ByNode<RemoteRoot> roots);
  void take_neighbours(Draws& draws, const ByNode<std::int64_t>& answers);
  void ask_features(Draws& draws);
  void gather_features(Draws& draws, ByNode<EdgeId> events);
  void take_features(Draws& draws, const ByNode<float>& rows) const;
  /// The rows of an exchange in which this rank asks; `rows_of` gives its rows of one node.
  template <class RowsOf>
  NodeCounts counts_of(const Draws& draws, const RowsOf& rows_of) const;
  std::size_t node_of(std::int64_t vertex) const { return static_cast<std::size_t>(vertex % remote_->nodes()); }

  const EventData& data_;
  Device& device_;
  std::shared_ptr<const RemoteRows> remote_;
  std::shared_ptr<const EventPart> part_;
  SamplingRule rule_;
  std::int64_t levels_;
  std::int64_t rank_, node_;
  std::shared_ptr<Communicator> column_;
  std::deque<std::unique_ptr<Draws>> under_way_;
  EdgeId rested_ = 0;  // pages of events below it were given back in this sweep
};

}  // namespace strobe
