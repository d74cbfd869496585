// Chunks that processes make together, compared with the plain rule by brute force on small random graphs: all edges
// are listed, every node is asked in every sub-round, and cells of labels are counted each time. Threads stand for
// processes.
#include "harness/placement/chunks/chunks_together.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/random.hpp"
#include "harness/placement/chunks/chunk_merging.hpp"
#include "harness/placement/chunks/label_propagation.hpp"
#include "tests/harness/placement/random_cells.hpp"
#include "tests/workloads/partitioners/on_holders.hpp"

namespace strobe {
namespace {

using testing_partitioners::on_holders;
using PlainLabels = std::vector<std::uint32_t>;

/// Nodes with labels, and the weight between each two of them.
struct PlainNodes {
  std::vector<std::int64_t> cells;
  std::vector<std::map<std::uint32_t, std::int64_t>> edges;
  PlainLabels label;
  std::uint32_t level = 0;

  std::int64_t cells_of(std::uint32_t of) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < label.size(); ++i) sum += label[i] == of ? cells[i] : 0;
    return sum;
  }
  std::int64_t weight_within() const {
    std::int64_t twice = 0;
    for (std::size_t i = 0; i < label.size(); ++i)
      for (const auto& [other, weight] : edges[i]) twice += label[i] == label[other] ? weight : 0;
    return twice / 2;
  }
};

PlainNodes plain_cells(const PreparedGraph& graph, const TrafficWeights& weights) {
  PlainNodes nodes;
  const std::vector<test::Cell> order = test::cells_in_order(graph);
  std::map<test::Cell, std::uint32_t> number;
  for (const test::Cell& cell : order) number.emplace(cell, static_cast<std::uint32_t>(number.size()));
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<std::uint32_t>(i);
  nodes.cells.assign(order.size(), 1);
  nodes.edges.resize(order.size());
  for (const auto& [a, b, weight] : test::plain_edges(graph, weights)) {
    nodes.edges[number.at(a)][number.at(b)] += weight;
    nodes.edges[number.at(b)][number.at(a)] += weight;
  }
  nodes.label.resize(order.size());
  std::uint32_t label = 0;
  for (Step t = 0; t < graph.steps; ++t)
    for (VertexId v = 0; v < graph.vertices; ++v)
      if (test::cell_exists(graph, v, t)) nodes.label[number.at({v, t})] = label++;
  return nodes;
}

struct Wish {
  std::uint32_t label = 0;
  std::int64_t gain = 0;
  std::uint32_t node = 0;
};

/// The label of the largest weight among those with room; its own on a tie, else the smallest.
Wish wish_of(const PlainNodes& nodes, std::uint32_t node, std::int64_t cap) {
  std::map<std::uint32_t, std::int64_t> weight{{nodes.label[node], 0}};
  for (const auto& [other, of_edge] : nodes.edges[node]) weight[nodes.label[other]] += of_edge;
  Wish best{nodes.label[node], 0, node};
  for (const auto& [label, sum] : weight) {
    const std::int64_t gain = sum - weight.at(nodes.label[node]);
    if (gain > best.gain && nodes.cells_of(label) + nodes.cells[node] <= cap) best = {label, gain, node};
  }
  return best;
}

/// Nodes that wanted to move, and that moved.
std::pair<std::int64_t, std::int64_t> plain_sub_round(PlainNodes& nodes, std::int64_t round, bool coin,
                                                      const PropagationLimits& limits) {
  const RandomStream coins(limits.seed, random_purpose::partition, 0x10000 + nodes.level);
  const auto gains = [&](std::uint32_t label) {
    return ((coins.bits(static_cast<std::uint64_t>(round) << 32 | label) & 1) != 0) == coin;
  };
  std::vector<Wish> wishes;
  std::int64_t wanted = 0, moved = 0, predicted = nodes.weight_within();
  for (std::uint32_t node = 0; node < nodes.label.size(); ++node) {
    if (gains(nodes.label[node])) continue;
    const Wish wish = wish_of(nodes, node, limits.max_cells);
    if (wish.gain == 0) continue;
    ++wanted;
    if (gains(wish.label)) wishes.push_back(wish);
  }
  std::sort(wishes.begin(), wishes.end(),
            [](const Wish& a, const Wish& b) { return a.gain != b.gain ? a.gain > b.gain : a.node < b.node; });
  for (const Wish& wish : wishes) {
    if (nodes.cells_of(wish.label) + nodes.cells[wish.node] > limits.max_cells) continue;
    nodes.label[wish.node] = wish.label;
    predicted += wish.gain;
    ++moved;
  }
  EXPECT_GE(nodes.weight_within(), predicted) << "moves of one sub-round must not undo each other";
  return {wanted, moved};
}

struct PlainResult {
  std::int64_t rounds = 0, moved_last = 0;
};

PlainResult plain_propagation(PlainNodes& nodes, const PropagationLimits& limits) {
  PlainResult result;
  for (std::int64_t wanted = -1; result.rounds < limits.rounds && wanted != 0;) {
    ++result.rounds;
    wanted = result.moved_last = 0;
    for (const bool coin : {false, true}) {
      const auto [wants, moves] = plain_sub_round(nodes, result.rounds, coin, limits);
      wanted += wants, result.moved_last += moves;
    }
  }
  return result;
}

/// One node for each label, in the order of labels; also replaces labels by their nodes.
PlainNodes plain_contraction(PlainNodes& nodes) {
  const std::set<std::uint32_t> used(nodes.label.begin(), nodes.label.end());
  for (std::uint32_t& label : nodes.label)
    label = static_cast<std::uint32_t>(std::distance(used.begin(), used.find(label)));
  PlainNodes merged{std::vector<std::int64_t>(used.size(), 0), {}, PlainLabels(used.size()), nodes.level + 1};
  merged.edges.resize(used.size());
  std::iota(merged.label.begin(), merged.label.end(), 0u);
  for (std::size_t i = 0; i < nodes.label.size(); ++i) {
    merged.cells[nodes.label[i]] += nodes.cells[i];
    for (const auto& [other, weight] : nodes.edges[i])
      if (nodes.label[i] != nodes.label[other]) merged.edges[nodes.label[i]][nodes.label[other]] += weight;
  }
  return merged;
}

/// Chunks, their graph in plain form, and what was counted.
struct PlainChunks {
  PlainLabels of_node;
  PlainNodes graph;
  PlainResult cells;
  std::int64_t levels = 1;
};

PlainChunks plain_chunks(PlainNodes nodes, const PropagationLimits& limits, std::int64_t levels) {
  PlainChunks result;
  result.cells = plain_propagation(nodes, limits);
  result.graph = plain_contraction(nodes);
  result.of_node = nodes.label;
  for (; result.levels < levels; ++result.levels) {
    plain_propagation(result.graph, limits);
    PlainNodes merged = plain_contraction(result.graph);
    if (merged.cells.size() == result.graph.cells.size()) break;
    for (std::uint32_t& chunk : result.of_node) chunk = result.graph.label[chunk];
    result.graph = std::move(merged);
  }
  return result;
}

void expect_plain_chunks(const ChunksTogether& made, const PlainChunks& plain, const std::string& where) {
  EXPECT_EQ(made.chunks.of_node, plain.of_node) << where;
  EXPECT_EQ(made.chunks.cells, plain.graph.cells) << where;
  EXPECT_EQ(made.rounds, plain.cells.rounds) << where;
  EXPECT_EQ(made.moved_last, plain.cells.moved_last) << where;
  EXPECT_EQ(made.levels, plain.levels) << where;
  std::vector<std::int64_t> offsets{0}, traffic;
  PlainLabels neighbours;
  for (const auto& row : plain.graph.edges) {
    for (const auto& [other, weight] : row) neighbours.push_back(other), traffic.push_back(weight);
    offsets.push_back(static_cast<std::int64_t>(traffic.size()));
  }
  EXPECT_EQ(made.chunks.offsets, offsets) << where;
  EXPECT_EQ(made.chunks.neighbours, neighbours) << where;
  EXPECT_EQ(made.chunks.traffic, traffic) << where;
}

class ChunksTogetherTest : public testing::TestWithParam<std::size_t> {};

TEST_P(ChunksTogetherTest, AreThoseOfThePlainRuleAtEveryNumberOfProcesses) {
  const TrafficWeights weights = test::kinds_of_weights()[GetParam()];
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, 3 + 4 * seed, 3 + 2 * (seed % 4), 0.5 * seed, seed % 2 == 0);
    const PlainNodes nodes = plain_cells(graph, weights);
    for (const std::int64_t cap : {1, 3, 8, 1000}) {
      // Few rounds as well, because different rules may reach the same end.
      for (const auto& [rounds, levels] : {std::pair{1, 1}, {2, 3}, {60, 16}}) {
        const PropagationLimits limits{cap, rounds, seed};
        const PlainChunks plain = plain_chunks(nodes, limits, levels);
        EXPECT_LE(*std::max_element(plain.graph.cells.begin(), plain.graph.cells.end()), cap);
        for (const int size : {1, 2, 5}) {
          on_holders(size, [&, levels = levels](const ShareHolders& holders) {
            SuperGraphShare share = super_graph_share(graph, weights, holders);
            const ChunksTogether made = make_chunks_together(share, limits, levels, holders);
            expect_plain_chunks(made, plain,
                                "seed " + std::to_string(seed) + ", cap " + std::to_string(cap) + ", process " +
                                    std::to_string(holders.rank) + " of " + std::to_string(size));
          });
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, ChunksTogetherTest, testing::Range<std::size_t>(0, 10));

TEST(ChunksTogether, SharesOfTheSuperGraphAddUp) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, 5 + 3 * seed, 6, 0.6 * seed, seed % 2 == 0);
    const TrafficWeights weights{3, {{1, 2, 0}}, 0};
    const SuperGraph whole = super_graph(graph, weights);
    for (const int size : {1, 2, 5, 30}) {
      on_holders(size, [&](const ShareHolders& holders) {
        const SuperGraphShare share = super_graph_share(graph, weights, holders);
        const std::uint32_t first = share.shares.first[holders.rank];
        ASSERT_EQ(share.shares.nodes(), static_cast<std::uint32_t>(whole.nodes()));
        // First labels are different for all cells, so they say which cell a neighbour is.
        for (std::int64_t node = 0; node < share.graph.nodes(); ++node) {
          EXPECT_EQ(share.graph.first_labels[node], whole.first_labels[first + node]);
          std::multiset<std::uint32_t> here, there;
          for (std::int64_t e = share.graph.offsets[node]; e < share.graph.offsets[node + 1]; ++e)
            here.insert(share.graph.first_labels[share.graph.neighbours[e]]);
          for (std::int64_t e = whole.offsets[first + node]; e < whole.offsets[first + node + 1]; ++e)
            there.insert(whole.first_labels[whole.neighbours[e]]);
          EXPECT_EQ(here, there) << "seed " << seed << ", process " << holders.rank << " of " << size;
        }
      });
    }
  }
}

/// Makes chunks as a process whose n-th message from process 0 cannot be read. Returns its error.
std::string error_with_a_bad_message(const PreparedGraph& graph, const ShareHolders& holders, int n) {
  ShareHolders reading = holders;
  reading.all_to_all = [&holders, n](const std::vector<std::string>& to) mutable {
    std::vector<std::string> received = holders.all_to_all(to);
    if (--n == 0) received[0].replace(0, received[0].size() - 1, 8, '\xff');  // its last character says that it is well
    return received;
  };
  try {
    SuperGraphShare share = super_graph_share(graph, {3, {{1, 2, 0}}, 0}, reading);
    make_chunks_together(share, {8, 60, 1}, 16, reading);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(ChunksTogether, AProcessThatFailsAnywhereStopsAll) {
  const PreparedGraph graph = test::random_cells(1, 9, 4, 1, true);
  int failures = 0;
  for (int n = 1; n <= 60; ++n) {
    std::vector<std::string> said(3);
    on_holders(3, [&](const ShareHolders& holders) {
      said[holders.rank] = error_with_a_bad_message(graph, holders, holders.rank == 1 ? n : 0);
      EXPECT_EQ(holders.sums({1}), std::vector<std::int64_t>{3}) << "all meet again";
    });
    failures += said[1].empty() ? 0 : 1;
    for (const int other : {0, 2}) EXPECT_EQ(said[other], said[1].empty() ? "" : "rank 1: " + said[1]) << n;
  }
  EXPECT_GT(failures, 30);
}

}  // namespace
}  // namespace strobe
