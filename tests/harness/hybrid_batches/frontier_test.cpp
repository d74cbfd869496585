// Frontiers, compared with a dependency graph that has one node for each layer, stage, vertex and step, and is walked
// backwards.
#include "harness/hybrid_batches/encoding/frontier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "core/errors.hpp"
#include "tests/harness/hybrid_batches/random_batches.hpp"

namespace strobe {
namespace {

/// The kinds of nodes: a layer's output, the input of its temporal stage (or its state, if it computes step by step),
/// the input of product `part`, and the layer's input.
enum class Stage { output, inner, product, input };
using Node = std::array<std::int64_t, 5>;  // layer, stage, part, vertex, step of the batch

class DependencyGraph {
 public:
  DependencyGraph(const BatchSource& source, const BatchCells& cells) : source_(source), cells_(cells) { connect(); }

  /// All nodes on which the batch's cells depend.
  const std::set<Node>& reached() {
    std::vector<Node> waiting;
    const auto last = static_cast<std::int64_t>(source_.layers.size()) - 1;
    for (std::int64_t t = 0; t < cells_.steps.count; ++t) {
      std::set<VertexId> wanted(cells_.targets.begin(), cells_.targets.end());
      if (!cells_.others.empty()) wanted.insert(cells_.others.at(t).begin(), cells_.others.at(t).end());
      for (const VertexId v : wanted)
        if (exists(v, t)) waiting.push_back(node(last, Stage::output, 0, v, t));
    }
    while (!waiting.empty()) {
      const Node at = waiting.back();
      waiting.pop_back();
      if (!reached_.insert(at).second) continue;
      for (const Node& next : reads_[at]) waiting.push_back(next);
    }
    return reached_;
  }

  static Node node(std::int64_t layer, Stage stage, std::int64_t part, std::int64_t v, std::int64_t t) {
    return {layer, static_cast<std::int64_t>(stage), part, v, t};
  }

 private:
  bool exists(std::int64_t v, std::int64_t t) const {
    const Presence* presence = source_.inputs->presence.get();
    return presence == nullptr || presence->exists(static_cast<VertexId>(v), static_cast<Step>(cells_.steps.first + t));
  }
  /// Whether layer l, at step t, reads its own vertex at the step s before it.
  bool remembers(const LayerReads& layer, std::int64_t v, std::int64_t s, std::int64_t t) const {
    if (source_.frontier == FrontierKind::layers || layer.earlier < t - s) return false;
    for (std::int64_t u = s; u < t; ++u) {
      if (!exists(v, u)) return false;
      if (layer.reset_every > 0 && (u + 1) % layer.reset_every == 0) return false;
    }
    return true;
  }

  void connect() {
    for (std::int64_t l = 0; l < static_cast<std::int64_t>(source_.layers.size()); ++l)
      for (std::int64_t t = 0; t < cells_.steps.count; ++t)
        for (std::int64_t v = 0; v < source_.inputs->vertices; ++v) connect_cell(l, v, t);
  }

  void connect_cell(std::int64_t l, std::int64_t v, std::int64_t t) {
    const LayerReads& layer = source_.layers[l];
    const std::int64_t products = layer.products.size();
    auto& of_output = reads_[node(l, Stage::output, 0, v, t)];
    of_output.push_back(node(l, Stage::inner, 0, v, t));
    for (std::int64_t s = 0; s < t && products == 0; ++s)
      if (remembers(layer, v, s, t)) of_output.push_back(node(l, Stage::inner, 0, v, s));
    reads_[node(l, Stage::inner, 0, v, t)].push_back(node(l, Stage::product, products, v, t));
    for (std::int64_t p = products; p > 0; --p) {
      auto& of_product = reads_[node(l, Stage::product, p, v, t)];
      of_product.push_back(node(l, Stage::product, p - 1, v, t));
      for (const int support : layer.products[p - 1]) {
        const PreparedGraph& graph = *source_.supports[support];
        for (const VertexId u : test::row_of(graph, v, cells_.steps.first + t))
          of_product.push_back(node(l, Stage::product, p - 1, u, t));
      }
    }
    auto& of_inputs = reads_[node(l, Stage::product, 0, v, t)];
    if (products > 0 && t > 0 && remembers(layer, v, t - 1, t)) of_inputs.push_back(node(l, Stage::inner, 0, v, t - 1));
    of_inputs.push_back(node(l, Stage::input, 0, v, t));
    if (layer.neighbours) {
      for (const VertexId u : test::row_of(*source_.inputs, v, cells_.steps.first + t))
        of_inputs.push_back(node(l, Stage::input, 0, u, t));
    }
    if (l > 0) reads_[node(l, Stage::input, 0, v, t)].push_back(node(l - 1, Stage::output, 0, v, t));
  }

  const BatchSource& source_;
  const BatchCells& cells_;
  std::map<Node, std::vector<Node>> reads_;
  std::set<Node> reached_;
};

std::vector<VertexId> in_graph(const Frontier& frontier, const std::vector<std::int32_t>& rows) {
  std::vector<VertexId> vertices;
  for (const std::int32_t row : rows) vertices.push_back(frontier.field.at(row));
  return vertices;
}

/// The vertices of reached nodes that `which` picks at step t, ascending.
template <class Which>
std::vector<VertexId> picked(const std::set<Node>& reached, std::int64_t t, const Which& which) {
  std::set<VertexId> vertices;
  for (const Node& node : reached)
    if (node[4] == t && which(node)) vertices.insert(static_cast<VertexId>(node[3]));
  return {vertices.begin(), vertices.end()};
}

void expect_same(const BatchSource& source, const BatchCells& cells, const Frontier& frontier) {
  DependencyGraph judge(source, cells);
  const std::set<Node>& reached = judge.reached();
  const std::int64_t layers = source.layers.size();
  ASSERT_EQ(static_cast<std::int64_t>(frontier.steps.size()), cells.steps.count);
  std::set<VertexId> field;
  for (std::int64_t t = 0; t < cells.steps.count; ++t) {
    const StepFrontier& step = frontier.steps[t];
    for (std::int64_t l = -1; l < layers; ++l) {
      const Node wanted =
          l < 0 ? Node{0, static_cast<std::int64_t>(Stage::input)} : Node{l, static_cast<std::int64_t>(Stage::output)};
      const auto judged =
          picked(reached, t, [&](const Node& node) { return node[0] == wanted[0] && node[1] == wanted[1]; });
      EXPECT_EQ(in_graph(frontier, step.computed_rows(static_cast<int>(l))), judged) << "layer " << l << " step " << t;
      if (l < 0) field.insert(judged.begin(), judged.end());
    }
    for (std::size_t m = 0; m <= source.supports.size(); ++m) {
      const auto reads_row = [&](const Node& node) {
        const LayerReads& layer = source.layers[node[0]];
        if (node[1] != static_cast<std::int64_t>(Stage::product)) return false;
        if (node[2] == 0) return m == 0 && layer.neighbours;
        const std::vector<int>& stage = layer.products[node[2] - 1];
        return std::count(stage.begin(), stage.end(), static_cast<int>(m) - 1) > 0;
      };
      std::vector<std::int32_t> rows(step.rows.begin(), step.rows.begin() + step.with_row.at(m));
      std::sort(rows.begin(), rows.end());
      EXPECT_EQ(in_graph(frontier, rows), picked(reached, t, reads_row)) << "matrix " << m << " step " << t;
    }
  }
  EXPECT_EQ(frontier.field, std::vector<VertexId>(field.begin(), field.end()));
}

LayerReads random_layer(test::Draws& draw) {
  LayerReads layer;
  layer.neighbours = draw.below(3) > 0;
  const std::int64_t earlier[] = {0, 1, 2, LayerReads::all_earlier};
  layer.earlier = earlier[draw.below(4)];
  layer.reset_every = draw.below(3) == 0 ? 2 : 0;
  if (draw.below(3) == 0) {
    layer.earlier = draw.below(2) == 0 ? 0 : LayerReads::all_earlier;
    for (int i = draw.below(4); i >= 0; --i) {
      layer.products.push_back({draw.below(2)});
      if (draw.below(2) == 0) layer.products.back() = {0, 1};
    }
  }
  return layer;
}

TEST(Frontier, IsWhatTheTargetsLeadBackTo) {
  Preprocessing plain;
  plain.laplacian = plain.precompute_first_product = false;
  for (unsigned seed = 0; seed < 60; ++seed) {
    test::Draws draw(seed);
    const SnapshotGraph graph = test::random_snapshots(draw, 14 + draw.below(12), 5, 1);
    const auto presence = presence_of(graph, presence_kinds()[seed % 4]);
    std::vector<PreparedGraph> prepared;
    for (const std::string walk : {"none", "in", "out"}) {
      plain.walk = walk;
      prepared.push_back(prepare(graph, plain, 5, true, presence));
    }
    BatchSource source{&prepared[0], {&prepared[1], &prepared[2]}, {}, FrontierKind::exact};
    source.frontier = seed % 5 == 0 ? FrontierKind::layers : FrontierKind::exact;
    BatchScratch scratch(graph.vertices);
    for (int layers = 1 + draw.below(3); layers > 0; --layers) source.layers.push_back(random_layer(draw));
    for (int i = 0; i < 3; ++i) {
      const BatchCells cells = test::random_cells(draw, prepared[0]);
      expect_same(source, cells, batch_frontier(source, cells, scratch));
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
  }
}

TEST(Frontier, LayersTakeTheHopsOfOneStep) {
  // 0 reads 1 only at step 0, and 1 reads 2 only at step 1. With a state between two products, 0 at step 1 depends on 1
  // at steps 0 and 1, not on 2. Without a state it depends only on itself.
  PreparedGraph graph;
  graph.vertices = 3;
  graph.steps = 2;
  graph.row_offsets = {0, 1, 1, 1, 1, 2, 2};
  graph.columns = {1, 2};
  const LayerReads recurrent{true, {}, LayerReads::all_earlier, 0};
  BatchSource source{&graph, {}, {recurrent, recurrent}, FrontierKind::exact};
  BatchScratch scratch(3);
  const BatchCells cells{{0}, {0, 2}, {}};
  EXPECT_EQ(batch_frontier(source, cells, scratch).field, (std::vector<VertexId>{0, 1}));
  std::swap(graph.columns.edit()[0], graph.columns.edit()[1]);  // 0 reads 2 at step 0, 1 reads 1 at step 1
  EXPECT_EQ(batch_frontier(source, cells, scratch).field, (std::vector<VertexId>{0, 2}));
  graph.row_offsets = {0, 0, 1, 1, 2, 2, 2};  // 1 reads 2 at step 0; 0 reads 1 at step 1, which depends on step 0
  ASSERT_EQ(graph.columns, (std::vector<VertexId>{2, 1}));
  EXPECT_EQ(batch_frontier(source, cells, scratch).field, (std::vector<VertexId>{0, 1, 2}));
  source.frontier = FrontierKind::layers;
  EXPECT_EQ(batch_frontier(source, cells, scratch).field, (std::vector<VertexId>{0, 1}));
}

/// A line of vertices; each vertex reads both of its neighbours.
PreparedGraph line(std::int64_t vertices, std::int64_t steps) {
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = steps;
  graph.row_offsets = {0};
  for (std::int64_t row = 0; row < steps * vertices; ++row) {
    for (const std::int64_t u : {row % vertices - 1, row % vertices + 1})
      if (u >= 0 && u < vertices) graph.columns.push_back(static_cast<VertexId>(u));
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  return graph;
}

// A walk of K hops for the gates and then one for the candidate: 2 K hops a step. In the authors' code the second walk
// begins with the result of the first walk's last but one hop: 2 K - 1 hops instead of K.
TEST(Frontier, OfDcrnnTakesTheHopsOfItsLongestWalks) {
  const PreparedGraph graph = line(101, 2);
  for (const auto& [options, hops] : std::vector<std::pair<Json, std::size_t>>{{{{"hops", 2}}, 4},
                                                                               {{{"hops", 3}}, 6},
                                                                               {{{"directions", "in"}}, 4},
                                                                               {{{"terms", "chebyshev"}}, 4},
                                                                               {{{"terms", "carried"}}, 6},
                                                                               {{{"state", "none"}}, 0},
                                                                               {{{"precompute", false}}, 4},
                                                                               {{{"hops", 0}}, 0}}) {
    const auto model = ModelRegistry::instance().find("dcrnn").value(options);
    const BatchSource source{&graph, {&graph, &graph}, layer_reads(model->layers(2)), FrontierKind::exact};
    BatchScratch scratch(101);
    for (const std::int64_t window : {1, 2}) {
      const auto field = batch_frontier(source, {{50}, {0, window}, {}}, scratch).field;
      const std::size_t reached = options.contains("state") ? 0 : hops * static_cast<std::size_t>(window);
      EXPECT_EQ(field.size(), 2 * reached + 1) << options << " over " << window << " steps";
    }
  }
}

TEST(Frontier, CountsTargetsOfExampleOne) {
  // DynaHB, Example 1: two rounds of two vertices in four snapshots have 16 target cells; four in three snapshots have
  // 24.
  const PreparedGraph graph = [] {
    PreparedGraph edgeless;
    edgeless.vertices = edgeless.steps = 4;
    edgeless.row_offsets.assign(17, 0);
    return edgeless;
  }();
  const BatchSource source{&graph, {}, {LayerReads{true, {}, LayerReads::all_earlier, 0}}, FrontierKind::exact};
  BatchScratch scratch(4);
  const auto cells_of = [&](std::vector<VertexId> targets, strobe::Run steps) {
    return batch_frontier(source, {std::move(targets), steps, {}}, scratch).cells();
  };
  EXPECT_EQ(cells_of({0, 1}, {0, 4}) + cells_of({1, 2}, {0, 4}), 16);
  EXPECT_EQ(cells_of({0, 1, 2, 3}, {0, 3}) + cells_of({0, 1, 2, 3}, {1, 3}), 24);
}

TEST(Frontier, RefusesWhatIsNotThere) {
  PreparedGraph graph;
  graph.vertices = 3;
  graph.steps = 2;
  graph.row_offsets.assign(7, 0);
  const BatchSource source{&graph, {}, {LayerReads{}}, FrontierKind::exact};
  BatchScratch scratch(3), other(4);
  EXPECT_THROW(batch_frontier(source, {{0}, {1, 2}, {}}, scratch), InvalidRequest);
  EXPECT_THROW(batch_frontier(source, {{0}, {-1, 1}, {}}, scratch), InvalidRequest);
  EXPECT_THROW(batch_frontier(source, {{0}, {0, 0}, {}}, scratch), InvalidRequest);
  EXPECT_THROW(batch_frontier(source, {{3}, {0, 2}, {}}, scratch), Error);
  EXPECT_THROW(batch_frontier(source, {{0}, {0, 2}, {{1}}}, scratch), Error);
  EXPECT_THROW(batch_frontier(source, {{0}, {0, 2}, {}}, other), Error);
  graph.counted_nonzeros = {5, 5};
  EXPECT_THROW(batch_frontier(source, {{0}, {0, 2}, {}}, scratch), InvalidRequest);
}

TEST(VertexPlaces, AreThoseOfTheLastListAlone) {
  std::mt19937 random(7);
  VertexPlaces places(200);
  for (int list = 0; list < 50; ++list) {
    std::vector<VertexId> vertices(200);
    std::iota(vertices.begin(), vertices.end(), 0);
    std::shuffle(vertices.begin(), vertices.end(), random);
    vertices.resize(random() % 200);
    places.take(vertices);
    EXPECT_EQ(places.list(), vertices);
    for (VertexId v = 0; v < 200; ++v) {
      const auto found = std::find(vertices.begin(), vertices.end(), v);
      EXPECT_EQ(places.of(v), found == vertices.end() ? -1 : found - vertices.begin()) << v;
    }
  }
}

}  // namespace
}  // namespace strobe
