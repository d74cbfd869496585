#include "harness/placement/chunks/learned/chunk_sizes.hpp"

#include <algorithm>

namespace strobe {

SizedCells::SizedCells(const PreparedGraph& graph, const SuperGraph& super, bool from_beginning)
    : graph_(graph), super_(super), from_beginning_(from_beginning) {
  const std::size_t nodes = super.nodes();
  row_.resize(nodes), sequence_.resize(nodes);
  for_cells(graph, [&](NodeId node, VertexId v, Step t) { row_[node] = t * graph.vertices + v; });
  for (std::size_t s = 0; s < super.sequences.size(); ++s) {
    for (NodeId node = super.sequences[s].first; node < super.sequences[s].end(); ++node)
      sequence_[node] = static_cast<std::uint32_t>(s);
  }
}

ChunkSizes SizedCells::operator()(std::span<const NodeId> nodes) const {
  ChunkSizes sizes;
  double walks = 0, steps = 0;
  std::vector<double> longest_of_round;
  std::size_t round = 0;
  for (std::size_t i = 0; i < nodes.size();) {
    // Nodes of a sequence follow each other: a run ends where a number is left out or the next sequence begins.
    const std::size_t first = i;
    const std::uint32_t sequence = sequence_[nodes[i]];
    do {
      const std::size_t row = row_[nodes[i]];
      sizes.edges += static_cast<double>(graph_.row_offsets[row + 1] - graph_.row_offsets[row]);
      ++i;
    } while (i < nodes.size() && sequence_[nodes[i]] == sequence && (from_beginning_ || nodes[i] == nodes[i - 1] + 1));
    const NodeId from = from_beginning_ ? super_.sequences[sequence].first : nodes[first];
    const double length = nodes[i - 1] - from + 1;
    // Owners change before a run that does not begin its sequence, and between any two of its runs.
    const bool follows = first > 0 && sequence_[nodes[first - 1]] == sequence;
    round = follows ? round + 2 : from > super_.sequences[sequence].first ? 1 : 0;
    if (longest_of_round.size() <= round) longest_of_round.resize(round + 1, 0.0);
    longest_of_round[round] = std::max(longest_of_round[round], length);
    walks += 1, steps += length;
    sizes.longest = std::max(sizes.longest, length);
  }
  for (const double steps_of_round : longest_of_round) {
    sizes.rounds += steps_of_round > 0 ? 1 : 0;
    sizes.walked += steps_of_round;
  }
  sizes.cells = static_cast<double>(nodes.size());
  sizes.mean_length = walks > 0 ? steps / walks : 0;
  return sizes;
}

std::vector<ChunkSizes> SizedCells::of_chunks(std::span<const std::uint32_t> of_node, std::size_t count) const {
  std::vector<std::size_t> first(count + 1, 0);
  for (const std::uint32_t chunk : of_node) ++first[chunk + 1];
  for (std::size_t c = 0; c < count; ++c) first[c + 1] += first[c];
  std::vector<NodeId> nodes(of_node.size());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t node = 0; node < of_node.size(); ++node) nodes[next[of_node[node]]++] = static_cast<NodeId>(node);
  std::vector<ChunkSizes> sizes;
  for (std::size_t c = 0; c < count; ++c)
    sizes.push_back((*this)(std::span(nodes).subspan(first[c], first[c + 1] - first[c])));
  return sizes;
}

}  // namespace strobe
