// Lists of peers of a halo that is known by its numbers only. A formula deals a reader's needs to the other owners. So
// the rows between two ranks are computed when somebody asks, and no pair is stored.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// Splits the rows that a reader needs of each vertex map among the map's other owners, in proportion to their
/// vertices. Owners are visited in turn, starting after the reader. At each one the total so far is the nearest whole
/// number to its share.
class DealtRows {
 public:
  /// `needs.counted` holds rows by rank and step. Cost: O(needs + ranks of each map with needs).
  DealtRows(const Placement& placement, const HaloNeeds& needs);

  int ranks() const { return ranks_; }
  bool reads(int reader) const { return !needs_[reader].empty(); }
  /// Rows that the first `places` owners after `reader` give it together. Cost: O(maps that it reads).
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

/// The side of `rank` that sends, or receives, the dealt rows. `totals` are the totals of its entries.
SharedPeers dealt_peers(std::shared_ptr<const DealtRows> dealt, Rank rank, PeerRole role, const PeerTotals& totals);

}  // namespace strobe
