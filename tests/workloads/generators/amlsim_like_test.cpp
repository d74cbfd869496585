// amlsim-like against the bundled amlsim-20k that its defaults are fitted to, and its patterns, labels and repeats.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/workloads/generators/generator_support.hpp"

namespace strobe {
namespace {

SnapshotGraph make(const Json& parameters, std::uint64_t seed) {
  return GeneratorRegistry::instance().find("amlsim-like").value(parameters, seed);
}

double flagged_share(const SnapshotGraph& graph) {
  return static_cast<double>(std::count(graph.vertex_label.begin(), graph.vertex_label.end(), std::int8_t{1})) /
         static_cast<double>(graph.vertices);
}

/// Within 10 % of `real`; for a quantile below 10 transfers that is the same whole number.
void expect_near(double made, double real, const std::string& what) { EXPECT_NEAR(made, real, 0.1 * real) << what; }

/// Degrees over all steps (transfers sent and received), the step overlap and the flagged share, for three seeds.
TEST(AmlsimLike, StatisticsOfAmlsim20kWithinTenPercent) {
  const SnapshotGraph real = load_workload("amlsim-20k", Json::object(), 1);
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    SCOPED_TRACE(seed);
    const SnapshotGraph made = load_workload("amlsim-like", Json::object(), seed);
    EXPECT_EQ(made.vertices, real.vertices);
    EXPECT_EQ(made.steps(), real.steps());
    expect_near(static_cast<double>(made.edges()), static_cast<double>(real.edges()), "edges");
    expect_near(mean_overlap(made), mean_overlap(real), "overlap");
    expect_near(flagged_share(made), flagged_share(real), "flagged");
    for (const std::size_t side : {0u, 1u}) {
      const std::vector<double> a = test::total_degrees(made, side), b = test::total_degrees(real, side);
      const std::string name = side == 0 ? "in" : "out";
      expect_near(test::mean(a), test::mean(b), name + " mean");
      expect_near(std::sqrt(test::variance(a)), std::sqrt(test::variance(b)), name + " standard deviation");
      EXPECT_LT(test::largest_share_gap(a, b), 0.1) << name << ": the whole distribution";
      expect_near(test::top_share(a), test::top_share(b), name + " share of the top 1 %");
      for (const double share : {0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0})
        expect_near(test::quantile(a, share), test::quantile(b, share), name + " quantile " + std::to_string(share));
    }
    std::vector<double> a = test::edges_per_step(made), b = test::edges_per_step(real);
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    for (const double share : {0.25, 0.5, 0.75, 0.9})
      expect_near(test::quantile(a, share), test::quantile(b, share),
                  "edges per step, quantile " + std::to_string(share));
  }
}

/// Edges (source, target) between flagged accounts, with the steps at which they occur.
std::map<std::pair<VertexId, VertexId>, std::vector<std::size_t>> flagged_edges(const SnapshotGraph& graph) {
  std::map<std::pair<VertexId, VertexId>, std::vector<std::size_t>> edges;
  for (std::size_t t = 0; t < graph.snapshots.size(); ++t) {
    const Snapshot& snapshot = *graph.snapshots[t];
    for (std::size_t v = 0; v < static_cast<std::size_t>(graph.vertices); ++v) {
      for (auto i = snapshot.row_offsets[v]; i < snapshot.row_offsets[v + 1]; ++i) {
        const VertexId u = snapshot.columns[i];
        if (graph.vertex_label[v] == 1 && graph.vertex_label[u] == 1) edges[{u, static_cast<VertexId>(v)}].push_back(t);
      }
    }
  }
  return edges;
}

/// 40 flagged accounts among 100,000 with one transfer each hardly ever deal with each other outside their patterns.
Json pattern_parameters(double fan_in, double fan_out, double cycle) {
  return {{"steps", 30},         {"vertices", 100000}, {"transfers", 1.0},      {"flagged", 0.0004},
          {"hubs", 0},           {"out_spread", 0.1},  {"in_spread", 0.1},      {"in_tail", 0},
          {"overlap", 0},        {"recurring", 0},     {"pattern_smallest", 5}, {"pattern_largest", 5},
          {"pattern_steps", 20}, {"burst", 3},         {"fan_in", fan_in},      {"fan_out", fan_out},
          {"cycle", cycle}};
}

TEST(AmlsimLike, PatternsAreFansAndCycles) {
  for (const std::string kind : {"fan_in", "fan_out", "cycle"}) {
    SCOPED_TRACE(kind);
    const SnapshotGraph graph = make(pattern_parameters(kind == "fan_in", kind == "fan_out", kind == "cycle"), 5);
    EXPECT_EQ(std::count(graph.vertex_label.begin(), graph.vertex_label.end(), std::int8_t{1}), 40);
    std::map<VertexId, int> sent, received;
    for (const auto& [edge, steps] : flagged_edges(graph)) {
      EXPECT_EQ(steps.size(), 1u);
      ++sent[edge.first];
      ++received[edge.second];
    }
    const auto& centres = kind == "fan_out" ? sent : received;
    const auto& others = kind == "fan_out" ? received : sent;
    EXPECT_EQ(others.size(), kind == "cycle" ? 40u : 32u);
    EXPECT_EQ(centres.size(), kind == "cycle" ? 40u : 8u);
    for (const auto& [account, number] : centres) EXPECT_EQ(number, kind == "cycle" ? 1 : 4);
    for (const auto& [account, number] : others) EXPECT_EQ(number, 1);
  }
}

/// Following a cycle's money, time goes back once: from the last link to the first.
TEST(AmlsimLike, CyclesOfFiveFollowTime) {
  const SnapshotGraph graph = make(pattern_parameters(0, 0, 1), 5);
  std::map<VertexId, std::pair<VertexId, std::size_t>> next;
  for (const auto& [edge, steps] : flagged_edges(graph)) next[edge.first] = {edge.second, steps.front()};
  ASSERT_EQ(next.size(), 40u);
  for (const auto& [start, link] : next) {
    VertexId account = start;
    int back = 0;
    std::size_t low = link.second, high = link.second;
    for (int i = 0; i < 5; ++i) {
      const auto [target, step] = next.at(account);
      low = std::min(low, step);
      high = std::max(high, step);
      back += next.at(target).second < step;
      account = target;
    }
    EXPECT_EQ(account, start);
    EXPECT_LE(back, 1);
    EXPECT_LT(high - low, 20u);
  }
}

TEST(AmlsimLike, CellLabelsBeginWithTheFirstPatternTransfer) {
  const SnapshotGraph graph = make(pattern_parameters(1, 1, 1), 5);
  const std::size_t vertices = graph.vertices;
  ASSERT_EQ(graph.cell_label.size(), 30 * vertices);
  std::map<VertexId, std::size_t> first;
  for (const auto& [edge, steps] : flagged_edges(graph)) {
    for (const VertexId account : {edge.first, edge.second}) {
      const auto [place, is_new] = first.try_emplace(account, steps.front());
      place->second = std::min(place->second, steps.front());
    }
  }
  EXPECT_EQ(first.size(), 40u);
  for (const auto& [account, step] : first) {
    for (std::size_t t = 0; t < 30; ++t)
      EXPECT_EQ(graph.cell_label[t * vertices + static_cast<std::size_t>(account)], t >= step ? 1 : 0);
  }
  const auto ones =
      std::count(graph.cell_label.begin() + 29 * static_cast<std::ptrdiff_t>(vertices), graph.cell_label.end(), 1);
  EXPECT_EQ(ones, 40);
}

TEST(AmlsimLike, OverlapAndTransfersAreTheParameters) {
  for (const double overlap : {0.01, 0.2, 0.5}) {
    const SnapshotGraph graph =
        make({{"steps", 20}, {"vertices", 4000}, {"transfers", 30.0}, {"overlap", overlap}, {"rise", 0}}, 9);
    EXPECT_NEAR(mean_overlap(graph), overlap, 0.05 * overlap);
    EXPECT_EQ(test::mean(test::total_degrees(graph, 0)), 30.0);
    EXPECT_EQ(test::mean(test::total_degrees(graph, 1)), 30.0);
  }
}

/// A share `recurring` of the transfers is between partners of before; few pairs meet twice by chance.
TEST(AmlsimLike, RecurringPairsAreAsManyAsAskedFor) {
  for (const double recurring : {0.0, 0.3}) {
    const SnapshotGraph graph = make({{"steps", 20},
                                      {"vertices", 20000},
                                      {"transfers", 10.0},
                                      {"overlap", 0},
                                      {"recurring", recurring},
                                      {"flagged", 0},
                                      {"hubs", 0},
                                      {"in_tail", 0},
                                      {"rise", 0},
                                      {"fall", 0}},
                                     9);
    std::set<std::uint64_t> seen;
    double again = 0;
    for (std::size_t t = 0; t < 20; ++t) {
      const Snapshot& snapshot = *graph.snapshots[t];
      for (std::size_t v = 0; v < 20000; ++v) {
        for (auto i = snapshot.row_offsets[v]; i < snapshot.row_offsets[v + 1]; ++i) {
          const std::size_t edge = i;
          const bool is_new = seen.insert(edge_code(v, static_cast<std::uint64_t>(snapshot.columns[edge]))).second;
          again += static_cast<double>(snapshot.values[edge]) - (is_new ? 1 : 0);
        }
      }
    }
    // The first two steps have none to repeat.
    EXPECT_NEAR(again / 200000, recurring * 18 / 20, 0.002) << recurring;
  }
}

}  // namespace
}  // namespace strobe
