#include "harness/placement/chunks/chunk_graph.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/placement/chunks/grouping.hpp"
#include "harness/placement/chunks/rows_ahead.hpp"

namespace strobe {

GrowingColumn<std::uint32_t> sequence_of_nodes(const SuperGraph& graph) {
  GrowingColumn<std::uint32_t> of(graph.nodes(), reading_bound());
  for (std::size_t s = 0; s < graph.sequences.size(); ++s) {
    const NodeSequence& sequence = graph.sequences[s];
    std::fill(of.begin() + sequence.first, of.begin() + sequence.end(), static_cast<std::uint32_t>(s));
  }
  return of;
}

namespace {

/// Number of cells of a chunk in a sequence.
struct Meeting {
  std::uint32_t sequence = 0, chunk = 0;
  std::int64_t cells = 0;
};

/// Sorted by sequence, then by the order of chunks in it.
GrowingColumn<Meeting> meetings_of(const SuperGraph& graph, const Column<std::uint32_t>& chunk) {
  GrowingColumn<Meeting> meetings;
  LabelSums cells;
  for (std::size_t s = 0; s < graph.sequences.size(); ++s) {
    const NodeSequence& sequence = graph.sequences[s];
    cells.clear();
    for (NodeId node = sequence.first; node < sequence.end(); ++node) cells.add(chunk[node], 1);
    cells.for_each([&](std::uint32_t c, std::int64_t count) {
      meetings.push_back({static_cast<std::uint32_t>(s), c, count});
    });
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
    const GrowingColumn<std::uint32_t> sequence_of = sequence_of_nodes(graph_);
    const auto& of_node = chunks_.of_node;
    const Grouped members =
        grouped(chunks_.cells.size(), sequence_of.size(), [&of_node](std::size_t i) { return of_node[i]; });
    make_room();
    const bool listed = !graph_.offsets.empty();
    const RowsAhead ahead({graph_.offsets.data(), graph_.neighbours.data(), nullptr, of_node.data()},
                          {members.items.data(), listed ? members.items.size() : 0});
    for (std::uint32_t c = 0; c < chunks_.cells.size(); ++c) {
      shared_.clear();
      for (std::uint32_t m = members.first[c]; m < members.first[c + 1]; ++m) {
        const NodeId node = members.items[m];
        ahead.reach(m, [](NodeId) { return true; });
        graph_.for_listed(node, graph_.sequences[sequence_of[node]], [&](NodeId other, std::int64_t weight) {
          if (of_node[other] != c) shared_.add(of_node[other], weight);
        });
      }
      add_whole_sequences(c);
      rows_.append(shared_);
    }
    rows_.finish(chunks_);
  }

 private:
  /// Reserves what rows of spatial edges and of edges to the step before need at most. Rows that grow would be copied,
  /// while pages that stay empty take no memory. In a file they would take room on the disk.
  void make_room() {
    if (reading_bound() != nullptr) return;
    const double edges = static_cast<double>(graph_.neighbours.size()) + 2 * static_cast<double>(graph_.nodes());
    const double chunks = chunks_.cells.size();
    const auto room = static_cast<std::size_t>(std::min(edges, chunks * (chunks - 1)));
    rows_.reserve(room);
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
  ChunkRows rows_;
  GrowingColumn<Meeting> meetings_{};
  Grouped of_chunk_;
  std::vector<std::uint32_t> of_sequence_;  // [sequences + 1] into meetings_
  LabelSums shared_;
};

}  // namespace

void ChunkRows::append(const LabelSums& shared) {
  others_.clear();
  shared.for_each([this](std::uint32_t other, std::int64_t weight) { others_.emplace_back(other, weight); });
  std::sort(others_.begin(), others_.end());
  for (const auto& [other, weight] : others_) {
    neighbours_.push_back(other);
    traffic_.push_back(weight);
  }
  offsets_.push_back(static_cast<std::int64_t>(neighbours_.size()));
}

void ChunkRows::finish(ChunkGraph& chunks) {
  chunks.offsets = offsets_.finish(), chunks.neighbours = neighbours_.finish(), chunks.traffic = traffic_.finish();
}

ChunkGraph chunk_graph(const SuperGraph& graph, Column<std::uint32_t> labels) {
  GrowingColumn<std::uint32_t> chunk;
  chunk.append(labels.data(), labels.size());
  labels.clear();
  const std::uint32_t count = number_labels(chunk);
  return chunk_graph(graph, chunk.finish(), count);
}

ChunkGraph chunk_graph(const SuperGraph& graph, Column<std::uint32_t> chunk, std::uint32_t count) {
  ChunkGraph chunks;
  GrowingColumn<std::int64_t> cells(count, reading_bound());
  for (std::int64_t node = 0; node < graph.nodes(); ++node) ++cells[chunk[node]];
  chunks.cells = cells.finish(), chunks.of_node = std::move(chunk);
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
