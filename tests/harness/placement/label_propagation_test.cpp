// Label propagation, compared with the plain rule by brute force on small random graphs: all edges are listed, and
// every cell is visited in every round. Cases have ties, caps, presence, and every kind of temporal edge.
#include "harness/placement/chunks/label_propagation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/random.hpp"
#include "tests/harness/placement/random_cells.hpp"

namespace strobe {
namespace {

using test::Cell;

/// The plain rule. Labels are Eq. 1's: the number of cells of earlier steps, and of smaller vertices in the step.
class PlainPropagation {
 public:
  PlainPropagation(const PreparedGraph& graph, const TrafficWeights& weights, std::size_t max_cells)
      : graph_(graph), max_cells_(max_cells) {
    std::uint32_t label = 0;
    for (Step t = 0; t < graph.steps; ++t) {
      for (VertexId v = 0; v < graph.vertices; ++v) {
        if (test::cell_exists(graph, v, t)) label_[{v, t}] = label++;
      }
    }
    for (const auto& [a, b, weight] : test::plain_edges(graph, weights)) {
      neighbours_[a].emplace_back(b, weight);
      neighbours_[b].emplace_back(a, weight);
    }
  }

  /// The cells in the order of visits: sequences in the seeded order, each from its first cell on.
  std::vector<Cell> order(std::uint64_t seed) const {
    std::vector<std::vector<Cell>> sequences;
    for (const Cell& cell : test::cells_in_order(graph_)) {
      const bool follows = !sequences.empty() && sequences.back().back() == Cell{cell.first, cell.second - 1};
      if (!follows) sequences.emplace_back();
      sequences.back().push_back(cell);
    }
    const RandomStream random(seed, random_purpose::partition, 48);
    for (std::size_t i = sequences.size(); i > 1; --i) std::swap(sequences[i - 1], sequences[random.below(i, i)]);
    std::vector<Cell> cells;
    for (const auto& sequence : sequences) cells.insert(cells.end(), sequence.begin(), sequence.end());
    return cells;
  }

  std::int64_t round(const std::vector<Cell>& order) {
    std::int64_t moved = 0;
    for (const Cell& cell : order) {
      const std::uint32_t next = best(cell);
      moved += next != label_[cell] ? 1 : 0;
      label_[cell] = next;
    }
    return moved;
  }

  std::vector<std::uint32_t> labels() {
    std::vector<std::uint32_t> labels;
    for (const Cell& cell : test::cells_in_order(graph_)) labels.push_back(label_.at(cell));
    return labels;
  }

 private:
  std::uint32_t best(const Cell& cell) {
    const std::uint32_t own = label_.at(cell);
    std::map<std::uint32_t, std::int64_t> weight{{own, 0}};
    for (const auto& [other, of_edge] : neighbours_[cell]) weight[label_.at(other)] += of_edge;
    std::uint32_t best = own;
    for (const auto& [label, sum] : weight) {  // ascending, so the smallest label wins ties
      const auto cells = std::count_if(label_.begin(), label_.end(), [&](const auto& l) { return l.second == label; });
      if (label != own && static_cast<std::size_t>(cells) >= max_cells_) continue;
      if (sum > weight.at(best)) best = label;
    }
    return best;
  }

  const PreparedGraph& graph_;
  std::size_t max_cells_;
  std::map<Cell, std::uint32_t> label_;
  std::map<Cell, std::vector<std::pair<Cell, std::int64_t>>> neighbours_;
};

std::size_t largest(const Column<std::uint32_t>& labels) {
  std::map<std::uint32_t, std::size_t> cells;
  std::size_t most = 0;
  for (const std::uint32_t label : labels) most = std::max(most, ++cells[label]);
  return most;
}

void expect_plain_rule(const PreparedGraph& graph, const TrafficWeights& weights, std::size_t max_cells,
                       unsigned seed) {
  PlainPropagation plain(graph, weights, max_cells);
  const std::vector<Cell> order = plain.order(seed);
  std::int64_t rounds = 0, moved = -1;
  while (rounds < 30 && moved != 0) {
    moved = plain.round(order);
    ++rounds;
    // Compares after every number of rounds, because different rules may reach the same end.
    SuperGraph super = super_graph(graph, weights);
    const PropagatedLabels labels = propagate_labels(super, static_cast<std::int64_t>(max_cells), rounds, seed);
    ASSERT_EQ(labels.label, plain.labels()) << "round " << rounds << ", cap " << max_cells << ", seed " << seed;
    ASSERT_EQ(labels.moved_last, moved);
    ASSERT_EQ(labels.rounds, rounds);
    ASSERT_LE(largest(labels.label), max_cells);
  }
  EXPECT_EQ(moved, 0) << "the weight within labels grows with every change, so it must end";
}

class LabelPropagation : public testing::TestWithParam<std::size_t> {};

TEST_P(LabelPropagation, IsThePlainRule) {
  const TrafficWeights weights = test::kinds_of_weights()[GetParam()];
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const PreparedGraph graph = test::random_cells(seed, 4 + 3 * seed, 4 + 2 * (seed % 5), 0.4 * seed, seed % 2 == 0);
    for (const std::size_t cap : {1, 2, 3, 5, 9, 1000}) expect_plain_rule(graph, weights, cap, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, LabelPropagation, testing::Range<std::size_t>(0, 10));

TEST(LabelPropagationTies, KeepTheOwnLabelElseTheSmallest) {
  // Three vertices in one step: 1 reads 0 and 2 with equal weights. Vertex 1 has no neighbour with its label, so it
  // takes the smaller of 0 and 2, unless 0 or 2 has taken its label before. Later vertices keep a label of equal
  // weight.
  PreparedGraph graph;
  graph.vertices = 3, graph.steps = 1;
  graph.row_offsets = {0, 0, 2, 2};
  graph.columns = {0, 2};
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SuperGraph super = super_graph(graph, {1, {}, 0});
    const Column<std::uint32_t> labels = propagate_labels(super, 3, 30, seed).label;
    EXPECT_EQ(labels[0], labels[1]);
    EXPECT_EQ(labels[1], labels[2]);
    EXPECT_NE(labels[0], 2u) << "no cell prefers the larger label, and 2 itself follows its only neighbour";
  }
}

TEST(LabelPropagationTies, FirstLabelsAreEquationOne) {
  // |V_t| = 3, 2, 4 as in decisions 4.5. Labels are 1 to 9 there and 0 to 8 here.
  const std::vector<std::int32_t> begins = {0, 0, 0, -1, -1, 0, 0, -1, 2, 0, 0, 2};
  PreparedGraph graph;
  graph.vertices = 4, graph.steps = 3;
  graph.row_offsets.assign(13, 0);
  graph.presence = std::make_shared<const Presence>(4, begins);
  const SuperGraph super = super_graph(graph, {1, {{1, 1, 0}}, 0});
  EXPECT_EQ(super.first_labels, (std::vector<std::uint32_t>{0, 5, 1, 3, 6, 2, 4, 7, 8}));
  EXPECT_EQ(super.sequences.size(), 5u);  // vertex 0 twice, the others once
}

}  // namespace
}  // namespace strobe
