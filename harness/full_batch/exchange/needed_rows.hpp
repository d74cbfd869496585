// Which needs of ranks are listed, and the sums of those that are not.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// Lists the needs of a run of owners. With `exchanged`, also what others need of these, and the sums of what others
/// need of each other. Else other owners need nothing.
struct NeedScope {
  Run own{0, std::numeric_limits<std::int32_t>::max()};
  bool exchanged = true;

  NeedScope() = default;
  NeedScope(const Run& owners, bool exchanges) : own(owners), exchanged(exchanges) {}
  /// All needs, or the part of the scope's rank.
  explicit NeedScope(const ListScope& scope) {
    if (scope.others_as_sums) own = {scope.rank, 1};
  }
  bool is_own(Rank owner) const { return owner >= own.first && owner < own.first + own.count; }
  bool reads(Rank reader) const { return exchanged || is_own(reader); }
  bool lists(Rank owner, Rank reader) const { return is_own(reader) || (exchanged && is_own(owner)); }
};

/// Counts rows by pair of ranks. Memory: 8 bytes a rank for each rank that reads something.
class PairSums {
 public:
  explicit PairSums(int ranks) : of_reader_(static_cast<std::size_t>(ranks)) {}
  void add(Rank owner, Rank reader) {
    std::vector<std::int64_t>& of_owner = of_reader_[reader];
    if (of_owner.empty()) of_owner.resize(of_reader_.size());
    ++of_owner[owner];
  }
  /// The pairs with rows, by reader and then by owner.
  std::vector<PairRows> pairs() const {
    std::vector<PairRows> all;
    for (std::size_t reader = 0; reader < of_reader_.size(); ++reader) {
      for (std::size_t owner = 0; owner < of_reader_[reader].size(); ++owner) {
        if (const std::int64_t rows = of_reader_[reader][owner]; rows > 0)
          all.push_back({static_cast<Rank>(owner), static_cast<Rank>(reader), rows});
      }
    }
    return all;
  }

 private:
  std::vector<std::vector<std::int64_t>> of_reader_;  // [P][P], or [P][0]
};

}  // namespace strobe
