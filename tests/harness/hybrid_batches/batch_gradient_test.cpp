// A batch gives its targets the loss and the gradient that they have on the whole graph cut to the batch's window. The
// reference is full-batch training of that cut graph with only the batch's samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/registry_names.hpp"
#include "harness/full_batch/full_batch_trainer.hpp"
#include "harness/hybrid_batches/batch_walk.hpp"
#include "harness/hybrid_batches/single_rank_sums.hpp"
#include "harness/schedule/host_values.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/fakes.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/models/every_model.hpp"

namespace strobe {
namespace {

using test::hybrid_case;
using test::RandomEvents;

template <class T>
std::vector<T> part(const Column<T>& all, std::int64_t first, std::int64_t count) {
  if (all.empty()) return {};
  return {all.begin() + first, all.begin() + first + count};
}

/// The cells that exist at the steps of a window. Sequences that began before begin with it.
std::shared_ptr<const Presence> cut(const Presence& presence, const BatchWindow& window) {
  std::vector<std::int32_t> begins;
  for (std::int64_t t = 0; t < window.count; ++t) {
    for (VertexId v = 0; v < presence.vertices(); ++v) {
      const std::int32_t begin = presence.begin(v, static_cast<Step>(window.first + t));
      begins.push_back(begin < 0 ? -1 : std::max(begin - window.first, 0));
    }
  }
  return std::make_shared<const Presence>(presence.vertices(), begins);
}

/// The graph with only the steps of a window.
std::shared_ptr<const PreparedGraph> cut(const PreparedGraph& graph, const BatchWindow& window) {
  auto some = std::make_shared<PreparedGraph>(graph);
  const std::int64_t n = graph.vertices, first = window.first * n, rows = window.count * n;
  const std::int64_t begin = graph.row_offsets[first], end = graph.row_offsets[first + rows];
  some->steps = window.count;
  if (graph.presence != nullptr) some->presence = cut(*graph.presence, window);
  some->row_offsets = part(graph.row_offsets, first, rows + 1);
  for (std::int64_t& offset : some->row_offsets.edit()) offset -= begin;
  some->columns = part(graph.columns, begin, end - begin);
  some->values64 = part(graph.values64, begin, end - begin);
  some->features64 = part(graph.features64, first * graph.feature_width, rows * graph.feature_width);
  some->products64 = part(graph.products64, first * graph.feature_width, rows * graph.feature_width);
  return some;
}

/// Those of `samples` that the batch has, at the window's steps.
Samples chosen(const Samples& samples, const Column<std::int64_t>& index, const BatchWindow& window) {
  Samples some;
  some.arity = samples.arity;
  for (const std::int64_t each : index) {
    const auto i = static_cast<std::size_t>(each), arity = static_cast<std::size_t>(samples.arity);
    for (std::size_t k = 0; k < arity; ++k) some.vertices.push_back(samples.vertices[i * arity + k]);
    some.step.push_back(samples.step[i] - window.first);
    some.label.push_back(samples.label[i]);
    if (!samples.value.empty()) some.value.push_back(samples.value[i]);
    if (!samples.weight.empty()) some.weight.push_back(samples.weight[i]);
  }
  return some;
}

struct LossAndGradient {
  double loss = 0;
  std::vector<double> gradient;
};

/// One update of gradient descent with rate 1 on the cut graph, or on another graph of the same window.
LossAndGradient judged(const HybridPlan& plan, const HybridBatch& batch, Device& device,
                       std::shared_ptr<const PreparedGraph> graph = nullptr) {
  FullBatchCase c = *plan.full;
  const BatchWindow& window = batch.layers.window;
  c.request.ranks = 1;
  c.request.optimizer = {{"name", "sgd"}, {"rate", 1.0}};
  c.data.graph = graph != nullptr ? graph : cut(*plan.full->data.graph, window);
  for (auto& support : c.data.supports) support = cut(*support, window);
  TaskData task = *plan.full->data.samples;
  task.steps = window.count;
  task.train = task.test = chosen(plan.full->data.samples->train, batch.samples.index, window);
  task.validation = {};
  c.data.samples = std::make_shared<const TaskData>(task);
  c.data.trained_steps = window.count;
  const Placement alone = by_time(c.data.graph->vertices, std::vector<Rank>(window.count, 0), 1);
  const auto full = lay_out(c, StrategyPlan{alone, alone, even_blocks(window.count, 1), {}, {}});
  test::OnlyRank communicator(device);
  FullBatchTrainer trainer(*full, device, communicator);
  LossAndGradient result;
  result.gradient = trainer.weights();
  trainer.epoch(0);
  result.loss = *trainer.values(false).loss;
  const std::vector<double> after = trainer.weights();
  for (std::size_t i = 0; i < after.size(); ++i) result.gradient[i] -= after[i];
  return result;
}

LossAndGradient of_batch(const HybridPlan& plan, const HybridBatch& batch, Device& device) {
  const Parameters parameters(device, plan.full->model.parameters, plan.seed());
  const Tensor loss = device.allocate(1, 1, ElementType::f64);
  device.run(Fill{loss, 0.0});
  device.run(Fill{parameters.gradients(), 0.0});
  const SingleRankSums sums;
  train_batch(device, plan, batch, parameters, {plan.seed(), 0, true, &sums}, 1 / batch.total_weight, loss);
  LossAndGradient result;
  device.move_out(loss, &result.loss);
  result.gradient = host_values(device, parameters.gradients());
  return result;
}

/// Gives the largest entry of the gradient.
double expect_alike(const LossAndGradient& batch, const LossAndGradient& judge, const std::string& what) {
  EXPECT_NEAR(batch.loss, judge.loss, 1e-10 * std::abs(judge.loss)) << what;
  EXPECT_EQ(batch.gradient.size(), judge.gradient.size()) << what;
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < judge.gradient.size(); ++i) {
    largest = std::max(largest, std::abs(judge.gradient[i]));
    off = std::max(off, std::abs(batch.gradient[i] - judge.gradient[i]));
  }
  // The reference gradient is a difference of weights, so it has their rounding.
  EXPECT_LE(off, 1e-10 * std::max(largest, 1.0)) << what;
  return largest;
}

/// Random batches of `model` on two random graphs, with both tasks, and with few and many vertices.
void judge_batches(const Json& model, const std::string& presence = "all") {
  DeviceRequest on;
  on.precision = ElementType::f64;
  int judged_batches = 0, without_gradient = 0;  // a few samples whose vertices all have dead units
  for (const int seed : {1, 2}) {
    const RandomEvents events(seed, 40, 400);
    for (const char* task : {"link-prediction", "vertex-regression"}) {
      for (const char* share : {"10%", "60%"}) {
        Json request = hybrid_case(events.workload(8), model, {{"name", "hybrid_batch"}, {"snapshots", "60%"}}, 2);
        request["task"] = task, request["presence"] = presence;
        request["strategy"]["vertices"] = share;
        const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
        BatchMaker maker(*plan, true);
        for (const std::uint64_t number : {0, 1, 2}) {
          const auto device = DeviceRegistry::instance().find("cpu").value(on);
          const SharedBatch batch = maker.make(static_cast<Rank>(number % 2), 0, number);
          if (batch->total_weight == 0) continue;
          ++judged_batches;
          without_gradient += expect_alike(of_batch(*plan, *batch, *device), judged(*plan, *batch, *device),
                                           fmt::format("{} {} {} graph {} batch {} of {}", model.dump(), presence, task,
                                                       seed, number, share)) > 0
                                  ? 0
                                  : 1;
        }
      }
    }
  }
  EXPECT_LE(8 * without_gradient, judged_batches) << model << presence;
}

class BatchGradient : public testing::TestWithParam<std::string> {};

/// The model, judged with `presence`.
void judge_model(const std::string& name, const std::string& presence) {
  Json model = {{"name", name}};
  // Some steps of these two models read all vertices of the graph. In a batch they read only its own vertices, which is
  // a declared approximation.
  if (name == "evolve-gcn-h") return;
  if (name == "mpnn-lstm") model["batch_norm"] = false;
  judge_batches(model, presence);
}

TEST_P(BatchGradient, IsThatOfItsTargetsOnTheGraphCutToItsWindow) { judge_model(GetParam(), "all"); }

TEST_P(BatchGradient, IsThatOfTheCellsThatExist) {
  for (const char* presence : {"seen", "lifetime", "active"}) judge_model(GetParam(), presence);
}

INSTANTIATE_TEST_SUITE_P(All, BatchGradient,
                         testing::ValuesIn(names_with<ModelTag>(&ModelTag::Value::family, "snapshots")),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

// Batches have all steps and uniformly drawn vertices. On average, the sum over a batch's samples has the gradient of
// all samples times the batch's share of vertices. The test compares it along three directions.
TEST(BatchGradients, AreThoseOfAllSamplesOnAverage) {
  const RandomEvents events(12, 40, 500);
  Json request = hybrid_case(events.workload(5), "t-gcn", {{"name", "hybrid_batch"}, {"snapshots", "100%"}}, 1);
  request["strategy"]["vertices"] = "25%";
  request["task"] = "vertex-regression";
  const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
  DeviceRequest on;
  on.precision = ElementType::f64;
  const auto device = DeviceRegistry::instance().find("cpu").value(on);
  BatchMaker maker(*plan, true);
  const auto along = [&](const HybridBatch& batch) {
    const std::vector<double> gradient = of_batch(*plan, batch, *device).gradient;
    std::array<double, 3> sums{};
    for (std::size_t d = 0; d < sums.size(); ++d) {
      for (std::size_t i = 0; i < gradient.size(); ++i)
        sums[d] += std::sin(static_cast<double>((d + 1) * (i + 1))) * gradient[i] * batch.total_weight;
    }
    return sums;
  };
  const BatchSize all{plan->graph().vertices, plan->trained_steps(), {}};
  const auto whole = along(*maker.make(draw_targets(plan->groups[0], all, plan->trained_steps(), 1, 0, 0), 0));
  constexpr int draws = 2000;
  std::array<double, 3> sum{}, squares{};
  for (int i = 0; i < draws; ++i) {
    const auto one = along(*maker.make(0, 0, static_cast<std::uint64_t>(i)));
    for (std::size_t d = 0; d < one.size(); ++d) sum[d] += one[d], squares[d] += one[d] * one[d];
  }
  const double share = static_cast<double>(plan->actions[0].of_rank[0].vertices) / static_cast<double>(all.vertices);
  for (std::size_t d = 0; d < sum.size(); ++d) {
    const double mean = sum[d] / draws, error = std::sqrt((squares[d] / draws - mean * mean) / draws);
    EXPECT_NEAR(mean, share * whole[d], 3 * error) << "direction " << d;
    EXPECT_GT(std::abs(whole[d]), 0);
  }
}

TEST(BatchGradientVariants, LayersThatReachFar) {
  for (const Json& model : std::vector<Json>{{{"name", "dcrnn"}, {"layers", 2}},
                                             {{"name", "dcrnn"}, {"terms", "carried"}, {"layers", 2}},
                                             {{"name", "mpnn-lstm"}, {"precompute", false}, {"batch_norm", false}}}) {
    judge_batches(model);
    judge_batches(model, "active");
  }
}

TEST(BatchGradientVariants, OptionsWithSequencesThatBeginAndEnd) {
  for (const Json& model :
       std::vector<Json>{{{"name", "mpnn-lstm"}, {"state", "reset"}, {"window", 3}, {"batch_norm", false}},
                         {{"name", "tm-gcn"}, {"m", "inverse_distance"}, {"precompute", false}},
                         {{"name", "t-gcn"}, {"conv", "xh"}},
                         {{"name", "cd-gcn"}, {"precompute", false}}}) {
    judge_batches(model, "seen");
    judge_batches(model, "active");
  }
}

TEST(BatchGradientVariants, OptionsThatChangeAModelsMathematics) {
  int judged = 0;
  for (const auto& [name, options] : model_options()) {
    // Such models read only a batch's own vertices instead of all. A cell's dropout mask differs on the cut graph.
    if (name == "evolve-gcn-h" || options.dump().find("dropout") != std::string::npos) continue;
    Json model = options;
    model["name"] = name;
    if (name == "mpnn-lstm") model["batch_norm"] = false;
    judge_batches(model);
    ++judged;
  }
  EXPECT_GT(judged, 20);
}

/// The largest difference of a gradient from that of the whole graph cut to the window, over the largest gradient.
double worst_of_layers(const Json& model) {
  DeviceRequest on;
  on.precision = ElementType::f64;
  double most = 0;
  for (const int seed : {1, 2}) {
    const RandomEvents events(seed, 60, 200);
    Json request = hybrid_case(events.workload(12), model, {{"name", "hybrid_batch"}, {"frontier", "layers"}}, 1);
    request["strategy"].update({{"vertices", "5%"}, {"snapshots", "80%"}});
    request["task"] = "vertex-regression";
    const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
    BatchMaker maker(*plan, true);
    for (const std::uint64_t number : {0, 1, 2}) {
      const auto device = DeviceRegistry::instance().find("cpu").value(on);
      const SharedBatch batch = maker.make(0, 0, number);
      const LossAndGradient made = of_batch(*plan, *batch, *device), judge = judged(*plan, *batch, *device);
      double largest = 0, off = 0;
      for (std::size_t i = 0; i < judge.gradient.size(); ++i) {
        largest = std::max(largest, std::abs(judge.gradient[i]));
        off = std::max(off, std::abs(judge.gradient[i] - made.gradient[i]));
      }
      most = std::max(most, off / std::max(largest, 1e-3));
    }
  }
  return most;
}

TEST(BatchGradientVariants, HopsOfOneStepAreExactWhereNothingStandsBetweenProducts) {
  EXPECT_LT(worst_of_layers({{"name", "evolve-gcn-o"}, {"precompute", false}}), 1e-9);  // vertices do not evolve
  EXPECT_LT(worst_of_layers({{"name", "t-gcn"}, {"precompute", false}}), 1e-9);   // the recurrence reads only targets
  EXPECT_GT(worst_of_layers({{"name", "cd-gcn"}, {"precompute", false}}), 1e-6);  // a recurrence between two products
  EXPECT_GT(worst_of_layers("dcrnn"), 1e-6);                                      // products read the state
}

/// The cut graph with the degrees of the batch's own graph, for a network of two products. Rows of targets and of their
/// neighbours change. Rows that no product reads keep the whole graph's values.
std::shared_ptr<const PreparedGraph> with_batch_degrees(const HybridPlan& plan, const BatchWindow& window,
                                                        const std::vector<VertexId>& targets) {
  auto graph = std::make_shared<PreparedGraph>(*cut(plan.graph(), window));
  const std::size_t n = graph->vertices;
  for (std::int64_t t = 0; t < window.count; ++t) {
    const Snapshot& raw = *plan.full->data.raw->snapshots[window.first + t];
    std::vector<bool> has_row(n);
    for (const VertexId v : targets) {
      has_row[v] = true;
      for (auto e = raw.row_offsets[v]; e < raw.row_offsets[static_cast<std::size_t>(v) + 1]; ++e)
        has_row[raw.columns[e]] = true;
    }
    std::vector<double> degree(n, 1.0);
    for (std::size_t v = 0; v < n; ++v)
      for (auto e = raw.row_offsets[v]; has_row[v] && e < raw.row_offsets[v + 1]; ++e) degree[v] += raw.values[e];
    for (std::size_t v = 0; v < n; ++v) {
      const auto row = static_cast<std::size_t>(t) * n + v;
      for (std::int64_t e = graph->row_offsets[row]; has_row[v] && e < graph->row_offsets[row + 1]; ++e) {
        const VertexId u = graph->columns[e];
        double value = static_cast<std::size_t>(u) == v ? 1 : 0;
        for (auto r = raw.row_offsets[v]; r < raw.row_offsets[v + 1]; ++r)
          if (raw.columns[r] == u) value += raw.values[r];
        graph->values64.edit()[e] = value / std::sqrt(degree[v] * degree[u]);
      }
    }
  }
  return graph;
}

TEST(BatchGradientVariants, OfDegreesInsideTheBatch) {
  DeviceRequest on;
  on.precision = ElementType::f64;
  int other = 0;
  for (const Json& model : std::vector<Json>{{{"name", "t-gcn"}, {"precompute", false}},
                                             {{"name", "evolve-gcn-o"}, {"precompute", false}, {"edge_life", 1}}}) {
    for (const int seed : {1, 2, 3}) {
      const RandomEvents events(seed, 60, 600);
      Json request = hybrid_case(events.workload(6), model, {{"name", "hybrid_batch"}, {"normalise", "batch"}}, 2);
      request["strategy"].update({{"vertices", "10%"}, {"snapshots", "60%"}});
      request["task"] = "vertex-regression";
      const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
      BatchMaker maker(*plan, true);
      for (const std::uint64_t number : {0, 1}) {
        const auto rank = static_cast<Rank>(number);
        const DrawnTargets drawn = draw_targets(plan->groups[number], plan->actions[0].of_rank[number],
                                                plan->trained_steps(), 1, rank, number);
        const auto device = DeviceRegistry::instance().find("cpu").value(on);
        const SharedBatch batch = maker.make(drawn, 0);
        if (batch->total_weight == 0) continue;
        const LossAndGradient made = of_batch(*plan, *batch, *device);
        const auto graph = with_batch_degrees(*plan, batch->layers.window, drawn.vertices);
        EXPECT_GT(
            expect_alike(made, judged(*plan, *batch, *device, graph), fmt::format("{} graph {}", model.dump(), seed)),
            0);
        const LossAndGradient whole = judged(*plan, *batch, *device);
        other += std::abs(made.loss - whole.loss) > 1e-9 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(other, 4) << "degrees are the whole graph's";
}

}  // namespace
}  // namespace strobe
