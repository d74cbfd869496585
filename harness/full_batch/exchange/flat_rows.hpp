// One rank's side of an exchange, row by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/errors.hpp"
#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// The rows of a tensor that one rank sends to, or gets from, its peers: one peer after the other.
class FlatRows {
 public:
  FlatRows(const PeerSide& side, int ranks, std::int64_t RowMove::*row_in_tensor) {
    std::int64_t first = 0;
    const std::vector<PeerRows> of_peers = rows_of_ranks(side.parts(), ranks);
    for (std::size_t q = 0; q < of_peers.size(); ++q) {
      if (of_peers[q].count > 0) peers_.push_back({static_cast<Rank>(q), first, of_peers[q].count});
      first += of_peers[q].count;
    }
    for (const RowMove& move : side.list) {
      for (std::int64_t i = 0; i < move.rows; ++i) rows_.push_back(move.*row_in_tensor + i);
    }
    if (static_cast<std::int64_t>(rows_.size()) != side.total)
      throw Error("exchange: a route through servers needs the index lists of all ranks");
  }

  struct Peer {
    Rank rank = 0;
    std::int64_t first = 0, count = 0;
  };
  const std::vector<Peer>& peers() const { return peers_; }
  const std::vector<std::int64_t>& rows() const { return rows_; }
  /// Position of the first row of a peer that has rows.
  std::int64_t first_of(Rank peer) const {
    return std::lower_bound(peers_.begin(), peers_.end(), peer, [](const Peer& a, Rank b) { return a.rank < b; })
        ->first;
  }

 private:
  std::vector<Peer> peers_;
  std::vector<std::int64_t> rows_;
};

}  // namespace strobe
