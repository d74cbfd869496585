// Static node memory: its training events, what it learns, and how a model reads it.
#include "harness/event_batches/batches/static_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/event_batches/trainer/batch_pass.hpp"
#include "harness/schedule/host_values.hpp"
#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;

std::vector<float> static_rows(const std::string& visits, const Json& changes = Json::object()) {
  Json model = {{"static", "pretrained"}, {"static_epochs", 3}};
  if (changes.contains("model")) model.update(changes.at("model"));
  Json all = changes;
  all["model"] = model;
  const EventCase c = begin_event_case(event_case(visits, all));
  c.prepare_static_memory();
  const float* const first = c.data.static_memory->row(0);
  return {first, first + c.data.graph->vertices * c.data.static_memory->width()};
}

TEST(StaticMemory, IsTrainedOnTrainingEventsAlone) {
  // The events from 280 on, of 400, serve validation and test. They get other items of the same pool.
  for (const std::uint64_t seed : {3, 4, 5}) {
    const test::TemporaryFolder folder;
    const std::string visits = event_test::random_visits(folder, seed, 400);
    const std::string other = event_test::with_other_items_after(folder, visits, 281, 7);
    EXPECT_EQ(static_rows(visits), static_rows(other)) << seed;
    EXPECT_NE(static_rows(visits), static_rows(visits, {{"seed", 2}})) << seed;
  }
}

TEST(StaticMemory, IsTheSameAtAnyNumberOfThreads) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 6, 2000);
  for (const char* output : {"plain", "merge"}) {
    const Json model = {{"output", output}};
    EXPECT_EQ(static_rows(visits, {{"model", model}}),
              static_rows(visits, {{"model", model}, {"threads", 3}, {"host_threads", 2}}));
  }
}

TEST(StaticMemory, KnowsNothingOfAVertexWithoutTrainingEvents) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::jodie_file(
      folder, "late.csv", 200, [](int e) { return fmt::format("{},{},{},0", e < 195 ? e % 9 : 9, (e * 7) % 12, e); });
  const std::vector<float> rows = static_rows(visits, {{"strategy", {{"batch", 16}}}});
  const auto is_zero = [&](std::size_t vertex) {
    return std::all_of(rows.begin() + static_cast<std::ptrdiff_t>(vertex * 6),
                       rows.begin() + static_cast<std::ptrdiff_t>(vertex * 6 + 6), [](float x) { return x == 0; });
  };
  std::size_t zeros = 0;
  for (std::size_t vertex = 0; vertex < 22; ++vertex) zeros += is_zero(vertex) ? 1 : 0;
  EXPECT_EQ(zeros, 1u) << "user 9 alone comes after training";
}

/// Cosine of the vectors of two vertices.
double cosine(const StaticMemory& memory, VertexId a, VertexId b) {
  double dot = 0, aa = 0, bb = 0;
  for (std::int64_t i = 0; i < memory.width(); ++i) {
    const double x = memory.row(a)[i], y = memory.row(b)[i];
    dot += x * y, aa += x * x, bb += y * y;
  }
  return dot / std::sqrt(aa * bb);
}

/// Mean cosines of pairs of targets: those whose sources' numbers have the same remainder by 4, and all others.
std::pair<double, double> mean_cosines(const EventGraph& graph, const StaticMemory& memory) {
  std::map<VertexId, VertexId> group;
  for (std::size_t e = 0; e < graph.source.size(); ++e) group[graph.target[e]] = graph.source[e] % 4;
  double within = 0, across = 0, pairs_within = 0, pairs_across = 0;
  for (const auto& [a, group_a] : group) {
    for (const auto& [b, group_b] : group) {
      if (a <= b) continue;
      (group_a == group_b ? within : across) += cosine(memory, a, b);
      (group_a == group_b ? pairs_within : pairs_across) += 1;
    }
  }
  return {within / pairs_within, across / pairs_across};
}

TEST(StaticMemory, TellsGroupsThatVisitEachOther) {
  for (const int seed : {1, 2, 3}) {
    const test::TemporaryFolder folder;
    const RandomStream random(static_cast<std::uint64_t>(seed), 5);
    // Users of group g visit items of group g: 4 groups of 10 users and 8 items. The first events name all users in
    // turn, so that a user's number in the graph is its number here.
    const std::string visits = event_test::jodie_file(folder, "groups.csv", 4000, [&](int e) {
      const int user = e < 40 ? e : static_cast<int>(random.below(static_cast<std::uint64_t>(2 * e), 40));
      const auto item = static_cast<int>(random.below(static_cast<std::uint64_t>(2 * e + 1), 8));
      return fmt::format("{},{},{},0", user, 8 * (user % 4) + item, e);
    });
    const Json model = {
        {"static", "pretrained"}, {"static_epochs", 60}, {"static_rate", 0.01}, {"memory", 8}, {"output", "merge"}};
    const EventCase c = begin_event_case(event_case(visits, {{"seed", seed}, {"model", model}}));
    c.prepare_static_memory();
    const auto [within, across] = mean_cosines(*c.data.graph, *c.data.static_memory);
    EXPECT_GT(within, 0.3 + across) << seed;
  }
}

/// Outputs of the first batches of a case with given weights, and the gradient of all weights for the last batch.
struct Pass3 {
  std::vector<double> outputs, gradients;
  double loss = 0;
};

Pass3 first_batches(const EventCase& c, const std::vector<double>& weights) {
  DeviceRequest request;
  request.precision = ElementType::f64;
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cpu", "").value(request);
  c.prepare_static_memory();
  Parameters parameters(*device, c.parameters, 1, weights);
  EventWalk walk(c, c.training, *device);
  Pass3 result;
  for (std::int64_t batch = 0; batch < 3; ++batch) {
    device->run(Fill{parameters.gradients(), 0.0});
    const Tensor loss = device->allocate(1, 1, ElementType::f64);
    device->run(Fill{loss, 0.0});
    Tape tape(*device);
    const PassOutput output =
        walk.pass(tape, parameters, walk.start_draw({32 * batch, 32, 32 * batch, true, 0, 0, true}), Pass{});
    for (const double value : host_values(*device, output.outputs->value)) result.outputs.push_back(value);
    c.task->add_loss(tape, output.outputs, LinkLoss::cross_entropy,
                     c.task->labels(*device, *c.training.graph, 32 * batch, 32), 1.0 / 32, loss);
    tape.backward();
    walk.write(output);
    result.loss = host_values(*device, loss).front();
  }
  result.gradients = host_values(*device, parameters.gradients());
  return result;
}

std::vector<double> drawn_weights(const EventCase& c, const std::vector<ParameterShape>& shapes) {
  DeviceRequest request;
  request.precision = ElementType::f64;
  const std::unique_ptr<Device> device = DeviceRegistry::instance().find("cpu", "").value(request);
  const Parameters parameters(*device, shapes, static_cast<std::uint64_t>(c.request.seed));
  return host_values(*device, parameters.values());
}

class StaticTable : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  EventCase with(const char* kind) {
    return begin_event_case(event_case(visits_, {{"model", {{"static", kind}, {"static_epochs", 2}}}}));
  }

  test::TemporaryFolder folder_;
  std::string visits_ = event_test::random_visits(folder_, GetParam(), 400);
};

/// The weights of `table` that are equivalent to `pretrained`: the same weights, with the frozen vectors as the table.
TEST_P(StaticTable, OfFrozenVectorsGivesWhatTheyGive) {
  const EventCase frozen = with("pretrained"), table = with("table");
  frozen.prepare_static_memory();
  const std::vector<double> weights = drawn_weights(frozen, frozen.parameters);
  std::vector<double> both;
  auto next = weights.begin();
  for (const ParameterShape& shape : table.parameters) {
    if (shape.name == "static.table") {
      const float* const rows = frozen.data.static_memory->row(0);
      both.insert(both.end(), rows, rows + shape.rows * shape.columns);
      continue;
    }
    both.insert(both.end(), next, next + shape.rows * shape.columns);
    next += shape.rows * shape.columns;
  }
  ASSERT_EQ(next, weights.end());
  const Pass3 a = first_batches(frozen, weights), b = first_batches(table, both);
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (std::size_t i = 0; i < a.outputs.size(); ++i) EXPECT_NEAR(a.outputs[i], b.outputs[i], 1e-13);
}

TEST_P(StaticTable, HasTheGradientOfItsRows) {
  const EventCase c = with("table");
  std::vector<double> weights = drawn_weights(c, c.parameters);
  std::size_t first = 0;
  for (const ParameterShape& shape : c.parameters) {
    if (shape.name == "static.table") break;
    first += static_cast<std::size_t>(shape.rows * shape.columns);
  }
  const Pass3 at = first_batches(c, weights);
  const RandomStream random(GetParam(), 6);
  int moved = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::size_t element = first + random.below(i, static_cast<std::uint64_t>(c.data.graph->vertices * 6));
    const double old = weights[element], step = 1e-6;
    weights[element] = old + step;
    const double above = first_batches(c, weights).loss;
    weights[element] = old - step;
    const double below = first_batches(c, weights).loss;
    weights[element] = old;
    EXPECT_NEAR((above - below) / (2 * step), at.gradients[element], 1e-8) << element;
    moved += at.gradients[element] != 0 ? 1 : 0;
  }
  EXPECT_GT(moved, 10) << "the table reaches the loss";
}

INSTANTIATE_TEST_SUITE_P(Seeds, StaticTable, ::testing::Values(1u, 2u, 3u));

TEST(StaticMemory, IsFrozenAndSaidInTheRow) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 9, 400);
  const CaseResult result = run_case(event_case(visits, {{"model", {{"static", "pretrained"}, {"static_epochs", 2}}}}));
  ASSERT_EQ(result.status, "ok") << result.reason;
  const auto said = std::find_if(result.notes.begin(), result.notes.end(), [](const std::string& note) {
    return note.find("trained beforehand on the 280 training events alone: 2 epochs") != std::string::npos;
  });
  EXPECT_NE(said, result.notes.end());
  const EventCase c = begin_event_case(event_case(visits, {{"model", {{"static", "pretrained"}}}}));
  for (const ParameterShape& shape : c.parameters) EXPECT_NE(shape.name, "static.table");
  // A simulated run computes no values, so no static memory is trained for it. Its shapes are the same.
  const CaseResult simulated = run_case(event_case(
      visits,
      {{"model", {{"static", "pretrained"}}}, {"device", "sim"}, {"numerics", "none"}, {"cluster", "g4dn-t4"}}));
  EXPECT_EQ(simulated.status, "ok") << simulated.reason;
}

}  // namespace
}  // namespace strobe
