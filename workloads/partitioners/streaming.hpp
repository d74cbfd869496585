// One-pass partitioners: each vertex is placed when its list is read, and stays where it is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "workloads/partitioners/graph_share.hpp"

namespace strobe {

/// Sizes of the whole graph, which are known before the pass.
struct StreamTotals {
  std::int64_t vertices = 0;
  std::int64_t work = 0;   // of all vertices
  std::int64_t edges = 0;  // entries of all steps between two different vertices
  int parts = 1;
  /// The most work that a part may hold where another part has room.
  std::int64_t capacity() const;
};

/// How a one-pass partitioner compares parts. The part of the largest score gets the vertex. Between equal scores the
/// part with less work gets it, then the part of the smaller number.
struct StreamRule {
  /// Returns the price of a part that holds `load` work.
  double (*price)(const StreamTotals& totals, double load);
  /// Returns the score of a part with that price. The vertex has `work`, and its edges to placed vertices of the part
  /// weigh `weight`.
  double (*score)(double weight, double work, double price);
};

/// The vertices placed so far. Memory: 4 bytes a vertex and 24 bytes a part.
class StreamedParts {
 public:
  StreamedParts(const StreamRule& rule, const StreamTotals& totals);

  /// Places a vertex; neighbours that are not placed yet do not count.
  void place(VertexId v, std::int64_t work, std::span<const VertexId> neighbours,
             std::span<const std::int32_t> weights);

  /// Takes over the placements of another process: owners of the vertices from `first` on, and all loads.
  void take(std::int64_t first, const std::vector<Rank>& owners, std::vector<std::int64_t> loads);

  /// [N]; unplaced vertices have -1.
  std::vector<Rank> owner;
  /// Work by part [parts].
  std::vector<std::int64_t> load;

 private:
  Rank best_part(std::int64_t work) const;

  const StreamRule rule_;
  const StreamTotals totals_;
  std::vector<double> price_;         // by part
  std::vector<std::int64_t> weight_;  // by part, of the vertex that is being placed
};

/// Places all vertices by ascending number, and returns all owners on every process. Processes place their shares one
/// after the other, so their number changes nothing. Reads the lists of one block of vertices at a time: at most a
/// sixteenth of the graph, or 65,536 vertices.
/// Cost of a process: O(16 nnz) to read its blocks, O(d log d) for a list of d entries, and O(parts) for a vertex.
std::vector<Rank> stream_vertices(const GraphShare& share, int parts, const StreamRule& rule);

}  // namespace strobe
