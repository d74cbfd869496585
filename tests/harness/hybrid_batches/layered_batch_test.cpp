// The encoding for training, entry by entry: in the rows that are read, each layer's matrix has the whole graph's
// values and columns. Degrees of a batch's own graph are compared with a dense matrix made from the snapshots.
#include "harness/hybrid_batches/encoding/layered_batch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/hybrid_batches/batch_maker.hpp"
#include "harness/hybrid_batches/encoding/batch_features.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/harness/hybrid_batches/random_batches.hpp"

namespace strobe {
namespace {

using test::hybrid_case;
using test::RandomEvents;
using ValuedRow = std::map<VertexId, double>;  // column and value

ValuedRow row_with_values(const PreparedGraph& graph, std::int64_t v, std::int64_t t) {
  ValuedRow row;
  const std::size_t first = t * graph.vertices + v;
  for (std::int64_t e = graph.row_offsets[first]; e < graph.row_offsets[first + 1]; ++e) {
    const std::size_t i = e;
    row[graph.columns[i]] = graph.values64.empty() ? graph.values32[i] : graph.values64[i];
  }
  return row;
}

double value_of(const HostCsr& csr, std::int64_t entry) {
  const std::size_t i = entry;
  return csr.values64.empty() ? csr.values32[i] : csr.values64[i];
}

std::int64_t step_of_row(const StepCells& cells, std::int64_t row) {
  std::int64_t t = 0;
  while (cells.end(t) <= row) ++t;
  return t;
}

/// Vertex and step of a column of a layer's matrix.
std::pair<VertexId, std::int64_t> cell_of(const BatchLayer& layer, std::int64_t column) {
  const std::int64_t own = layer.cells.count();
  const StepCells& cells = column < own ? layer.cells : layer.halo;
  const std::int64_t row = column < own ? column : column - own;
  return {cells.vertex(row), step_of_row(cells, row)};
}

bool is_needed(const StepCells& needed, std::int64_t t, VertexId v) {
  return std::binary_search(needed.vertices.begin() + needed.begin(t), needed.vertices.begin() + needed.end(t), v);
}

/// Checks the rows of `layer`'s matrix, by vertices of the graph. Columns must belong to the step of their row.
void expect_matrix(const PreparedGraph& graph, const LayeredBatch& batch, const BatchLayer& layer,
                   const StepCells& needed) {
  ASSERT_EQ(static_cast<std::int64_t>(layer.a.offsets.size()), layer.cells.count() + 1);
  for (std::int64_t r = 0; r < layer.cells.count(); ++r) {
    const std::int64_t t = step_of_row(layer.cells, r);
    ValuedRow row;
    for (std::int64_t e = layer.a.offsets[r]; e < layer.a.offsets[static_cast<std::size_t>(r) + 1]; ++e) {
      const auto [u, step] = cell_of(layer, layer.a.columns[e]);
      EXPECT_EQ(step, t);
      EXPECT_TRUE(row.emplace(u, value_of(layer.a, e)).second);
    }
    const VertexId v = layer.cells.vertex(r);
    const bool wanted = is_needed(needed, t, v);
    EXPECT_EQ(row, wanted ? row_with_values(graph, v, batch.window.first + t) : ValuedRow()) << v << " at " << t;
  }
}

/// Fails unless supports have the graph's entries. Only entries whose column is no cell of the step may be missing.
void expect_supports(const LayerSource& source, const LayeredBatch& batch, const BatchLayer& layer,
                     const StepCells& needed) {
  ASSERT_EQ(layer.steps.size(), source.supports.size());
  for (std::size_t s = 0; s < layer.steps.size(); ++s) {
    for (std::int64_t t = 0; t < batch.window.count; ++t) {
      const HostCsr& csr = layer.steps[s][t];
      for (std::int64_t i = 0; i < layer.cells.count(t); ++i) {
        ValuedRow row, judge;
        for (std::int64_t e = csr.offsets[i]; e < csr.offsets[static_cast<std::size_t>(i) + 1]; ++e)
          row[layer.cells.vertex(layer.cells.begin(t) + csr.columns[e])] = value_of(csr, e);
        const VertexId v = layer.cells.vertex(layer.cells.begin(t) + i);
        if (is_needed(needed, t, v)) {
          for (const auto& [u, value] : row_with_values(*source.supports[s], v, batch.window.first + t))
            if (is_needed(layer.cells, t, u)) judge[u] = value;
        }
        EXPECT_EQ(row, judge) << v << " at " << t;
      }
    }
  }
}

/// Checks that the layer's input rows, and the rows of targets, belong to the right cells.
void expect_rows(const LayeredBatch& batch, std::size_t l, const std::vector<VertexId>& targets) {
  const BatchLayer& layer = batch.layers[l];
  if (l > 0 && layer.input.empty()) {
    EXPECT_EQ(layer.cells.vertices, batch.layers[l - 1].cells.vertices);
  }
  for (std::size_t c = 0; c < layer.input.size(); ++c) {
    const StepCells& before = batch.layers[l - 1].cells;
    const auto [v, t] = cell_of(layer, static_cast<std::int64_t>(c));
    EXPECT_EQ(before.vertex(layer.input[c]), v);
    EXPECT_EQ(step_of_row(before, layer.input[c]), t);
  }
  ASSERT_EQ(batch.counted[l].size(), targets.size() * static_cast<std::size_t>(batch.window.count));
  for (std::size_t i = 0; i < batch.counted[l].size(); ++i) {
    EXPECT_EQ(layer.cells.vertex(batch.counted[l][i]), targets[i % targets.size()]);
    EXPECT_EQ(step_of_row(layer.cells, batch.counted[l][i]), static_cast<std::int64_t>(i / targets.size()));
  }
}

void expect_features(const LayerSource& source, const LayeredBatch& batch) {
  const BatchFeatures made = gather_features(source, batch);
  const BatchLayer& first = batch.layers.front();
  const PreparedGraph& graph = source.graph;
  const std::size_t width = graph.feature_width;
  const auto value = [&](const auto& rows, std::size_t i) {
    return rows.values64.empty() ? rows.values32.at(i) : rows.values64.at(i);
  };
  const std::int64_t count = graph.features_kept ? first.cells.count() : first.columns();
  for (std::int64_t c = 0; c < count; ++c) {
    const auto [v, t] = cell_of(first, c);
    const auto from = static_cast<std::size_t>((batch.window.first + t) * graph.vertices + v) * width;
    for (std::size_t f = 0; f < width; ++f) {
      const auto i = static_cast<std::size_t>(c) * width + f;
      EXPECT_EQ(value(made.features, i), source.fp64 ? graph.features64[from + f] : graph.features32[from + f]);
      if (!graph.features_kept) continue;
      EXPECT_EQ(value(made.product, i), source.fp64 ? graph.products64[from + f] : graph.products32[from + f]);
    }
  }
}

/// Layers of every kind: windows, recurrences, steps one by one, no temporal stage.
std::vector<LayerShape> drawn_layers(test::Draws& draw, bool product_done) {
  std::vector<LayerShape> layers;
  for (int count = 1 + draw.below(3); count > 0; --count) {
    LayerShape layer{2, 2, 2, draw.below(3) > 0 && !(layers.empty() && product_done)};
    const TemporalNeed needs[] = {TemporalNeed::none, TemporalNeed::window, TemporalNeed::recurrent, TemporalNeed::all};
    layer.need = needs[draw.below(4)];
    layer.window = 2;
    if (draw.below(4) == 0) {
      layer.reads_neighbours = false, layer.step_by_step = true, layer.need = TemporalNeed::recurrent;
      layer.products = {{0, 2, 0}, {1, 2, 0}, {0, 2, 1}, {1, 2, 1}};
    }
    layers.push_back(layer);
  }
  return layers;
}

TEST(LayeredBatch, HasTheWholeGraphsRowsWhereTheyAreRead) {
  int halos = 0, stepped = 0;
  for (unsigned seed = 0; seed < 48; ++seed) {
    test::Draws draw(seed);
    const SnapshotGraph graph = test::random_snapshots(draw, 30, 5, 1);
    const bool fp64 = seed % 5 != 0;
    Preprocessing what;
    what.smooth = seed % 3 == 0 ? "m_product" : "none";
    what.window = 2;
    what.precompute_first_product = seed % 2 == 0;
    what.keep_features = seed % 4 == 0;
    const PreparedGraph inputs = prepare(graph, what, 5, fp64);
    std::vector<std::shared_ptr<const PreparedGraph>> supports;
    for (const char* walk : {"out", "in"})
      supports.push_back(std::make_shared<const PreparedGraph>(
          prepare(graph, {.laplacian = false, .walk = walk, .precompute_first_product = false}, 5, fp64)));
    const std::vector<LayerShape> layers = drawn_layers(draw, inputs.first_product_done);
    const BatchSource source{&inputs, {supports[0].get(), supports[1].get()}, layer_reads(layers), FrontierKind::exact};
    const LayerSource layer_source{inputs, supports, layers, fp64};
    BatchScratch scratch(30);
    BatchEncoder encoder(layer_source);
    for (int i = 0; i < 3; ++i) {
      const BatchCells cells = test::random_cells(draw, inputs);
      const auto needed = needed_cells(batch_frontier(source, cells, scratch), layers.size());
      const LayeredBatch batch = encoder.encode({static_cast<Step>(cells.steps.first), cells.steps.count}, needed,
                                                cells.targets, scratch.places());
      for (std::size_t l = 0; l < layers.size(); ++l) {
        if (layers[l].reads_neighbours) expect_matrix(inputs, batch, batch.layers[l], needed[l]);
        if (layers[l].step_by_step) expect_supports(layer_source, batch, batch.layers[l], needed[l]);
        expect_rows(batch, l, cells.targets);
        halos += batch.layers[l].halo.count() > 0 ? 1 : 0;
        stepped += layers[l].step_by_step ? 1 : 0;
      }
      expect_features(layer_source, batch);
    }
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(halos, 20);
  EXPECT_GT(stepped, 10);
}

TEST(BatchMakers, SamplesReadTheCellsThatTheyName) {
  int others = 0;
  for (const int seed : {1, 2, 3}) {
    const RandomEvents events(seed, 50, 500);
    for (const char* task : {"link-prediction", "vertex-regression"}) {
      Json request = hybrid_case(events.workload(6), "cd-gcn", {{"name", "hybrid_batch"}, {"snapshots", "50%"}}, 2);
      request["strategy"]["vertices"] = "20%";
      request["task"] = task;
      const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
      const Samples& all = plan->full->data.samples->train;
      BatchMaker maker(*plan, true);
      for (std::uint64_t number = 0; number < 4; ++number) {
        const SharedBatch batch = maker.make(static_cast<Rank>(number % 2), 0, number);
        const StepCells& cells = batch->layers.layers.back().cells;
        double total = 0;
        for (std::size_t n = 0; n < batch->samples.index.size(); ++n) {
          const auto i = static_cast<std::size_t>(batch->samples.index[n]), arity = static_cast<std::size_t>(all.arity);
          for (std::size_t k = 0; k < arity; ++k) {
            const std::int64_t row = batch->samples.rows[k][n];
            EXPECT_EQ(cells.vertex(row), all.vertices[i * arity + k]);
            EXPECT_EQ(step_of_row(cells, row), all.step[i] - batch->layers.window.first);
          }
          EXPECT_EQ(batch->samples.label[n], all.label[i]);
          EXPECT_EQ(all.value.empty() ? 0 : batch->samples.value[n], all.value.empty() ? 0 : all.value[i]);
          total += all.weight.empty() ? 1 : all.weight[i];
          others += arity > 1 ? 1 : 0;
        }
        EXPECT_EQ(batch->total_weight, total);
      }
    }
  }
  EXPECT_GT(others, 20);
}

// Degrees of a batch ----------------------------------------------------------------------------------------------

using DenseMatrix = std::vector<std::vector<double>>;

/// The matrix A of one step of the snapshot.
DenseMatrix dense_of(const Snapshot& snapshot) {
  const std::size_t n = snapshot.row_offsets.size() - 1;
  DenseMatrix a(n, std::vector<double>(n, 0.0));
  for (std::size_t v = 0; v < n; ++v)
    for (std::size_t e = snapshot.row_offsets[v]; e < static_cast<std::size_t>(snapshot.row_offsets[v + 1]); ++e)
      a[v][snapshot.columns[e]] += snapshot.values[e];
  return a;
}

/// D^-1/2 (A + I) D^-1/2 for a network of two products: the rows of the targets and of all vertices that they read.
DenseMatrix normalised_in_batch(DenseMatrix a, const std::vector<VertexId>& targets) {
  const std::size_t n = a.size();
  std::vector<bool> has_row(n);
  for (const VertexId v : targets) {
    has_row[v] = true;
    for (std::size_t u = 0; u < n; ++u) has_row[u] = has_row[u] || a[v][u] != 0;
  }
  std::vector<double> degree(n, 1.0);
  for (std::size_t v = 0; v < n; ++v) {
    for (std::size_t u = 0; u < n; ++u) {
      if (!has_row[v]) a[v][u] = 0;
      degree[v] += a[v][u];
    }
    a[v][v] += 1;
  }
  for (std::size_t v = 0; v < n; ++v)
    for (std::size_t u = 0; u < n; ++u) a[v][u] /= std::sqrt(degree[v] * degree[u]);
  return a;
}

TEST(LayeredBatch, HasDegreesOfItsOwnWhereAsked) {
  int judged = 0, other = 0;
  for (const int seed : {1, 2, 3}) {
    const RandomEvents events(seed, 60, 900);
    for (const Json& model : std::vector<Json>{{{"name", "t-gcn"}, {"precompute", false}},
                                               {{"name", "evolve-gcn-o"}, {"precompute", false}, {"edge_life", 1}}}) {
      Json request = hybrid_case(events.workload(8), model,
                                 {{"name", "hybrid_batch"}, {"snapshots", "50%"}, {"normalise", "batch"}}, 2);
      request["strategy"]["vertices"] = "10%";
      request["task"] = "vertex-regression";
      const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
      BatchMaker maker(*plan, true);
      for (std::uint64_t number = 0; number < 3; ++number) {
        const auto rank = static_cast<Rank>(number % 2);
        const DrawnTargets drawn = draw_targets(plan->groups[rank], plan->actions[0].of_rank[rank],
                                                plan->trained_steps(), plan->seed(), rank, number);
        const SharedBatch batch = maker.make(drawn, 0);
        for (const BatchLayer& layer : batch->layers.layers) {
          for (std::int64_t r = 0; r < layer.cells.count(); ++r) {
            const std::int64_t t = step_of_row(layer.cells, r), step = drawn.window.first + t;
            const DenseMatrix judge =
                normalised_in_batch(dense_of(*plan->full->data.raw->snapshots[step]), drawn.vertices);
            const VertexId v = layer.cells.vertex(r);
            const ValuedRow whole = row_with_values(plan->graph(), v, step);
            for (std::int64_t e = layer.a.offsets[r]; e < layer.a.offsets[static_cast<std::size_t>(r) + 1]; ++e) {
              const VertexId u = cell_of(layer, layer.a.columns[e]).first;
              EXPECT_NEAR(value_of(layer.a, e), judge[v][u], 1e-12);
              ++judged;
              other += std::abs(whole.at(u) - value_of(layer.a, e)) > 1e-6 ? 1 : 0;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(judged, 1000);
  EXPECT_GT(other, 100) << "no degree was another one than the whole graph's";
}

TEST(LayeredBatch, OfAllVerticesIsNormalisedAsTheGraphIs) {
  const RandomEvents events(5, 40, 400);
  for (const char* model : {"t-gcn", "cd-gcn", "tm-gcn"}) {
    Json request = hybrid_case(events.workload(6), {{"name", model}, {"precompute", false}}, "pyd", 1);
    request["task"] = "vertex-regression";
    const CaseResult whole = test::run(request);
    request["strategy"] = {{"name", "pyd"}, {"normalise", "batch"}};
    const CaseResult batch = test::run(request);
    ASSERT_EQ(batch.status, "ok") << batch.reason;
    EXPECT_EQ(whole.loss.per_epoch, batch.loss.per_epoch) << model;
    EXPECT_TRUE(whole.exact);
    EXPECT_FALSE(batch.exact);
  }
}

TEST(LayeredBatch, CountsDegreesOnlyOfWhatIsNormalised) {
  const RandomEvents events(6);
  for (const Json& model : std::vector<Json>{"t-gcn", "dcrnn"}) {
    const Json request = hybrid_case(events.workload(6), model, {{"name", "hybrid_batch"}, {"normalise", "batch"}}, 1);
    try {
      plan_hybrid(case_from_json(request, ""), PlanUse::run);
      FAIL() << model << " was accepted";
    } catch (const InvalidRequest& refusal) {
      EXPECT_EQ(refusal.where(), "/strategy/normalise") << model;
    }
  }
}

}  // namespace
}  // namespace strobe
