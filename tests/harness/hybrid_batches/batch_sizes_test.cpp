// Sizes and intervals as users write them, and draws compared with brute force.
#include "harness/hybrid_batches/sampling/batch_sizes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/errors.hpp"
#include "harness/hybrid_batches/sampling/batch_sampler.hpp"

namespace strobe {
namespace {

TEST(BatchSizes, SharesAndNumbers) {
  EXPECT_EQ(parse_share("5%", "/x").of(100, "vertices", "/x"), 5);
  EXPECT_EQ(parse_share("5%", "/x").of(50, "vertices", "/x"), 3);  // 2.5, rounded up
  EXPECT_EQ(parse_share("100%", "/x").of(7, "vertices", "/x"), 7);
  EXPECT_EQ(parse_share("7", "/x").of(7, "vertices", "/x"), 7);
  EXPECT_THROW(parse_share("1%", "/x").of(40, "vertices", "/x"), InvalidRequest);
  EXPECT_THROW(parse_share("8", "/x").of(7, "vertices", "/x"), InvalidRequest);
  for (const char* wrong :
       {"", "%", "0%", "101%", "-5%", "nan%", "inf%", "0", "-3", "3.5", "5 %", "five", "99999999999999999999"})
    EXPECT_THROW(parse_share(wrong, "/x"), InvalidRequest) << wrong;
  EXPECT_EQ(parse_shares("1%/20%/300", "/x").size(), 3u);
  EXPECT_THROW(parse_shares("1%//3%", "/x"), InvalidRequest);
}

TEST(BatchSizes, Intervals) {
  EXPECT_EQ(parse_interval("10", "/x").iterations, 10);
  EXPECT_DOUBLE_EQ(parse_interval("2s", "/x").seconds, 2);
  EXPECT_DOUBLE_EQ(parse_interval("1.5s", "/x").seconds, 1.5);
  EXPECT_DOUBLE_EQ(parse_interval("500ms", "/x").seconds, 0.5);
  for (const char* wrong : {"", "0", "-1", "0s", "s", "ms", "2 s", "2m", "infs"})
    EXPECT_THROW(parse_interval(wrong, "/x"), InvalidRequest) << wrong;
}

/// Groups of 4, 3 and 3 vertices.
BalancedGroups three_groups() { return {{9, 1, 4, 7}, {0, 2, 8}, {3, 5, 6}}; }

TEST(BatchSampler, DrawsEvenlyFromGroupsAndWindowsUniformly) {
  const BalancedGroups groups = three_groups();
  constexpr std::int64_t steps = 7;
  std::map<Step, int> starts;
  std::map<VertexId, int> drawn;
  constexpr int draws = 20000;
  for (int number = 0; number < draws; ++number) {
    const DrawnTargets targets = draw_targets(groups, {5, 3}, steps, 11, 2, static_cast<std::uint64_t>(number));
    ++starts[targets.window.first];
    EXPECT_EQ(targets.window.count, 3);
    EXPECT_EQ(std::set<VertexId>(targets.vertices.begin(), targets.vertices.end()).size(), 5u) << "one twice";
    EXPECT_TRUE(std::is_sorted(targets.vertices.begin(), targets.vertices.end()));
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto from = std::count_if(targets.vertices.begin(), targets.vertices.end(), [&](VertexId v) {
        return std::find(groups[g].begin(), groups[g].end(), v) != groups[g].end();
      });
      const double even = 0.5 * static_cast<double>(groups[g].size());
      EXPECT_TRUE(from == std::floor(even) || from == std::ceil(even)) << from << " of group " << g;
    }
    for (const VertexId v : targets.vertices) ++drawn[v];
  }
  ASSERT_EQ(starts.size(), 5u) << "0 to T - N_S, both ends among them (decisions D4)";
  for (const auto& [start, count] : starts) EXPECT_NEAR(count, draws / 5, 5 * std::sqrt(draws * 0.2 * 0.8)) << start;
  for (VertexId v = 0; v < 10; ++v) EXPECT_NEAR(drawn[v], draws / 2, 5 * std::sqrt(draws * 0.25)) << v;
}

// Groups are ordered by load. Fewer vertices than groups, or a remainder, must not fall on the first ones alone.
TEST(BatchSampler, DrawsAllVerticesAlikeWhateverTheNumberOfGroups) {
  BalancedGroups groups(10);
  for (VertexId v = 0; v < 47; ++v) groups[static_cast<std::size_t>(v) % 10].push_back(v);
  for (const std::int64_t count : {1, 4, 9, 13, 46}) {
    constexpr int draws = 4000;
    std::map<VertexId, int> drawn;
    for (std::uint64_t number = 0; number < draws; ++number) {
      const std::vector<VertexId> some = draw_targets(groups, {count, 1}, 1, 5, 0, number).vertices;
      ASSERT_EQ(std::set<VertexId>(some.begin(), some.end()).size(), static_cast<std::size_t>(count));
      for (const VertexId v : some) ++drawn[v];
    }
    const double share = static_cast<double>(count) / 47;
    for (VertexId v = 0; v < 47; ++v)
      EXPECT_NEAR(drawn[v], share * draws, 5 * std::sqrt(draws * share * (1 - share))) << count << " of 47: " << v;
  }
}

TEST(BatchSampler, TakesAllWhereAllAreAsked) {
  const DrawnTargets all = draw_targets(three_groups(), {10, 4}, 4, 1, 0, 5);
  EXPECT_EQ(all.window.first, 0);
  EXPECT_EQ(all.vertices, (std::vector<VertexId>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

/// Vertex v exists from step v on, except 9, which exists at step 1 only.
Presence one_more_each_step(std::int64_t vertices, std::int64_t steps) {
  std::vector<std::int32_t> begins;
  for (std::int64_t t = 0; t < steps; ++t) {
    for (std::int64_t v = 0; v < vertices; ++v) {
      const std::int64_t begin = v == 9 ? 1 : v;
      begins.push_back((v == 9 ? t == 1 : begin <= t) ? static_cast<std::int32_t>(begin) : -1);
    }
  }
  return {vertices, begins};
}

TEST(BatchSampler, DrawsTheShareOfTheVerticesThatExistInTheWindow) {
  const Presence presence = one_more_each_step(10, 12);
  std::map<Step, std::map<VertexId, int>> drawn;
  std::map<Step, int> windows;
  for (std::uint64_t number = 0; number < 20000; ++number) {
    const DrawnTargets targets = draw_targets(three_groups(), {5, 2}, 12, 3, 0, number, 0, &presence);
    std::int64_t there = 0;
    for (VertexId v = 0; v < 10; ++v) {
      const auto window = targets.window.first;
      there += presence.exists(v, window) || presence.exists(v, window + 1) ? 1 : 0;
    }
    ASSERT_EQ(targets.vertices.size(), static_cast<std::size_t>(std::max<std::int64_t>(1, (there + 1) / 2)));
    ASSERT_TRUE(std::is_sorted(targets.vertices.begin(), targets.vertices.end()));
    ASSERT_EQ(std::set<VertexId>(targets.vertices.begin(), targets.vertices.end()).size(), targets.vertices.size());
    ++windows[targets.window.first];
    for (const VertexId v : targets.vertices) {
      ASSERT_TRUE(presence.exists(v, targets.window.first) || presence.exists(v, targets.window.first + 1));
      ++drawn[targets.window.first][v];
    }
  }
  EXPECT_EQ(windows.size(), 11u);
  EXPECT_EQ(drawn[10].size(), 9u) << "all but the one that left";
  for (const Step window : {1, 6, 10}) {
    const double share = std::max(1.0, std::round(0.5 * static_cast<double>(drawn[window].size()))) /
                         static_cast<double>(drawn[window].size());
    for (const auto& [v, count] : drawn[window])
      EXPECT_NEAR(count, share * windows[window], 5 * std::sqrt(windows[window] * share * (1 - share))) << v;
  }
  EXPECT_EQ(drawn[1].count(9), 1u);
  EXPECT_EQ(drawn[2].count(9), 0u);
}

TEST(BatchSampler, TakesTheNumberAskedForAsFarAsVerticesExist) {
  const Presence presence = one_more_each_step(10, 12);
  for (std::uint64_t number = 0; number < 200; ++number) {
    const DrawnTargets targets = draw_targets(three_groups(), {4, 1, false}, 12, 3, 0, number, 0, &presence);
    std::size_t there = 0;
    for (VertexId v = 0; v < 10; ++v) there += presence.exists(v, targets.window.first) ? 1 : 0;
    EXPECT_EQ(targets.vertices.size(), std::min<std::size_t>(4, there));
  }
}

TEST(BatchSampler, PassesOverWindowsWithoutVertices) {
  std::vector<std::int32_t> begins(6 * 10, -1);
  begins[4 * 10 + 7] = 4;
  const Presence presence(10, begins);
  for (std::uint64_t number = 0; number < 50; ++number) {
    const DrawnTargets targets = draw_targets(three_groups(), {5, 2}, 6, 3, 0, number, 0, &presence);
    EXPECT_EQ(targets.vertices, std::vector<VertexId>{7});
    EXPECT_TRUE(targets.window.first == 3 || targets.window.first == 4);
  }
}

TEST(BatchSampler, DependsOnItsArgumentsAlone) {
  const auto draw = [](std::uint64_t seed, Rank rank, std::uint64_t number) {
    return draw_targets(three_groups(), {3, 2}, 30, seed, rank, number);
  };
  EXPECT_EQ(draw(1, 0, 3).vertices, draw(1, 0, 3).vertices);
  int alike = 0;
  for (std::uint64_t number = 0; number < 40; ++number) {
    alike += draw(1, 0, number).window.first == draw(1, 1, number).window.first ? 1 : 0;
    alike += draw(1, 0, number).window.first == draw(2, 0, number).window.first ? 1 : 0;
  }
  EXPECT_LT(alike, 20);
}

}  // namespace
}  // namespace strobe
