// Draws batches whose neighbours and edge features lie on several nodes: those of vertex v on node v mod the number of
// nodes. A rank asks its agent on the owner's node. Each level is one exchange of roots and one of their neighbours.
// Then the batch's distinct events get their features in two exchanges. The numbers of rows are planned (RemoteRows).
#pragma once

#include <memory>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/event_batches/batches/event_part.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"

namespace strobe {

class RemoteNeighbours final : public JointDraws {
 public:
  RemoteNeighbours(const EventCase& c, Device& device, Communicator& communicator,
                   std::shared_ptr<const RemoteRows> remote, std::shared_ptr<const EventPart> part);

  void draw(std::int64_t sequence, std::size_t set, const BatchRequest* request, GroupDrawState& state,
            BatchDraw& drawn) override;

 private:
  template <class T>
  using ByNode = std::vector<std::vector<T>>;
  /// Rows by node: those that this rank asks for there, and those that it gives to the rank there.
  struct Counts {
    std::vector<std::int64_t> asked, given;
  };
  enum class Way { ask, answer };

  template <class RowsOf>
  Counts counts_of(const RowsOf& rows_of) const;
  /// Sends rows of `columns` values to the other nodes, and returns those from there. The own node's rows stay. Without
  /// values, nothing comes.
  template <class T>
  ByNode<T> exchange(const ByNode<T>& own, const Counts& counts, Way way, std::int64_t columns, ElementType type);
  NeighbourSample sample(const std::vector<RemoteRoot>& roots, std::size_t at);
  /// Draws the neighbours of the roots that each node asks for: their numbers, then the neighbours.
  ByNode<std::int64_t> give(const ByNode<RemoteRoot>& roots, const Counts& counts);
  NeighbourSample assemble(const std::vector<RemoteRoot>& roots, const ByNode<std::int64_t>& answers) const;
  void fetch_features(std::size_t set, BatchDraw& drawn);
  std::size_t node_of(std::int64_t vertex) const { return static_cast<std::size_t>(vertex % remote_->nodes()); }

  Device& device_;
  std::shared_ptr<const RemoteRows> remote_;
  std::shared_ptr<const EventPart> part_;
  SamplingRule rule_;
  std::int64_t levels_;
  std::shared_ptr<const EventGraph> graph_;
  std::int64_t rank_, node_;
  std::unique_ptr<Communicator> column_;  // this rank and its agents, by node
  std::int64_t sequence_ = 0;             // of the current draw
};

}  // namespace strobe
