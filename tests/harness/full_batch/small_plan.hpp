// A plan of full-batch training made by hand, on one rank, without JSON, data set and strategy. Plain loops compute the
// outputs of its model.
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/random.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "models/ops/ops.hpp"
#include "models/snapshots/windowed.hpp"

namespace strobe::test {

/// y_t = A_t X_t W, then the mean over the last two steps.
class MeansModel final : public Model {
 public:
  Preparation preparation() const override { return {}; }
  std::vector<LayerShape> layers(std::int64_t width) const override {
    LayerShape layer;
    layer.input_width = layer.spatial_width = layer.temporal_width = width;
    layer.need = TemporalNeed::window;
    layer.window = 2;
    return {layer};
  }
  std::vector<ParameterShape> parameters(std::int64_t width) const override { return {glorot("w", width, width)}; }
  Var spatial(Tape& tape, const Parameters& parameters, int, const SpatialInput& input) const override {
    return dense(tape, spmm(tape, *input.a, input.x), parameters.at("w"), nullptr, Activation::none);
  }
  TemporalOutput temporal(Tape& tape, const Parameters&, int, const TemporalInput& input) const override {
    return windowed_m_transform(tape, input, 2);
  }
};

/// Two classes with the embedding as logits; the metric is the sum of all logits.
class LogitsTask final : public Task {
 public:
  TaskData draw(const SnapshotGraph&, std::uint64_t) const override { throw Error("its samples are given"); }
  std::vector<ParameterShape> parameters(std::int64_t) const override { return {}; }
  Var head(Tape& tape, const Parameters&, const Var& embeddings, const std::vector<Tensor>& lists,
           std::int64_t count) const override {
    return gather_rows(tape, embeddings, lists, count);
  }
  std::int64_t classes() const override { return 2; }
  std::map<std::string, double> metrics(const std::vector<double>& outputs, const Samples&) const override {
    double sum = 0;
    for (const double value : outputs) sum += value;
    return {{"sum", sum}};
  }
  std::vector<std::string> metric_names() const override { return {"sum"}; }
  std::map<std::string, std::int64_t> metric_samples(const Samples& test) const override {
    return {{"sum", test.count()}};
  }
};

constexpr std::int64_t small_vertices = 4, small_steps = 5, small_width = 2;

/// Random entries and features, in fp64.
inline PreparedGraph small_graph(std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test);
  PreparedGraph graph;
  graph.vertices = small_vertices;
  graph.steps = small_steps;
  graph.feature_width = small_width;
  graph.row_offsets = {0};
  for (std::int64_t row = 0; row < small_steps * small_vertices; ++row) {
    for (VertexId column = 0; column < small_vertices; ++column) {
      const std::uint64_t place = row * small_vertices + column;
      if (random.uniform(place) < 0.5) continue;
      graph.columns.push_back(column);
      graph.values64.push_back(random.uniform(1000 + place) - 0.3);
    }
    graph.row_offsets.push_back(static_cast<std::int64_t>(graph.columns.size()));
  }
  for (std::int64_t i = 0; i < small_steps * small_vertices * small_width; ++i)
    graph.features64.push_back(random.uniform(2000 + static_cast<std::uint64_t>(i)) - 0.5);
  return graph;
}

/// Training samples at the steps before the last, test samples at the last two.
inline TaskData small_samples() {
  TaskData data;
  data.steps = small_steps;
  for (Step t = 0; t < small_steps; ++t) {
    for (VertexId v = 0; v < small_vertices; ++v) {
      Samples& part = t + 1 < small_steps ? data.train : data.test;
      if ((t + v) % 3 == 0) continue;
      part.vertices.push_back(v);
      part.step.push_back(t);
      part.label.push_back((t + 2 * v) % 2);
    }
  }
  return data;
}

/// Everything on one rank, in `blocks` blocks.
inline std::shared_ptr<const FullBatchPlan> small_plan(std::uint64_t seed, std::int64_t blocks) {
  Case request;
  request.precision = "fp64";
  request.seed = static_cast<std::int64_t>(seed);
  request.optimizer = {{"name", "sgd"}, {"rate", 0.5}};
  request.model = {{"name", "means"}};
  FullBatchOptions options;
  options.blocks = blocks;
  options.transfer = "direct";
  DataPlan data;
  data.graph = std::make_shared<const PreparedGraph>(small_graph(seed));
  data.samples = std::make_shared<const TaskData>(small_samples());
  data.trained_steps = small_steps - 1;
  ModelPlan model = plan_model(
      request, {std::make_shared<const MeansModel>(), std::make_shared<const LogitsTask>(), true}, small_width);
  const Placement all = by_vertex(std::vector<Rank>(small_vertices, 0), small_steps, 1);
  return lay_out(FullBatchCase{request, PlanUse::run, options, std::move(data), std::move(model)},
                 StrategyPlan{all, all, even_blocks(small_steps, blocks), {}, {}});
}

/// The embeddings [T, N, F] of weights w [F, F], by plain loops.
inline std::vector<double> plain_embeddings(const PreparedGraph& graph, const std::vector<double>& w) {
  const std::size_t size = small_vertices * small_width;
  std::vector<double> spatial(size * small_steps), mean(spatial.size());
  for (std::size_t row = 0; row < small_steps * small_vertices; ++row) {
    std::array<double, small_width> sum{};
    for (auto k = graph.row_offsets[row]; k < graph.row_offsets[row + 1]; ++k) {
      const std::size_t at = k;
      const std::size_t cell = row / small_vertices * small_vertices + static_cast<std::size_t>(graph.columns[at]);
      for (std::size_t f = 0; f < small_width; ++f)
        sum[f] += graph.values64[at] * graph.features64[cell * small_width + f];
    }
    for (std::size_t f = 0; f < small_width; ++f)
      spatial[row * small_width + f] = sum[0] * w[f] + sum[1] * w[small_width + f];
  }
  for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = i < size ? spatial[i] : (spatial[i] + spatial[i - size]) / 2;
  return mean;
}

/// The mean cross entropy of the training samples, by plain loops.
inline double plain_loss(const FullBatchPlan& plan, const std::vector<double>& w) {
  const std::vector<double> embeddings = plain_embeddings(*plan.data.graph, w);
  const Samples& train = plan.data.samples->train;
  double loss = 0;
  for (std::size_t i = 0; i < train.step.size(); ++i) {
    const std::size_t at = (train.step[i] * small_vertices + train.vertices[i]) * small_width;
    const double a = embeddings[at], b = embeddings[at + 1];
    loss += std::log(std::exp(a) + std::exp(b)) - (train.label[i] == 0 ? a : b);
  }
  return loss / static_cast<double>(train.count());
}

}  // namespace strobe::test
