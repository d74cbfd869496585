// Lists of peers of a halo of which only numbers are known: what a reader needs is dealt to the other owners by a
// formula, so that what any pair of ranks exchanges is computed when it is asked for, and no pair is stored.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// Of every vertex map, the rows that a reader needs are split among its other owners in proportion to what they own:
/// going round from the reader, owners have together given the nearest whole number to their share.
class DealtRows {
 public:
  /// `needs.counted` of ranks and steps. Cost: O(needs + ranks of each map of which something is needed).
  DealtRows(const Placement& placement, const HaloNeeds& needs);

  int ranks() const { return ranks_; }
  bool reads(int reader) const { return !needs_[static_cast<std::size_t>(reader)].empty(); }
  /// Rows that the `places` owners behind `reader` have given it together. Cost: O(maps that it reads).
  std::int64_t given(int reader, int places) const;
  /// Rows that come from `owner`, another rank.
  std::int64_t rows(int reader, int owner) const;
  /// Rows that come from ranks [first, last).
  std::int64_t rows_between(int reader, int first, int last) const;

 private:
  struct Need {
    const std::vector<std::int64_t>* owned_before = nullptr;
    double rows = 0;
  };
  int place_of(int reader, int owner) const { return owner > reader ? owner - reader : owner - reader + ranks_; }

  int ranks_;
  std::vector<std::vector<std::int64_t>> owned_before_;  // [maps][P + 1] vertices of the ranks before each
  std::vector<std::vector<Need>> needs_;                 // [P]
};

/// The side of `rank` that sends, or receives, what is dealt. `totals` are those of its entries.
SharedPeers dealt_peers(std::shared_ptr<const DealtRows> dealt, Rank rank, PeerRole role, const PeerTotals& totals);

}  // namespace strobe
