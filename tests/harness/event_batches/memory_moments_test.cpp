// Ranks that hold a part of the memory: times from the events of a vertex alone, draws without tables of all
// vertices, and features of vertices from their nodes. The judges are clocks and tables of all vertices.
#include "harness/event_batches/batches/memory_moments.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "core/random.hpp"
#include "harness/event_batches/batches/event_part.hpp"
#include "harness/event_batches/batches/vertex_numbers.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"
#include "harness/event_batches/trainer/evaluation_order.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "tests/workloads/reading/bounded_support.hpp"
#include "workloads/binary/binary_graph.hpp"

namespace strobe {
namespace {

using event_test::event_case;
using event_test::random_visits;
using event_test::train;
using event_test::TrainedRun;

/// Events with ties, self-loops and repeats among `active` of the vertices, with features of vertices.
EventGraph events_of_some(std::uint64_t seed, std::int64_t vertices, std::int64_t active, std::int64_t count,
                          std::int64_t width) {
  const RandomStream random(seed, 79);
  EventGraph graph;
  graph.vertices = vertices;
  graph.vertex_feature_width = width;
  for (std::int64_t e = 0; e < count; ++e) {
    const auto draw = [&](int which) {
      return static_cast<VertexId>(
          random.below(static_cast<std::uint64_t>(2 * e + which), static_cast<std::uint64_t>(active)));
    };
    graph.source.push_back(draw(0));
    graph.target.push_back(draw(1));
    graph.time.push_back(5.0 + static_cast<double>(e / 3));
  }
  graph.original_id = std::vector<std::int64_t>(static_cast<std::size_t>(vertices), 7);
  for (std::int64_t i = 0; i < vertices * width; ++i)
    graph.vertex_features.push_back(static_cast<float>(random.below(static_cast<std::uint64_t>(i), 64)) / 8.0F - 3.0F);
  return graph;
}

EventData data_of(EventGraph graph) {
  EventData data;
  data.widths = {0, graph.vertex_feature_width, graph.vertices};
  data.graph = data.whole = std::make_shared<const EventGraph>(std::move(graph));
  data.neighbours = std::make_shared<const TimeCsr>(make_time_csr(*data.graph));
  return data;
}

void expect_state(const VertexTimes& times, const MemoryClock& clock, std::size_t v) {
  ASSERT_EQ(times.updated, clock.updated[v]) << v;
  ASSERT_EQ(times.mail_time, clock.mail_time[v]) << v;
  ASSERT_EQ(times.mail_event, clock.mail_event[v]) << v;
}

TEST(MemoryMoments, TrainingHasTheTimesOfAClockThatPassesEveryBatch) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventData data = data_of(events_of_some(seed, 23, 19, 310, 0));
    for (const auto& [ranks, batch, trained] : {std::tuple{1, 7, 310}, {2, 20, 250}, {3, 1, 90}, {1, 310, 310}}) {
      const BatchOrder order({ranks, 1, 1}, trained, batch, 1);
      const TrainingMoments moments(order);
      std::vector<std::unique_ptr<EventPart>> parts;
      for (std::int64_t node = 0; node < 3; ++node) parts.push_back(std::make_unique<EventPart>(data, node, 3, true));
      MemoryClock clock(23);
      for (std::int64_t n = 0; n < 2 * order.batches() + 1; ++n) {
        const std::int64_t at = order.batch_at(0, n);
        if (at == 0) clock.reset();
        for (VertexId v = 0; v < 23; ++v) {
          expect_state(data.times(v, moments.taken(n), moments), clock, static_cast<std::size_t>(v));
          expect_state(parts[static_cast<std::size_t>(v % 3)]->times(v, moments.taken(n), moments), clock,
                       static_cast<std::size_t>(v));
        }
        clock.pass(*data.graph, data.whole->time[0], at * order.whole_batch(), order.batch_count(at));
      }
    }
  }
}

TEST(MemoryMoments, AnEvaluationHasTheTimesOfItsClock) {
  const test::TemporaryFolder folder;
  for (const std::uint64_t seed : {4, 5}) {
    for (const Json& task : {Json{{"batch", 20}}, Json{{"batch", 7}, {"candidates", "all"}}, Json{{"kept_out", 0.2}}}) {
      const EventCase c = begin_event_case(event_case(random_visits(folder, seed, 260), {{"task", task}}));
      std::vector<EvaluationOrder> orders{whole_evaluation(c)};
      for (const EvaluatedEvents& some : some_judged_events(c, 2, 3)) orders.emplace_back(c, std::vector{some});
      for (const EvaluationOrder& order : orders) {
        const EvaluationMoments moments(order);
        EvaluationState state(order);
        for (std::int64_t n = 0; n < order.steps(); ++n) {
          state.move_to(n, c.data);
          for (VertexId v = 0; v < c.data.graph->vertices; ++v)
            expect_state(c.data.times(v, moments.taken(n), moments), state.clock, static_cast<std::size_t>(v));
        }
      }
    }
  }
}

TEST(VertexNumbers, AreInTheOrderInWhichVerticesCome) {
  VertexNumbers numbers;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const RandomStream random(seed, 80);
    numbers.clear();
    std::map<VertexId, std::uint32_t> judge;
    for (std::uint64_t i = 0; i < 500 * seed; ++i) {
      // Also vertices that are far apart, and those that end with the same bits.
      const auto v = static_cast<VertexId>(random.below(i, 400) << (seed == 2 ? 20 : 0));
      const auto number = static_cast<std::uint32_t>(judge.size());
      EXPECT_EQ(numbers.of(v), judge.try_emplace(v, number).first->second) << i;
    }
    EXPECT_EQ(numbers.vertices().size(), judge.size());
    for (const auto& [v, number] : judge) EXPECT_EQ(numbers.vertices().at(number), v);
  }
}

void expect_same_draw(const BatchDraw& a, const BatchDraw& b) {
  EXPECT_EQ(a.counts, b.counts);
  EXPECT_EQ(a.vertices, b.vertices);
  EXPECT_EQ(a.mails, b.mails);
  EXPECT_EQ(a.mail_dt, b.mail_dt);
  EXPECT_EQ(a.mail_events, b.mail_events);
  EXPECT_EQ(a.root_rows, b.root_rows);
  EXPECT_EQ(a.root_dt, b.root_dt);
  EXPECT_EQ(a.written, b.written);
  EXPECT_EQ(a.own_rows, b.own_rows);
  EXPECT_EQ(a.other_rows, b.other_rows);
  ASSERT_EQ(a.levels.size(), b.levels.size());
  for (std::size_t l = 0; l < a.levels.size(); ++l) {
    EXPECT_EQ(a.levels[l].root_rows, b.levels[l].root_rows);
    EXPECT_EQ(a.levels[l].slot_rows, b.levels[l].slot_rows);
    EXPECT_EQ(a.levels[l].offsets, b.levels[l].offsets);
    EXPECT_EQ(a.levels[l].dt, b.levels[l].dt);
    EXPECT_EQ(a.levels[l].events, b.levels[l].events);
    EXPECT_EQ(a.levels[l].numbers, b.levels[l].numbers);
  }
}

TEST(BatchDrawer, InPartsDrawsAsWithTablesOfAllVertices) {
  const test::TemporaryFolder folder;
  const Json tgn = {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}};
  Json of_asker = tgn, of_edges = tgn;
  of_asker["mail_dt"] = "event_minus_memory", of_edges["key_dt"] = "edge";
  for (const Json& model : {tgn, of_asker, of_edges, Json{{"name", "jodie"}, {"memory", 6}, {"time", 4}},
                            Json{{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}}}) {
    const Case request = event_case(random_visits(folder, 6, 280), {{"model", model}});
    const EventCase c = begin_event_case(request);
    const BatchOrder order({2, 2, 1}, c.training_events(), 17, c.training.task->negative_groups);
    const TrainingMoments moments(order);
    GroupDrawState state(c, order, 0);
    BatchDrawer in_parts(c, c.training, true);
    Workers workers(1);
    for (std::int64_t n = 0; n < 2 * order.batches(); ++n) {
      state.move_to(n, c.training);
      for (int rank = static_cast<int>(n % 2) * 2; rank < static_cast<int>(n % 2) * 2 + 2; ++rank) {
        BatchDraw whole, drawn;
        const BatchRequest wanted = request_of(order, n, rank, n % 2);
        state.drawer.draw(wanted, state.clock, workers, whole);
        in_parts.draw(wanted, moments, n, workers, drawn);
        expect_same_draw(drawn, whole);
      }
    }
  }
}

/// A file of events of 40 of 60 vertices, with features of all.
std::string featured_events(const test::TemporaryFolder& folder, std::uint64_t seed, std::int64_t width) {
  const std::string path = folder.file("featured.strobe");
  write_binary_graph(events_of_some(seed, 60, 40, 260, width), path);
  return path;
}

TEST(RemoteNeighbours, FeaturesAndStaticMemoryOfVerticesComeFromTheirNodes) {
  const test::TemporaryFolder folder;
  const std::string events = featured_events(folder, 7, 5);
  const Json tgn = {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}};
  Json with_static = tgn, of_asker = tgn;
  with_static.update({{"static", "pretrained"}, {"static_epochs", 2}}), of_asker["mail_dt"] = "event_minus_memory";
  for (const Json& model :
       {tgn, with_static, of_asker, Json{{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}}}) {
    const auto of = [&](const Json& how, const Json& more) {
      Json strategy = {{"name", "event_batch"}, {"i", 2}, {"j", 2}, {"k", 1}, {"batch", 17}};
      strategy.update(how);
      Json changes = {{"model", model}, {"strategy", strategy}, {"ranks", 4}};
      changes.update(more);
      return event_case(events, changes);
    };
    const TrainedRun copy = train(folder, of(Json::object(), Json::object()));
    for (const Json& how : {Json{{"nodes", 2}}, Json{{"nodes", 4}}, Json{{"nodes", 4}, {"pipeline", false}}}) {
      Json all = {{"memory_layout", "distributed"}};
      all.update(how);
      const TrainedRun apart = train(folder, of(all, Json::object()));
      EXPECT_EQ(apart.result.loss.per_epoch, copy.result.loss.per_epoch) << model << how;
      EXPECT_EQ(apart.weights, copy.weights) << model << how;
      EXPECT_EQ(apart.result.metrics.at("mrr").per_epoch, copy.result.metrics.at("mrr").per_epoch) << model << how;
      const Json sim = {{"device", "sim"}, {"comm", "sim"}, {"cluster", "g4dn-t4"}, {"numerics", "cpu"}};
      EXPECT_EQ(train(folder, of(all, sim)).weights, copy.weights) << model << how;
    }
  }
}

/// The private memory of a rank of node 0 that draws batches, in bytes.
double most_of_a_rank(const std::string& path, std::int64_t nodes, std::int64_t batches) {
  const EventCase c = begin_event_case(event_case(path, {{"strategy", {{"batch", 50}}}}));
  const BatchOrder order({1, 1, 1}, c.training_events(), 50, 1);
  const TrainingMoments moments(order);
  return test::most_private_bytes([&] {
    const EventPart part(c.training, 0, nodes, true);
    BatchDrawer drawer(c, c.training, true);
    Workers workers(1);
    BatchDraw drawn;
    for (std::int64_t n = 0; n < batches; ++n) drawer.draw(request_of(order, n, 0, 0), moments, n, workers, drawn);
    EXPECT_GT(part.times(0, moments.taken(batches), moments).mail_event, 0);
    look_at_process_memory();
  });
}

/// Two nodes have 400,000 vertices each; then four have.
TEST(EventPart, TakesNoMemoryForVerticesOfOtherNodes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  constexpr std::int64_t own = 400'000, width = 4, events = 3000;
  const test::TemporaryFolder folder;
  const auto file = [&](std::int64_t nodes) {
    const std::string path = folder.file(fmt::format("of{}.strobe", nodes));
    write_binary_graph(events_of_some(8, nodes * own, 300, events, width), path);
    return path;
  };
  const std::string two = file(2), four = file(4);
  most_of_a_rank(two, 2, 20);  // what is taken once
  const double of_two = most_of_a_rank(two, 2, 20), of_four = most_of_a_rank(four, 4, 20);
  const double of_vertices = static_cast<double>(own * (8 + width * sizeof(float)));  // offsets and features
  EXPECT_GT(of_two, 0.9 * of_vertices);
  EXPECT_LT(of_four, of_two + 0.05 * of_vertices) << of_two;
}

/// A node reads features of vertices from its own memory, and the pages of the mapped file stay away.
TEST(EventPart, ReadsNoFeaturesOfVerticesFromTheFile) {
  constexpr std::int64_t vertices = 100'000, width = 172, nodes = 2;
  const test::TemporaryFolder folder;
  const std::string path = folder.file("events.bin");
  EventData data = data_of(events_of_some(9, vertices, 90'000, 20'000, width));
  const std::vector<float> judge(data.graph->vertex_features.begin(), data.graph->vertex_features.end());
  const EventGraph whole = *data.graph;
  write_passing_events(&whole, *data.neighbours, path);
  const PassingEvents mapped = read_passing_events(path, nullptr);
  data.graph = data.whole = std::make_shared<const EventGraph>(mapped.graph);
  data.neighbours = std::make_shared<const TimeCsr>(mapped.neighbours);
  const EventPart part(data, 1, nodes, true);
  EXPECT_EQ(part.feature_bytes(), static_cast<std::uint64_t>(vertices / nodes * width) * sizeof(float));
  const std::uint64_t before = event_test::resident_bytes(path);
  std::vector<float> row(width);
  for (VertexId v = 1; v < vertices; v += nodes) {
    part.put_vertex(v, row.data());
    ASSERT_TRUE(std::equal(row.begin(), row.end(), judge.begin() + v * width)) << v;
  }
  EXPECT_EQ(event_test::resident_bytes(path), before);
  EXPECT_LT(before, std::uint64_t{8} << 20) << "of " << (judge.size() * sizeof(float) >> 20) << " MiB";
}

}  // namespace
}  // namespace strobe
