// Rounds of pieces, their hand-overs and temporal halos, compared with a plain rule on random placements with missing
// cells.
#include "harness/full_batch/exchange/sequence_rounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "harness/placement/local_rows.hpp"

namespace strobe {
namespace {

/// Owners [T][N] in [-1, ranks), often the same at neighbouring steps.
std::vector<std::vector<Rank>> random_owners(unsigned seed, std::int64_t steps, std::int64_t vertices, int ranks,
                                             bool all_exist) {
  std::mt19937 draw(seed);
  std::vector<std::vector<Rank>> owners(steps);
  for (std::size_t t = 0; t < owners.size(); ++t) {
    for (std::int64_t v = 0; v < vertices; ++v) {
      const bool stays = t > 0 && draw() % 3 != 0;
      const auto drawn = static_cast<Rank>(draw() % static_cast<unsigned>(ranks + (all_exist ? 0 : 1)));
      const Rank fresh = all_exist ? drawn : drawn - 1;
      owners[t].push_back(stays ? owners[t - 1][v] : fresh);
    }
  }
  return owners;
}

Placement placement_of(const std::vector<std::vector<Rank>>& owners, int ranks) {
  Placement placement{ranks, static_cast<std::int64_t>(owners[0].size()), {}, {}};
  for (const auto& step : owners) {
    placement.map_of_step.push_back(static_cast<std::int32_t>(placement.maps.size()));
    placement.maps.push_back(partial_vertex_map(step, ranks));
  }
  return placement;
}

constexpr std::int64_t round_steps = 9, round_vertices = 13;
constexpr int ranks = 4;

/// The round of a cell: the number of changes of owner since its sequence began.
std::int64_t plain_round(const std::vector<std::vector<Rank>>& owners, std::size_t t, std::size_t v,
                         std::int64_t reset) {
  std::int64_t changes = 0;
  while (t > 0 && owners[t - 1][v] >= 0 && !(reset > 0 && static_cast<std::int64_t>(t) % reset == 0)) {
    changes += owners[t - 1][v] != owners[t][v] ? 1 : 0;
    --t;
  }
  return changes;
}

TEST(SequenceRounds, CountChangesOfOwnerSinceASequenceBegan) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::int64_t reset = seed % 4 == 0 ? 3 : 0;
    const auto owners = random_owners(seed, round_steps, round_vertices, ranks, seed % 2 == 0);
    const Placement placement = placement_of(owners, ranks);
    std::map<std::tuple<std::size_t, std::size_t>, std::int64_t> round_of;
    std::int64_t most = 0;
    const auto rounds = sequence_rounds(placement, {0, reset});
    for (std::size_t k = 0; k < rounds.size(); ++k) {
      for (std::size_t r = 0; r < rounds[k].size(); ++r) {
        for (const SequencePiece& piece : rounds[k][r]) {
          EXPECT_EQ(piece.given, k > 0);
          for (std::int32_t s = 0; s < piece.steps; ++s) {
            const auto t = static_cast<std::size_t>(piece.first + s), v = static_cast<std::size_t>(piece.vertex);
            EXPECT_EQ(owners[t][v], static_cast<Rank>(r));
            EXPECT_TRUE(round_of.emplace(std::tuple(t, v), k).second) << "a cell is in two pieces";
          }
        }
      }
    }
    for (std::size_t t = 0; t < owners.size(); ++t) {
      for (std::size_t v = 0; v < owners[t].size(); ++v) {
        EXPECT_EQ(round_of.count({t, v}), owners[t][v] >= 0 ? 1u : 0u);
        if (owners[t][v] < 0) continue;
        EXPECT_EQ(round_of.at({t, v}), plain_round(owners, t, v, reset));
        most = std::max(most, plain_round(owners, t, v, reset) + 1);
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(rounds.size()), most);
  }
}

/// Pieces of a round that receive a state, or send theirs, in order.
std::vector<SequencePiece> with(const std::vector<SequencePiece>& pieces, bool SequencePiece::*flag) {
  std::vector<SequencePiece> chosen;
  for (const SequencePiece& piece : pieces)
    if (piece.*flag) chosen.push_back(piece);
  return chosen;
}

/// The numbers (rank, row) of the input rows that arrive at each output row: [ranks][output rows], -1 for none.
std::vector<std::vector<std::int64_t>> carried(const ExchangePlan& plan) {
  std::vector<std::vector<std::int64_t>> output;
  for (Rank r = 0; r < ranks; ++r) {
    auto& rows = output.emplace_back(static_cast<std::size_t>(plan.of(r).output_rows), -1);
    for (const RowMove& move : plan.of(r).keep) {
      for (std::int64_t i = 0; i < move.rows; ++i) rows[move.to + i] = r * 1000 + move.from + i;
    }
  }
  const auto listed = [](const PeerSide& side, bool sends, Rank peer) {
    std::vector<std::int64_t> rows, mine;
    for (const RowMove& move : side.list) {
      for (std::int64_t i = 0; i < move.rows; ++i) rows.push_back((sends ? move.from : move.to) + i);
    }
    std::int64_t next = 0;
    for (Rank q = 0; q < ranks; ++q) {
      for (std::int64_t i = 0; i < side.rows_of(q); ++i, ++next)
        if (q == peer) mine.push_back(rows[next]);
    }
    return mine;
  };
  for (Rank r = 0; r < ranks; ++r) {
    for (Rank q = 0; q < ranks; ++q) {
      const auto from = listed(plan.of(r).send, true, q), to = listed(plan.of(q).receive, false, r);
      EXPECT_EQ(from.size(), to.size());
      for (std::size_t i = 0; i < from.size(); ++i) output[q][to[i]] = r * 1000 + from[i];
    }
  }
  return output;
}

/// Fails unless every piece of `to` that receives a state gets that of the piece before it in its sequence, which is
/// one of `from`, block by block.
void expect_handed(const ExchangePlan& plan, const RoundPieces& from, const RoundPieces& to, const StateShape& shape) {
  EXPECT_FALSE(plan.fan_out) << "a state goes to one piece";
  const auto output = carried(plan);
  for (std::size_t q = 0; q < ranks; ++q) {
    const auto given = with(to[q], &SequencePiece::given);
    ASSERT_EQ(output[q].size(), given.size() * static_cast<std::size_t>(shape.rows_per_vertex));
    for (std::size_t i = 0; i < output[q].size(); ++i) {
      const SequencePiece& piece = given[i % given.size()];
      ASSERT_GE(output[q][i], 0);
      const std::size_t r = output[q][i] / 1000;
      const std::size_t row = output[q][i] % 1000;
      const auto handed = with(from[r], &SequencePiece::hands_on);
      EXPECT_EQ(row / handed.size(), i / given.size()) << "another block of the state";
      const SequencePiece& before = handed[row % handed.size()];
      EXPECT_EQ(before.vertex, piece.vertex);
      EXPECT_EQ(before.first + before.steps, piece.first);
    }
  }
}

void expect_handovers(const std::vector<RoundPieces>& rounds, const StateShape& shape) {
  const auto plans = round_handovers(rounds, ranks, shape, {});
  ASSERT_EQ(plans.size() + 1, rounds.size());
  for (std::size_t k = 1; k < rounds.size(); ++k) expect_handed(plans[k - 1], rounds[k - 1], rounds[k], shape);
}

TEST(SequenceRounds, HandOverEachStateToThePieceThatGoesOn) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const Placement placement =
        placement_of(random_owners(seed, round_steps, round_vertices, ranks, seed % 2 == 0), ranks);
    expect_handovers(sequence_rounds(placement), {static_cast<std::int64_t>(seed % 2) + 1, 5});
  }
}

TEST(SequenceRounds, AtOnceMarkEveryCutForTheNextEpoch) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::int64_t reset = seed % 4 == 0 ? 3 : 0;
    const auto owners = random_owners(seed, round_steps, round_vertices, ranks, seed % 2 == 0);
    const Placement placement = placement_of(owners, ranks);
    const StateShape shape{static_cast<std::int64_t>(seed % 2) + 1, 5};
    const RoundPieces round = pieces_at_once(placement, {0, reset}, true);
    std::int64_t cuts = 0, cells = 0;
    for (std::size_t r = 0; r < round.size(); ++r) {
      for (const SequencePiece& piece : round[r]) {
        const auto t = static_cast<std::size_t>(piece.first), v = static_cast<std::size_t>(piece.vertex);
        const std::size_t end = t + static_cast<std::size_t>(piece.steps);
        const auto continues = [&](std::size_t at) {
          return at > 0 && at < owners.size() && owners[at][v] >= 0 && owners[at - 1][v] >= 0 &&
                 !(reset > 0 && static_cast<std::int64_t>(at) % reset == 0);
        };
        EXPECT_EQ(piece.given, continues(t));
        EXPECT_EQ(piece.hands_on, continues(end));
        EXPECT_FALSE(piece.given && owners[t - 1][v] == static_cast<Rank>(r));
        cuts += piece.given ? 1 : 0, cells += piece.steps;
      }
    }
    std::int64_t existing = 0;
    for (const auto& step : owners) existing += std::count_if(step.begin(), step.end(), [](Rank r) { return r >= 0; });
    EXPECT_EQ(cells, existing);
    const ExchangePlan plan = handover_to_next_epoch(round, ranks, shape, {});
    EXPECT_EQ(plan.total_rows(), cuts * shape.rows_per_vertex) << "a state of the same rank";
    expect_handed(plan, round, round, shape);
    for (const auto& pieces : pieces_at_once(placement, {0, reset}, false))
      EXPECT_TRUE(std::none_of(pieces.begin(), pieces.end(), [](const auto& p) { return p.given || p.hands_on; }));
  }
}

TEST(SequenceRounds, OfUnitsHandStatesOnWithinARankToo) {
  const std::vector<std::int64_t> units_per_rank{3, 2, 2, 2};
  const std::vector<Rank> rank_of_unit{0, 0, 0, 1, 1, 2, 2, 3, 3};
  const int units = static_cast<int>(rank_of_unit.size());
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const auto owners = random_owners(seed, round_steps, round_vertices, units, seed % 2 == 0);
    const auto rounds = pieces_of_ranks(sequence_rounds(placement_of(owners, units)), units_per_rank);
    std::set<std::pair<Step, VertexId>> cells;
    for (const RoundPieces& round : rounds) {
      ASSERT_EQ(round.size(), static_cast<std::size_t>(ranks));
      for (std::size_t r = 0; r < round.size(); ++r) {
        std::pair<Step, VertexId> before{-1, -1};
        for (const SequencePiece& piece : round[r]) {
          EXPECT_EQ(rank_of_unit[piece.unit], static_cast<Rank>(r));
          EXPECT_LT(before, std::pair(piece.first, piece.vertex));
          before = {piece.first, piece.vertex};
          for (Step t = piece.first; t < piece.first + piece.steps; ++t) {
            EXPECT_EQ(owners[t][piece.vertex], piece.unit);
            EXPECT_TRUE(cells.emplace(t, piece.vertex).second);
          }
        }
      }
    }
    std::size_t existing = 0;
    for (const auto& step : owners) existing += step.size() - std::count(step.begin(), step.end(), -1);
    EXPECT_EQ(cells.size(), existing);
    expect_handovers(rounds, {static_cast<std::int64_t>(seed % 2) + 1, 5});
  }
}

TEST(TemporalHalo, BringsTheCellsOfTheWindowAndNoOthers) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const std::int64_t window = seed % 5;  // 0: all
    const auto owners = random_owners(seed, round_steps, round_vertices, ranks, seed % 2 == 0);
    const HaloNeeds needs = temporal_needs(placement_of(owners, ranks), window);
    for (Rank r = 0; r < ranks; ++r) {
      for (std::size_t t = 0; t < owners.size(); ++t) {
        std::set<VertexId> plain;
        for (std::size_t v = 0; v < owners[t].size(); ++v) {
          if (owners[t][v] < 0 || owners[t][v] == r) continue;
          for (std::size_t u = t + 1; u < owners.size() && owners[u][v] >= 0; ++u) {
            if (owners[u][v] == r && (window == 0 || static_cast<std::int64_t>(u - t) < window))
              plain.insert(static_cast<VertexId>(v));
          }
        }
        const auto& listed = needs.of(r, static_cast<Step>(t));
        EXPECT_EQ(std::set<VertexId>(listed.begin(), listed.end()), plain);
        EXPECT_EQ(listed.size(), plain.size());
      }
    }
  }
}

}  // namespace
}  // namespace strobe
