// Hand-overs of temporal state, compared with a rule that passes the names of state rows from owner to owner.
#include "harness/full_batch/exchange/state_handover.hpp"

#include <gtest/gtest.h>

#include "tests/harness/fakes.hpp"

namespace strobe {
namespace {

constexpr std::int64_t state_vertices = 10;
constexpr int state_ranks = 4;

/// The state rows of each rank after step t: `blocks` blocks with a row for each vertex that it owns, as (block,
/// vertex).
std::vector<test::Cells> remembered(const Placement& placement, Step t, std::int64_t blocks) {
  std::vector<test::Cells> rows(placement.ranks);
  for (Step block = 0; block < blocks; ++block) {
    for (VertexId v = 0; v < placement.vertices; ++v) {
      rows[placement.owner(v, t)].emplace_back(block, v);
    }
  }
  return rows;
}

Placement shared_by(std::vector<Rank> owners, std::int64_t steps) {
  std::vector<Rank> owner;
  for (std::int64_t v = 0; v < state_vertices; ++v)
    owner.push_back(owners[static_cast<std::size_t>(v) % owners.size()]);
  return by_vertex(owner, steps, state_ranks);
}

/// Rank 2 owns steps 0 and 1. Ranks 0 and 1 share steps 2 to 4, and ranks 1 and 3 share step 5.
Placement mixed() {
  Placement placement = by_time(state_vertices, {2, 2, 2, 2, 2, 2}, state_ranks);
  placement.maps.push_back(shared_by({0, 1}, 1).maps[0]);
  placement.maps.push_back(shared_by({1, 3, 3}, 1).maps[0]);
  placement.map_of_step = {0, 0, 1, 1, 1, 2};
  return placement;
}

TEST(TemporalSegments, AreTheStepsBetweenCuts) {
  const auto lengths = [](const Placement& placement) {
    std::vector<std::int64_t> steps;
    for (const TemporalSegment& segment : temporal_segments(placement)) steps.push_back(segment.steps);
    return steps;
  };
  EXPECT_EQ(lengths(mixed()), (std::vector<std::int64_t>{2, 3, 1}));
  EXPECT_EQ(lengths(shared_by({0, 1, 2}, 7)), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(lengths(by_time(state_vertices, {0, 1, 1, 2}, state_ranks)), (std::vector<std::int64_t>{1, 2, 1}));
}

TEST(TemporalSegments, AreOneForEachOwnerWhereNoOwnerComesBack) {
  const auto one_each = [](const Placement& placement) {
    return owns_one_segment(placement, temporal_segments(placement));
  };
  EXPECT_TRUE(one_each(by_time(state_vertices, {0, 0, 1, 3}, state_ranks)));
  EXPECT_TRUE(one_each(by_time(state_vertices, {2, 1, 0}, state_ranks)));
  EXPECT_FALSE(one_each(by_time(state_vertices, {1, 0, 1}, state_ranks)));
  EXPECT_FALSE(one_each(mixed())) << "ranks share steps";
}

TEST(StateHandover, BringsWhatIsRememberedToTheOwnersOfTheNextSegment) {
  const Placement placement = mixed();
  const std::vector<TemporalSegment> segments = temporal_segments(placement);
  LayerShape attention;
  attention.need = TemporalNeed::all;
  attention.spatial_width = 7;
  for (const LayerShape& layer : {test::remembering_layer(1), test::remembering_layer(3), attention}) {
    const StateHandover handover = state_handover(nullptr, placement, segments, 20, layer, {});
    ASSERT_EQ(handover.plans.size(), 3u);
    EXPECT_TRUE(handover.plans[0].ranks.empty()) << "nothing lies before the first block";
    for (std::size_t s = 1; s < 3; ++s) {
      const auto here = static_cast<Step>(segments[s].first_step);
      const std::int64_t blocks = layer.need == TemporalNeed::all ? 20 + here : layer.recurrent_state.rows_per_vertex;
      EXPECT_EQ(handover.shape[s].rows_per_vertex, blocks);
      EXPECT_EQ(handover.shape[s].width, 7);
      EXPECT_EQ(test::carry(handover.plans[s], remembered(placement, here - 1, blocks)),
                remembered(placement, here, blocks));
    }
    EXPECT_EQ(handover.shape.size(), 4u);
  }
}

TEST(StateHandover, BetweenBlocksComesFromTheLastOwnersOfTheBlockBefore) {
  const Placement before = mixed(), placement = shared_by({2, 0}, 4);
  const StateHandover handover =
      state_handover(&before, placement, temporal_segments(placement), 6, test::remembering_layer(2), {});
  ASSERT_EQ(handover.plans.size(), 1u);
  EXPECT_EQ(test::carry(handover.plans[0], remembered(before, 5, 2)), remembered(placement, 0, 2));
}

TEST(StateHandover, OfManyRanksListsThoseThatTakePart) {
  std::vector<Rank> owners;
  for (Rank r = 0; r < 600; ++r) owners.push_back(r);
  const Placement placement = by_time(5, owners, 600);
  const StateHandover handover = state_handover(nullptr, placement, temporal_segments(placement), 0,
                                                test::remembering_layer(1), {ListScope::Kind::none, 0});
  ASSERT_EQ(handover.plans.size(), 600u);
  for (Rank r = 1; r < 600; ++r) {
    const ExchangePlan& plan = handover.plans[r];
    EXPECT_EQ(plan.ranks.size(), 2u);
    EXPECT_EQ(plan.rows(r - 1, r), 5);
    EXPECT_EQ(plan.total_rows(), 5);
  }
}

}  // namespace
}  // namespace strobe
