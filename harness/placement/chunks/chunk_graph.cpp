#include "harness/placement/chunks/chunk_graph.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/placement/chunks/grouping.hpp"

namespace strobe {
namespace {

std::vector<std::uint32_t> sequence_of_nodes(const SuperGraph& graph) {
  std::vector<std::uint32_t> of(graph.nodes());
  for (std::size_t s = 0; s < graph.sequences.size(); ++s) {
    const NodeSequence& sequence = graph.sequences[s];
    std::fill(of.begin() + sequence.first, of.begin() + sequence.end(), static_cast<std::uint32_t>(s));
  }
  return of;
}

/// Number of cells of a chunk in a sequence.
struct Meeting {
  std::uint32_t sequence = 0, chunk = 0;
  std::int64_t cells = 0;
};

/// Sorted by sequence, then by the order of chunks in it.
std::vector<Meeting> meetings_of(const SuperGraph& graph, const std::vector<std::uint32_t>& chunk) {
  std::vector<Meeting> meetings;
  LabelSums cells;
  for (std::size_t s = 0; s < graph.sequences.size(); ++s) {
    const NodeSequence& sequence = graph.sequences[s];
    cells.clear();
    for (NodeId node = sequence.first; node < sequence.end(); ++node) cells.add(chunk[node], 1);
    for (const std::uint32_t c : cells.labels()) meetings.push_back({static_cast<std::uint32_t>(s), c, cells.of(c)});
  }
  return meetings;
}

/// Rows of the chunk graph: the weights that each chunk shares with others.
class Rows {
 public:
  Rows(const SuperGraph& graph, ChunkGraph& chunks) : graph_(graph), chunks_(chunks) {
    if (graph.weights.whole_sequence == 0) return;
    meetings_ = meetings_of(graph, chunks.of_node);
    of_chunk_ = grouped(chunks.cells.size(), meetings_.size(), [this](std::size_t i) { return meetings_[i].chunk; });
    of_sequence_.assign(graph.sequences.size() + 1, 0);
    for (const Meeting& meeting : meetings_) ++of_sequence_[meeting.sequence + 1];
    std::partial_sum(of_sequence_.begin(), of_sequence_.end(), of_sequence_.begin());
  }

  void fill() {
    const std::vector<std::uint32_t> sequence_of = sequence_of_nodes(graph_);
    const auto& of_node = chunks_.of_node;
    const Grouped members =
        grouped(chunks_.cells.size(), sequence_of.size(), [&of_node](std::size_t i) { return of_node[i]; });
    make_room();
    chunks_.offsets.push_back(0);
    for (std::uint32_t c = 0; c < chunks_.cells.size(); ++c) {
      shared_.clear();
      for (std::uint32_t m = members.first[c]; m < members.first[c + 1]; ++m) {
        const NodeId node = members.items[m];
        graph_.for_listed(node, graph_.sequences[sequence_of[node]], [&](NodeId other, std::int64_t weight) {
          if (of_node[other] != c) shared_.add(of_node[other], weight);
        });
      }
      add_whole_sequences(c);
      append_row(shared_, chunks_);
    }
  }

 private:
  /// Reserves what rows of spatial edges and of edges to the step before need at most. Rows that grow would be copied,
  /// while pages that stay empty take no memory.
  void make_room() {
    const double edges = static_cast<double>(graph_.neighbours.size()) + 2 * static_cast<double>(graph_.nodes());
    const double chunks = chunks_.cells.size();
    const auto room = static_cast<std::size_t>(std::min(edges, chunks * (chunks - 1)));
    chunks_.neighbours.reserve(room), chunks_.traffic.reserve(room);
  }

  void add_whole_sequences(std::uint32_t c) {
    if (meetings_.empty()) return;
    for (std::uint32_t i = of_chunk_.first[c]; i < of_chunk_.first[c + 1]; ++i) {
      const Meeting& own = meetings_[of_chunk_.items[i]];
      for (std::uint32_t j = of_sequence_[own.sequence]; j < of_sequence_[own.sequence + 1]; ++j) {
        const Meeting& other = meetings_[j];
        if (other.chunk != c) shared_.add(other.chunk, graph_.weights.whole_sequence * own.cells * other.cells);
      }
    }
  }
  const SuperGraph& graph_;
  ChunkGraph& chunks_;
  std::vector<Meeting> meetings_;
  Grouped of_chunk_;
  std::vector<std::uint32_t> of_sequence_;  // [sequences + 1] into meetings_
  LabelSums shared_;
};

}  // namespace

void append_row(const LabelSums& shared, ChunkGraph& chunks) {
  std::vector<std::uint32_t> others = shared.labels();
  std::sort(others.begin(), others.end());
  for (const std::uint32_t other : others) {
    chunks.neighbours.push_back(other);
    chunks.traffic.push_back(shared.of(other));
  }
  chunks.offsets.push_back(static_cast<std::int64_t>(chunks.neighbours.size()));
}

ChunkGraph chunk_graph(const SuperGraph& graph, std::vector<std::uint32_t> labels) {
  const std::uint32_t count = number_labels(labels);
  return chunk_graph(graph, std::move(labels), count);
}

ChunkGraph chunk_graph(const SuperGraph& graph, std::vector<std::uint32_t> chunk, std::uint32_t count) {
  ChunkGraph chunks;
  chunks.cells.assign(count, 0);
  for (std::int64_t node = 0; node < graph.nodes(); ++node) ++chunks.cells[chunk[node]];
  chunks.of_node = std::move(chunk);
  Rows(graph, chunks).fill();
  return chunks;
}

std::int64_t cut_between(const ChunkGraph& chunks, const std::vector<Rank>& part) {
  std::int64_t twice = 0;
  for (std::size_t c = 0; c < chunks.cells.size(); ++c) {
    for (std::int64_t e = chunks.offsets[c]; e < chunks.offsets[c + 1]; ++e) {
      const std::size_t at = e;
      if (part[c] != part[chunks.neighbours[at]]) twice += chunks.traffic[at];
    }
  }
  return twice / 2;
}

std::int64_t cut_between_chunks(const ChunkGraph& chunks) {
  return std::accumulate(chunks.traffic.begin(), chunks.traffic.end(), std::int64_t{0}) / 2;
}

}  // namespace strobe
