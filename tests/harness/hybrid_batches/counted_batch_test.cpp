// Batches counted from a shape, compared with batches cut out of graphs that fit the shape's model. In these graphs
// every row has about the mean number of entries, spread evenly over all vertices.
#include "harness/hybrid_batches/encoding/counted_batch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/training/make_plan.hpp"
#include "results/row/row.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/harness/hybrid_batches/random_batches.hpp"

namespace strobe {
namespace {

using Sizes = std::map<std::string, double>;

/// A graph with `degree` drawn columns in each row, plus the vertex's own column if `own`.
PreparedGraph drawn_graph(test::Draws& draw, int vertices, int steps, int degree, bool own) {
  PreparedGraph graph;
  graph.vertices = vertices;
  graph.steps = steps;
  graph.feature_width = 2;
  graph.row_offsets = {0};
  for (int row = 0; row < vertices * steps; ++row) {
    std::set<VertexId> columns;
    if (own) columns.insert(row % vertices);
    for (int i = 0; i < degree; ++i) columns.insert(draw.below(vertices));
    graph.columns.append(columns.begin(), columns.end());
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  graph.values32.assign(graph.columns.size(), 1.0F);
  return graph;
}

/// The graph's shape, with only the number of entries of each step.
PreparedGraph shape_of(const PreparedGraph& graph) {
  PreparedGraph shape;
  shape.vertices = graph.vertices;
  shape.steps = graph.steps;
  shape.feature_width = graph.feature_width;
  for (std::int64_t t = 0; t < graph.steps; ++t)
    shape.counted_nonzeros.push_back(graph.step_nonzeros(static_cast<Step>(t)));
  return shape;
}

Sizes sizes_of(const LayeredBatch& batch) {
  Sizes sizes{{"computed", batch.computed_cells}, {"needed", batch.needed_cells}};
  for (std::size_t l = 0; l < batch.layers.size(); ++l) {
    const BatchLayer& layer = batch.layers[l];
    const std::string name = "layer " + std::to_string(l) + " ";
    sizes[name + "cells"] = static_cast<double>(layer.cells.count());
    sizes[name + "columns"] = static_cast<double>(layer.columns());
    sizes[name + "entries"] = static_cast<double>(batch.counted_only ? layer.entries : layer.a.offsets.back());
    for (std::size_t s = 0; s < layer.steps.size(); ++s) {
      double& entries = sizes[name + "support " + std::to_string(s)];
      for (std::size_t t = 0; t < layer.steps[s].size(); ++t)
        entries +=
            static_cast<double>(batch.counted_only ? layer.step_entries[s][t] : layer.steps[s][t].offsets.back());
    }
  }
  return sizes;
}

/// Compares each size with its mean over drawn batches. The tolerance is a share of it, plus half a cell for each of
/// four steps, because their sizes are rounded.
void expect_counts(const std::vector<LayerShape>& layers, FrontierKind kind, int targets, double tolerance) {
  test::Draws draw(7);
  const PreparedGraph graph = drawn_graph(draw, 1500, 4, 2, true);
  const auto out = std::make_shared<const PreparedGraph>(drawn_graph(draw, 1500, 4, 1, false));
  const auto in = std::make_shared<const PreparedGraph>(drawn_graph(draw, 1500, 4, 1, false));
  const std::vector<std::shared_ptr<const PreparedGraph>> supports = {out, in};
  const BatchSource source{&graph, {out.get(), in.get()}, layer_reads(layers), kind};
  BatchEncoder encoder({graph, supports, layers, false});
  BatchScratch scratch(1500);
  Sizes mean;
  constexpr int batches = 12;
  for (int i = 0; i < batches; ++i) {
    const BatchCells cells{test::random_vertices(draw, targets, 1500), {0, 4}, {}};
    const auto needed = needed_cells(batch_frontier(source, cells, scratch), layers.size());
    for (const auto& [name, size] : sizes_of(encoder.encode({0, 4}, needed, cells.targets, scratch.places())))
      mean[name] += size / batches;
  }
  const PreparedGraph shape = shape_of(graph);
  const auto counted = std::make_shared<const PreparedGraph>(shape_of(*out));
  const std::vector<std::shared_ptr<const PreparedGraph>> counted_supports = {counted, counted};
  const BatchSource of_shape{&shape, {counted.get(), counted.get()}, layer_reads(layers), kind};
  const LayeredBatch batch = count_batch(of_shape, {shape, counted_supports, layers, false}, {0, 4}, targets);
  for (const auto& [name, size] : sizes_of(batch))
    EXPECT_NEAR(size, mean[name], tolerance * mean[name] + 2) << name << ", " << targets << " targets";
}

TEST(CountedBatch, HasTheSizesOfBatchesOfRandomGraphs) {
  const LayerShape plain{2, 2, 2, true, TemporalNeed::none}, recurrent{2, 2, 2, true, TemporalNeed::recurrent},
      attention{2, 2, 2, true, TemporalNeed::all};
  LayerShape window{2, 2, 2, true, TemporalNeed::window, 2};
  LayerShape first = recurrent;
  first.reads_neighbours = false;
  for (const int targets : {10, 100, 700, 1500}) {
    for (const FrontierKind kind : {FrontierKind::exact, FrontierKind::layers}) {
      expect_counts({plain, plain}, kind, targets, 0.06);
      expect_counts({plain, recurrent}, kind, targets, 0.06);
      expect_counts({first, attention}, kind, targets, 0.06);
    }
    // With a state between two products, the vertices that a step adds depend on the step before.
    expect_counts({recurrent, recurrent}, FrontierKind::exact, targets, 0.12);
    expect_counts({window, window}, FrontierKind::exact, targets, 0.12);
  }
}

TEST(CountedBatch, OfStepsOneByOneHasTheirSupports) {
  LayerShape stepped{2, 2, 2, false, TemporalNeed::none, 0, true};
  stepped.products = {{0, 2, 0}, {0, 2, 1}};
  for (const int targets : {20, 300, 1500}) expect_counts({stepped}, FrontierKind::exact, targets, 0.06);
}

TEST(CountedBatch, ShapesAreSimulatedWithEveryStrategy) {
  for (const char* model : {"t-gcn", "dcrnn", "evolve-gcn-o", "cd-gcn"}) {
    for (const char* strategy : {"pyd", "dbov", "dbos", "bvr", "hybrid_batch"}) {
      Json request = test::hybrid_case(STROBE_SOURCE_DIR "/results/published/mapping/shapes/slashdot-edge-life.json",
                                       {{"name", model}, {"precompute", false}},
                                       {{"name", strategy}, {"partitioner", "hash"}}, 3, 2);
      request["task"] = "vertex-regression";
      request.update({{"device", "sim"}, {"cluster", "dynahb-a6000"}, {"precision", "fp32"}});
      const CaseResult result = test::run(request);
      EXPECT_EQ(result.status, "ok") << model << " " << strategy << " " << result.reason;
      EXPECT_GT(result.facts.get<double>("redundant_computation"), 0);
    }
  }
}

}  // namespace
}  // namespace strobe
