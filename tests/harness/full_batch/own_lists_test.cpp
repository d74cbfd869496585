// The part of exchanges that a plan of one rank lists, compared with the lists of all ranks: the rank's own lists are
// the same, and exchanges between others have the same numbers of rows.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/full_batch/exchange/needed_rows.hpp"
#include "harness/full_batch/exchange/placed_samples.hpp"
#include "harness/full_batch/exchange/sequence_rounds.hpp"
#include "harness/full_batch/exchange/server_route.hpp"
#include "harness/placement/chunks/cell_placement.hpp"
#include "harness/placement/local_rows.hpp"
#include "harness/placement/strategy.hpp"
#include "tests/harness/placement/random_cells.hpp"
#include "tests/workloads/partitioners/on_holders.hpp"

namespace strobe {
namespace {

constexpr int listed_ranks = 4;
constexpr std::int64_t listed_vertices = 23, listed_steps = 7;

ListScope own_scope(Rank rank) { return {ListScope::Kind::one, rank, 0, true}; }

/// Random cells on random ranks. Neighbouring steps often have the same owners. Rank 3 has few cells, or none.
Placement random_placement(const PreparedGraph& graph, unsigned seed, std::optional<Rank> only = std::nullopt) {
  std::mt19937 draw(seed);
  std::vector<std::vector<Rank>> owner(listed_steps, std::vector<Rank>(listed_vertices, -1));
  for (Step t = 0; t < listed_steps; ++t) {
    const bool same = t > 0 && draw() % 3 == 0;
    for (VertexId v = 0; v < listed_vertices; ++v) {
      const auto drawn = static_cast<Rank>(draw() % 13 == 0 ? seed % listed_ranks : draw() % 3);
      const Rank fresh = same && owner[t - 1][v] >= 0 ? owner[t - 1][v] : drawn;
      if (test::cell_exists(graph, v, t)) owner[t][v] = fresh;
    }
  }
  std::vector<Column<Rank>> of_step;
  for (auto& step : owner) of_step.emplace_back(std::move(step));
  return place_by_step(std::move(of_step), listed_vertices, listed_ranks, listed_owners(only));
}

/// The plan of `rank` alone, next to the plan of all.
void expect_part(const ExchangePlan& own, const ExchangePlan& all, Rank rank) {
  EXPECT_EQ(own.of(rank), all.of(rank));
  EXPECT_EQ(own.total_rows(), all.total_rows());
  for (Rank r = 0; r < listed_ranks; ++r) {
    EXPECT_EQ(own.of(r).input_rows, all.of(r).input_rows);
    EXPECT_EQ(own.of(r).output_rows, all.of(r).output_rows);
    for (Rank q = 0; q < listed_ranks; ++q) EXPECT_EQ(own.rows(r, q), all.rows(r, q)) << r << " to " << q;
    if (r == rank) continue;
    EXPECT_TRUE(own.of(r).send.list.empty());
    EXPECT_TRUE(own.of(r).receive.list.empty());
  }
}

/// Other ranks list the cells that they need of `rank`, and no others.
void expect_needs(const HaloNeeds& own, const HaloNeeds& all, const Placement& placement, Rank rank) {
  for (Rank r = 0; r < listed_ranks; ++r) {
    std::int64_t left_out = 0;
    for (Step t = 0; t < listed_steps; ++t) {
      std::vector<VertexId> expected = all.of(r, t);
      if (r != rank)
        left_out += static_cast<std::int64_t>(
            std::erase_if(expected, [&](VertexId v) { return placement.owner(v, t) != rank; }));
      EXPECT_EQ(own.of(r, t), expected);
    }
    for (const PairRows& pair : own.beyond) {
      EXPECT_NE(pair.owner, rank);
      EXPECT_NE(pair.reader, rank);
      left_out -= pair.reader == r ? pair.rows : 0;
    }
    EXPECT_EQ(left_out, 0);
  }
}

/// Returns the number of runs of other ranks that `own` leaves out.
std::size_t expect_runs(const Placement& own, const Placement& all, Rank rank) {
  EXPECT_EQ(own.map_of_step, all.map_of_step);
  std::size_t left_out = 0;
  for (Step t = 0; t < listed_steps; ++t) {
    const VertexMap &part = own.map(t), &whole = all.map(t);
    EXPECT_EQ(part.single, whole.single);
    EXPECT_EQ(part.owner, whole.owner);
    EXPECT_EQ(part.owned_count, whole.owned_count);
    EXPECT_EQ(part.runs_of(rank), whole.runs_of(rank));
    for (Rank r = 0; r < listed_ranks; ++r) left_out += whole.runs_of(r).size() - part.runs_of(r).size();
  }
  return left_out;
}

/// Calls expect(graph, all, own, rank, seed) for random graphs and each rank: the placement with the runs of all ranks,
/// and with those of the rank.
template <class Expect>
void for_random_ranks(const Expect& expect) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, listed_vertices, listed_steps, 3, seed % 2 == 0);
    const Placement all = random_placement(graph, seed);
    for (Rank rank = 0; rank < listed_ranks; ++rank) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", rank " << rank);
      expect(graph, all, random_placement(graph, seed, rank), rank, seed);
    }
  }
}

TEST(OwnLists, OfSpatialHalosAreThoseOfTheWholePlan) {
  std::int64_t rows = 0;
  for_random_ranks([&](const PreparedGraph& graph, const Placement& all, const Placement& own, Rank rank, unsigned) {
    const HaloNeeds whole = spatial_needs(all, graph), part = spatial_needs(own, graph, 0, NeedScope(own_scope(rank)));
    expect_needs(part, whole, all, rank);
    const ExchangePlan plan = halo(all, whole, {});
    expect_part(halo(own, part, own_scope(rank)), plan, rank);
    rows += plan.total_rows();
  });
  EXPECT_GT(rows, 0);
}

TEST(OwnLists, OfStrategiesAreThoseOfTheWholePlan) {
  const std::vector<std::pair<const char*, Json>> strategies{
      {"vertex", {{"partitioner", "hash"}}},
      {"snapshot", Json::object()},
      {"pss", Json::object()},
      {"snapshot_groups", {{"group_size", 2}, {"partitioner", "hash"}}},
      {"snapshot_groups", {{"group_size", 2}, {"partitioner", "hash"}, {"temporal", "ranges"}}},
      {"snapshot_groups", {{"group_size", 1}}}};
  std::size_t left_out = 0;
  for (const auto& [name, parameters] : strategies) {
    const auto& strategy = StrategyRegistry::instance().find(name);
    const Json complete = strategy.parameters.complete(parameters, "/strategy");
    for (unsigned seed = 1; seed <= 6; ++seed) {
      const PreparedGraph graph = test::random_cells(seed, listed_vertices, listed_steps, 3, seed % 2 == 0);
      StrategyInput input{graph, listed_ranks, seed, even_blocks(listed_steps, 1)};
      const auto planned = [&](std::optional<Rank> only) {
        input.only_rank = only;
        StrategyPlan plan = strategy.value(input, complete);
        if (graph.presence != nullptr)
          leave_out_missing(*graph.presence, plan.spatial, plan.temporal, listed_owners(only));
        return plan;
      };
      const StrategyPlan all = planned(std::nullopt);
      for (Rank rank = 0; rank < listed_ranks; ++rank) {
        SCOPED_TRACE(testing::Message() << name << parameters << ", seed " << seed << ", rank " << rank);
        const StrategyPlan own = planned(rank);
        expect_part(redistribute(own.spatial, own.temporal, own_scope(rank)),
                    redistribute(all.spatial, all.temporal, {}), rank);
        left_out += expect_runs(own.spatial, all.spatial, rank) + expect_runs(own.temporal, all.temporal, rank);
      }
    }
  }
  EXPECT_GT(left_out, 1000u);
}

TEST(OwnLists, OfTemporalHalosAreThoseOfTheWholePlan) {
  for_random_ranks([](const PreparedGraph&, const Placement& all, const Placement& own, Rank rank, unsigned seed) {
    const std::int64_t window = seed % 3;  // 0: all earlier steps
    const HaloNeeds whole = temporal_needs(all, window),
                    part = temporal_needs(own, window, 0, NeedScope(own_scope(rank)));
    expect_needs(part, whole, all, rank);
    expect_part(halo(own, part, own_scope(rank)), halo(all, whole, {}), rank);
  });
}

TEST(OwnLists, OfUnitsHaveTheirOwnNeedsOnly) {
  for_random_ranks([](const PreparedGraph& graph, const Placement& all, const Placement&, Rank rank, unsigned) {
    const HaloNeeds whole = spatial_needs(all, graph), part = spatial_needs(all, graph, 0, NeedScope({rank, 1}, false));
    EXPECT_TRUE(part.beyond.empty());
    for (Rank r = 0; r < listed_ranks; ++r)
      for (Step t = 0; t < listed_steps; ++t)
        EXPECT_EQ(part.of(r, t), r == rank ? whole.of(r, t) : std::vector<VertexId>());
  });
}

/// Samples of `arity` vertices whose cells exist, ascending by step if `ascending`.
Samples samples_of_cells(const PreparedGraph& graph, int arity, unsigned seed, bool ascending) {
  std::mt19937 draw(seed);
  Samples samples;
  samples.arity = arity;
  for (int i = 0; i < 120; ++i) {
    const auto step = static_cast<Step>(ascending ? i * listed_steps / 120 : draw() % listed_steps);
    std::vector<VertexId> vertices;
    for (int k = 0; k < arity; ++k) vertices.push_back(static_cast<VertexId>(draw() % listed_vertices));
    const auto exists = [&](VertexId v) { return test::cell_exists(graph, v, step); };
    if (!std::all_of(vertices.begin(), vertices.end(), exists)) continue;
    for (const VertexId v : vertices) samples.vertices.push_back(v);
    samples.step.push_back(step);
    samples.label.push_back(i % 3);
    samples.weight.push_back(1 + i % 2);
  }
  return samples;
}

TEST(OwnLists, OfSamplesAreThoseOfTheWholePlan) {
  const std::vector<Step> steps = {1, 2, 4, 5, 6};
  for_random_ranks(
      [&](const PreparedGraph& graph, const Placement& all, const Placement& own, Rank rank, unsigned seed) {
        for (const int arity : {1, 2, 3}) {
          const Samples samples = samples_of_cells(graph, arity, seed, seed % 4 < 2);
          const PlacedSamples whole = place_samples(samples, of_steps(all, steps), steps, {}),
                              part = place_samples(samples, of_steps(own, steps), steps, own_scope(rank));
          expect_part(part.halo, whole.halo, rank);
          EXPECT_EQ(part.total_weight, whole.total_weight);
          EXPECT_EQ(part.gathered->totals().rows, whole.gathered->totals().rows);
          for (Rank r = 0; r < listed_ranks; ++r) {
            EXPECT_EQ(part.ranks[r].count(), whole.ranks[r].count());
            const bool listed = r == rank;
            EXPECT_EQ(part.ranks[r].rows, listed ? whole.ranks[r].rows : std::vector<std::vector<std::int64_t>>());
            EXPECT_EQ(part.ranks[r].index, listed ? whole.ranks[r].index : std::vector<std::int64_t>());
            EXPECT_EQ(part.ranks[r].label, listed ? whole.ranks[r].label : std::vector<std::int32_t>());
            EXPECT_EQ(part.ranks[r].weight, listed ? whole.ranks[r].weight : std::vector<double>());
          }
        }
      });
}

TEST(OwnLists, OfHandOversAreThoseOfTheWholePlan) {
  for_random_ranks([](const PreparedGraph&, const Placement& all, const Placement& own, Rank rank, unsigned seed) {
    const SequenceStart start{seed % 3 == 0 ? 2 : 0, seed % 4 == 0 ? 3 : 0};
    const StateShape shape{2, 5};
    const PieceScope scope{NeedScope(own_scope(rank)), {}};
    RoundSums beyond;
    const auto whole = sequence_rounds(all, start), part = sequence_rounds(own, start, scope, &beyond);
    ASSERT_EQ(part.size(), whole.size());
    for (std::size_t k = 0; k < whole.size(); ++k) EXPECT_EQ(part[k][rank], whole[k][rank]);
    const auto plans = round_handovers(whole, listed_ranks, shape, {}),
               own_plans = round_handovers(part, listed_ranks, shape, own_scope(rank), beyond);
    ASSERT_EQ(own_plans.size(), plans.size());
    for (std::size_t k = 0; k < plans.size(); ++k) expect_part(own_plans[k], plans[k], rank);
    for (const bool handed : {false, true}) {
      const RoundPieces once = pieces_at_once(all, start, handed),
                        own_once = pieces_at_once(own, start, handed, scope, &beyond);
      EXPECT_EQ(own_once[rank], once[rank]);
      if (!handed) continue;
      expect_part(handover_to_next_epoch(own_once, listed_ranks, shape, own_scope(rank), beyond),
                  handover_to_next_epoch(once, listed_ranks, shape, {}), rank);
    }
  });
}

/// Units of chunks: two or three a rank, whose pieces become those of their ranks.
TEST(OwnLists, OfHandOversBetweenUnitsAreThoseOfTheWholePlan) {
  const std::vector<std::int64_t> units_per_rank{2, 1, 1};
  const std::vector<Rank> rank_of_unit{0, 0, 1, 2};
  for_random_ranks([&](const PreparedGraph&, const Placement& units, const Placement&, Rank rank, unsigned seed) {
    if (rank > 2) return;
    const SequenceStart start{0, seed % 4 == 0 ? 3 : 0};
    const StateShape shape{1, 5};
    const std::int64_t first = rank == 0 ? 0 : rank + 1;
    const PieceScope scope{NeedScope({first, units_per_rank[rank]}, true), rank_of_unit};
    RoundSums beyond;
    const auto whole = pieces_of_ranks(sequence_rounds(units, start), units_per_rank),
               part = pieces_of_ranks(sequence_rounds(units, start, scope, &beyond), units_per_rank);
    for (std::size_t k = 0; k < whole.size(); ++k) EXPECT_EQ(part[k][rank], whole[k][rank]);
    const auto plans = round_handovers(whole, 3, shape, {}),
               own_plans = round_handovers(part, 3, shape, own_scope(rank), beyond);
    for (std::size_t k = 0; k < plans.size(); ++k) {
      const RankExchange &own = own_plans[k].of(rank), &all = plans[k].of(rank);
      EXPECT_EQ(own, all);
      EXPECT_EQ(own_plans[k].total_rows(), plans[k].total_rows());
    }
  });
}

TEST(OwnLists, OfRowsAreThoseOfOwnCells) {
  for_random_ranks([](const PreparedGraph&, const Placement& all, const Placement& own, Rank rank, unsigned) {
    LocalRows whole(all), part(own, rank);
    for (Step t = 0; t < listed_steps; ++t) {
      for (VertexId v = 0; v < listed_vertices; ++v) {
        if (all.owner(v, t) < 0) continue;
        EXPECT_EQ(part.row(v, t), all.owner(v, t) == rank ? whole.row(v, t) : 0);
      }
    }
  });
}

/// The four exchanges of a route.
void expect_route(const ExchangePlan& own, const ExchangePlan& all, Rank rank) {
  expect_part(own, all, rank);
  ASSERT_EQ(own.servers == nullptr, all.servers == nullptr);
  if (all.servers == nullptr) return;
  const ServerRoute &part = *own.servers, &whole = *all.servers;
  EXPECT_EQ(part.servers, whole.servers);
  for (ExchangePlan ServerRoute::*const way :
       {&ServerRoute::push, &ServerRoute::pull, &ServerRoute::push_back, &ServerRoute::pull_back})
    expect_part(part.*way, whole.*way, rank);
}

/// Calls expect(graph, placement, scope of all, scope of the own rank) at a thread for each rank, as processes do it.
template <class Expect>
void for_random_servers(const Expect& expect) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, listed_vertices, listed_steps, 3, seed % 2 == 0);
    for (int servers = 1; servers <= listed_ranks; ++servers) {
      testing_partitioners::on_holders(listed_ranks, [&](const ShareHolders& together) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << servers << " servers, rank " << together.rank);
        expect(graph, seed, ListScope{ListScope::Kind::one, together.rank, servers},
               ListScope{ListScope::Kind::one, together.rank, servers, true, &together});
      });
    }
  }
}

TEST(OwnLists, OfHalosThroughServersAreThoseOfTheWholeRoute) {
  std::atomic<int> routes = 0;
  for_random_servers([&](const PreparedGraph& graph, unsigned seed, const ListScope& of_all, const ListScope& scope) {
    const Placement all = random_placement(graph, seed), own = random_placement(graph, seed, scope.rank);
    const ExchangePlan spatial = halo(all, spatial_needs(all, graph), of_all);
    expect_route(halo(own, spatial_needs(own, graph, 0, NeedScope(scope)), scope), spatial, scope.rank);
    const std::int64_t window = seed % 3;
    const ExchangePlan temporal = halo(all, temporal_needs(all, window), of_all);
    expect_route(halo(own, temporal_needs(own, window, 0, NeedScope(scope)), scope), temporal, scope.rank);
    routes += (spatial.servers != nullptr ? 1 : 0) + (temporal.servers != nullptr ? 1 : 0);
  });
  EXPECT_GT(routes, 100);
}

TEST(OwnLists, OfHandOversThroughServersAreThoseOfTheWholeRoute) {
  std::atomic<int> routes = 0;
  for_random_servers([&](const PreparedGraph& graph, unsigned seed, const ListScope& of_all, const ListScope& scope) {
    const Placement all = random_placement(graph, seed), own = random_placement(graph, seed, scope.rank);
    const SequenceStart start{seed % 3 == 0 ? 2 : 0, seed % 4 == 0 ? 3 : 0};
    const StateShape shape{2, 5};
    RoundSums beyond;
    const auto whole = sequence_rounds(all, start), part = sequence_rounds(own, start, {NeedScope(scope), {}}, &beyond);
    const auto plans = round_handovers(whole, listed_ranks, shape, of_all),
               own_plans = round_handovers(part, listed_ranks, shape, scope, beyond);
    ASSERT_EQ(own_plans.size(), plans.size());
    for (std::size_t k = 0; k < plans.size(); ++k) {
      expect_route(own_plans[k], plans[k], scope.rank);
      routes += plans[k].servers != nullptr ? 1 : 0;
    }
  });
  EXPECT_GT(routes, 100);
}

}  // namespace
}  // namespace strobe
