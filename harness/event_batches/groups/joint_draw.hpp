// The work of a rank's host for the draws of one iteration, between their messages (RemoteNeighbours): it makes
// messages from what is known so far, and takes the answers in. All sets of negatives of a batch are one draw here.
// It knows the vertices of its batch alone.
#pragma once

#include <memory>
#include <vector>

#include "backends/span.hpp"
#include "harness/event_batches/batches/batch_draw.hpp"
#include "harness/event_batches/batches/event_part.hpp"
#include "harness/event_batches/groups/node_exchange.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"

namespace strobe {

class JointDraw {
 public:
  /// Draws `requests` of `data`, one of the case's, into `drawn`, for a rank of node `node`. Both lists are empty if
  /// the rank begins no batch. Case and data must outlive it.
  JointDraw(const EventCase& c, const EventData& data, std::shared_ptr<const RemoteRows> remote, std::int64_t node,
            std::vector<BatchRequest> requests, std::vector<std::shared_ptr<BatchDraw>> drawn);

  bool empty() const { return requests_.empty(); }
  EdgeId batch_first() const { return requests_.front().batch_first; }
  /// Finds the roots of all events. The first call.
  void begin();
  /// Roots of a level, by the node that has their neighbours.
  ByNode<RemoteRoot> roots(std::int64_t level);
  /// Takes the neighbours of these roots: by node, how many each root has, and then all of them.
  void take_neighbours(std::int64_t level, const ByNode<std::int64_t>& answers);
  /// The distinct vertices of each set, by their nodes, after the neighbours of all levels came.
  ByNode<std::int64_t> vertices();
  /// Makes the draws from the times of these vertices; without `there`, vertices have none. Then takes their features
  /// and static memory, by node, [vertices, width]; `given`: whether these have values.
  void finish(const ByNode<VertexTimes>& times, bool there);
  void take_vertex_features(const ByNode<float>& rows, std::int64_t width, bool given);
  /// The distinct events of neighbours and mails, by the node that sends their features.
  ByNode<EdgeId> feature_events();
  /// Takes the features of these events, by node, [events, width]. `there`: whether they have values.
  void take_features(const ByNode<float>& rows, std::int64_t width, bool there);

  /// The approximate work of finding `roots`, taking `slots` neighbours, and finishing with `asked` vertices.
  static Work work(std::int64_t roots, std::int64_t slots, std::int64_t asked);

 private:
  /// Where the features of an event are in the answers.
  struct Place {
    std::size_t node = 0, row = 0;
  };
  std::size_t node_of(std::int64_t vertex) const { return static_cast<std::size_t>(vertex % remote_->nodes()); }

  const EventData& data_;
  std::shared_ptr<const RemoteRows> remote_;
  std::int64_t node_;
  Sampling sampling_;
  std::vector<BatchRequest> requests_;                // of each set
  std::vector<BatchDrawer> drawers_;                  // of each set
  std::vector<std::shared_ptr<BatchDraw>> drawn_;     // of each set
  std::vector<std::vector<RemoteRoot>> roots_;        // of each set, in the level that was asked last
  std::vector<std::vector<VertexId>> vertices_;       // of each set, distinct
  std::vector<std::vector<Place>> places_;            // of each set's distinct events
  std::vector<std::vector<std::uint32_t>> place_of_;  // of each set (FeatureEvents)
};

}  // namespace strobe
