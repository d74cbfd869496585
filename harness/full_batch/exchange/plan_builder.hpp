// Builds exchange plans from moves of rows in any order of ranks. Its memory grows with the number of pairs of ranks
// that exchange something, not with all pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"

namespace strobe {

/// The rows of one rank's tensor that it exchanges with one peer in one direction, in the order in which they travel.
struct PeerRuns {
  std::int64_t rows = 0, moves = 0, first = 0, end = -1;
  std::vector<Run> runs;  // only for ranks in scope

  void add(std::int64_t from, std::int64_t count, bool listed);
};

/// A peer and the rows that one rank exchanges with it.
struct PeerEntry {
  Rank peer = 0;
  const PeerRuns* with = nullptr;
};

/// One direction of a rank's side, from its peers in ascending order. With `sends` the list leads from tensor to
/// buffer.
PeerSide side_of(const std::vector<PeerEntry>& peers, bool sends);

/// Adds kept rows to `rank`. `end` is where the last ones ended (input, output); {-1, -1} at first.
void keep_rows(RankExchange& rank, RowMove& end, std::int64_t from, std::int64_t to, std::int64_t count, bool listed);

class PlanBuilder {
 public:
  PlanBuilder(int ranks, const ListScope& scope);

  void rows(Rank rank, std::int64_t input, std::int64_t output);
  /// Rank r's input rows [from, from + count) become rank q's output rows from `to`.
  void move(Rank r, Rank q, std::int64_t from, std::int64_t to, std::int64_t count);
  /// Counts rows between two ranks out of scope.
  void count(const PairRows& pair);
  ExchangePlan finish(bool fan_out);

 private:
  /// Both sides of the rows that one rank sends to another.
  struct Pair {
    Rank receiver = 0;
    PeerRuns sent, received;
  };
  /// The rows that a rank sends. place[q] is one more than the index of receiver q's pair; empty until the rank sends
  /// something.
  struct Sender {
    std::vector<std::int32_t> place;  // [P]
    std::vector<Pair> pairs;
  };
  Pair& pair(Rank r, Rank q);

  std::size_t ranks_;
  ListScope scope_;
  std::vector<Sender> senders_;
  std::vector<RowMove> keep_end_;
  ExchangePlan plan_;
};

}  // namespace strobe
