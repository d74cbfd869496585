// How many pins of each net each rank has, kept up to date while nodes move, and what a move gains.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/placement/chunks/assign/cell_nets.hpp"

namespace strobe {

/// A move of a node to another rank, and by how much less is sent after it.
struct NodeMove {
  std::int64_t gain = 0;
  Rank to = -1;  // -1: no rank may take the node
};

/// Every net has pins of several nodes. Memory: 24 bytes for each net, and 8 for each pin at most.
class NetRanks {
 public:
  /// `rank` and `load` change with each move.
  NetRanks(const CellNets& nets, int ranks, std::span<Rank> rank, std::span<double> load);

  /// The move of the node that gains most, to a rank that has room below `most` afterwards. Ties go to the rank with
  /// the least load, then to the first. Ranks that hold no pin of its nets are looked at if `anywhere`.
  NodeMove best_move(std::uint32_t node, double most, bool anywhere = false);
  /// Moves it. Calls changed(net) for each net whose other pins may gain more or less by moves afterwards.
  template <class Changed>
  void move(std::uint32_t node, Rank to, const Changed& changed) {
    const Rank from = rank_[node];
    for (std::int64_t e = nets_.offsets[node]; e < nets_.offsets[node + std::size_t{1}]; ++e) {
      const std::uint32_t left = add(nets_.nets[e], from, -1), there = add(nets_.nets[e], to, 1);
      if (left < 2 || there < 3) changed(nets_.nets[e]);
    }
    rank_[node] = to;
    load_[from] -= nets_.load[node], load_[to] += nets_.load[node];
    --held_[from], ++held_[to];
  }
  /// Whether a net of the node has pins on several ranks.
  bool at_border(std::uint32_t node) const;

 private:
  struct Part {
    Rank rank = 0;
    std::uint32_t pins = 0;
  };
  /// The numbers of a net side by side, because the search spends its time on reading them.
  struct Net {
    std::int64_t weight = 0, first = 0;  // `first` of its parts: there is room for all ranks that it can meet
    std::uint32_t count = 0;             // its ranks
  };
  /// Returns the rank's pins of the net afterwards.
  std::uint32_t add(std::uint32_t net, Rank rank, int pins);

  const CellNets& nets_;
  std::span<Rank> rank_;
  std::span<double> load_;
  std::vector<std::int64_t> held_;  // [P] nodes
  GrowingColumn<Net> met_;          // [nets]
  GrowingColumn<Part> parts_;
  std::vector<std::int64_t> kept_;  // [P] scratch: what would not be sent to a rank
};

}  // namespace strobe
