// Invariant: senders and readers list the same entries, because both are differences of `DealtRows::given`. Sums of
// vertices are whole numbers below 2^53, so shares do not depend on the order of addition.
#include "harness/full_batch/exchange/dealt_peers.hpp"

#include <algorithm>
#include <cmath>

namespace strobe {
namespace {

class DealtPeers final : public PeerList {
 public:
  DealtPeers(std::shared_ptr<const DealtRows> dealt, Rank rank, PeerRole role, const PeerTotals& totals)
      : dealt_(std::move(dealt)), rank_(rank), role_(role) {
    totals_ = totals;
  }

  PeerParts parts() const override {
    PeerParts parts;
    std::int64_t next = 0;
    for (int peer = 0; peer < dealt_->ranks(); ++peer) {
      const std::int64_t rows = do_rows_between(peer, peer + 1);
      append_part(parts, {next, rows, peer, 1});
      next += rows;
    }
    return parts;
  }

 private:
  std::int64_t do_rows_between(int first, int last) const override {
    if (role_ == PeerRole::receiver) return dealt_->rows_between(rank_, first, last);
    std::int64_t rows = 0;
    for (int reader = first; reader < last; ++reader) rows += reader == rank_ ? 0 : dealt_->rows(reader, rank_);
    return rows;
  }

  std::shared_ptr<const DealtRows> dealt_;
  Rank rank_;
  PeerRole role_;
};

}  // namespace

DealtRows::DealtRows(const Placement& placement, const HaloNeeds& needs)
    : ranks_(placement.ranks), owned_before_(placement.maps.size()), needs_(static_cast<std::size_t>(ranks_)) {
  for (std::size_t r = 0; r < needs_.size(); ++r) {
    std::vector<std::int64_t> of_map(needs.counted[r].empty() ? 0 : placement.maps.size(), 0);
    for (std::size_t t = 0; t < needs.counted[r].size(); ++t) of_map[placement.map_of_step[t]] += needs.counted[r][t];
    for (std::size_t m = 0; m < of_map.size(); ++m) {
      if (of_map[m] <= 0) continue;
      std::vector<std::int64_t>& before = owned_before_[m];
      if (before.empty()) {
        before.push_back(0);
        for (Rank q = 0; q < ranks_; ++q) before.push_back(before.back() + placement.maps[m]->count_of(q));
      }
      if (before.back() > before[r + 1] - before[r]) needs_[r].push_back({&before, static_cast<double>(of_map[m])});
    }
  }
}

std::int64_t DealtRows::given(int reader, int places) const {
  const auto own = static_cast<std::size_t>(reader), count = static_cast<std::size_t>(ranks_);
  const std::size_t end =
      own + 1 + static_cast<std::size_t>(places);  // one past the last of them, counting past the last rank
  std::int64_t rows = 0;
  for (const Need& need : needs_[own]) {
    const std::vector<std::int64_t>& before = *need.owned_before;
    const std::int64_t all = before.back(), behind = before[own + 1];
    const std::int64_t seen = end <= count ? before[end] - behind : all - behind + before[end - count];
    const std::int64_t others = all - (behind - before[own]);
    rows += std::llround(need.rows * static_cast<double>(seen) / static_cast<double>(others));
  }
  return rows;
}

std::int64_t DealtRows::rows(int reader, int owner) const {
  const int place = place_of(reader, owner);
  return given(reader, place) - given(reader, place - 1);
}

std::int64_t DealtRows::rows_between(int reader, int first, int last) const {
  const auto along = [this, reader](int from, int to) {
    if (from >= to) return std::int64_t{0};
    return given(reader, place_of(reader, to - 1)) - given(reader, place_of(reader, from) - 1);
  };
  return along(first, std::min(last, reader)) + along(std::max(first, reader + 1), last);
}

SharedPeers dealt_peers(std::shared_ptr<const DealtRows> dealt, Rank rank, PeerRole role, const PeerTotals& totals) {
  return std::make_shared<const DealtPeers>(std::move(dealt), rank, role, totals);
}

}  // namespace strobe
