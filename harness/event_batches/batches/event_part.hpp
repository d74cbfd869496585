// The part of the events that one node holds in training: the neighbours and features of its vertices, and the edge
// features of their events. Vertex v is of node v mod the number of nodes, like its memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/event_batches/batches/event_data.hpp"
#include "harness/event_batches/batches/vertex_share.hpp"
#include "workloads/continuous/neighbour_sample.hpp"

namespace strobe {

/// A root as one node asks another for its neighbours. Integers only, so that a list of roots is one message.
struct RemoteRoot {
  std::int64_t vertex = 0;
  std::int64_t before = 0;     // events that count are below it; for `tgl_compat`, those from it on are hidden
  std::int64_t number = 0;     // keys the draws of `uniform`
  std::int64_t time_bits = 0;  // the moment, as the bits of a double

  static constexpr std::int64_t words = 4;
};

/// The roots of a level as messages.
std::vector<RemoteRoot> remote_roots(const SampleRoots& roots, Sampling sampling);

/// How neighbours are drawn; equal on all nodes.
struct SamplingRule {
  std::int64_t neighbours = 0;
  Sampling sampling = Sampling::recent;
  std::uint64_t seed = 0;
};

class EventPart {
 public:
  /// The part of node `node` of `nodes`. With `copies`, it has memory of its own. Without, it reads `of` where it lies,
  /// and answers for all nodes.
  EventPart(const EventData& of, std::int64_t node, std::int64_t nodes, bool copies);

  /// Draws the neighbours of `roots`, which are of this node and of one batch.
  void sample(std::span<const RemoteRoot> roots, const SamplingRule& rule, Workers& workers,
              NeighbourSample& sample) const;
  /// Writes the features of an event at one of this node's vertices, [edge width].
  void put_features(EdgeId event, float* to) const;
  /// The times of the memory of one of this node's vertices.
  VertexTimes times(VertexId vertex, const TakenEvents& taken, const MemoryMoments& moments) const;
  /// Writes the features of one of this node's vertices, then its static memory, [vertex width].
  void put_vertex(VertexId vertex, float* to) const;
  /// The vertices whose static memory it needs.
  VertexShare share() const { return copies_ ? VertexShare{node_, nodes_} : VertexShare{}; }
  /// Takes pages of the mapped file with ends and times of the events below `end` out of memory, if this part has
  /// memory of its own. They come back when they are read. Cost: a system call, and a look at every page.
  void rest_ends(EdgeId end) const;
  /// The same for all that an evaluation has read.
  void rest_file() const;
  std::int64_t edge_width() const { return data_.widths.edge; }
  /// Neighbours of a node's vertices, about.
  std::int64_t entries() const;
  /// Bytes of its own memory.
  std::uint64_t graph_bytes() const;
  std::uint64_t feature_bytes() const { return (features_.size() + vertex_features_.size()) * sizeof(float); }

 private:
  void copy_neighbours();
  void copy_features();
  void copy_vertices();

  EventData data_;
  std::int64_t node_, nodes_;
  TimeCsr own_;  // of vertex node + l * nodes: row l
  bool copies_;
  std::vector<std::uint32_t> events_;   // ascending: those with a row in `features_`
  std::vector<float> features_;         // [events, edge width]
  std::vector<float> vertex_features_;  // [own vertices, width of their features]
};

}  // namespace strobe
