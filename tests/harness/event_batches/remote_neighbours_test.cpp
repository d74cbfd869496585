// Events that lie by node: what a node draws and sends, and training that asks other nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "core/random.hpp"
#include "harness/event_batches/batches/event_part.hpp"
#include "harness/event_batches/groups/remote_rows.hpp"
#include "harness/event_batches/trainer/batch_source.hpp"
#include "harness/event_batches/trainer/evaluation_order.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "workloads/binary/binary_graph.hpp"
#include "workloads/graph/event_data.hpp"

namespace strobe {
namespace {

using event_test::event_case;
using event_test::random_visits;
using event_test::resident_bytes;
using event_test::train;
using event_test::TrainedRun;

/// Events with ties, self-loops and repeats, and two features each.
EventData random_event_data(std::uint64_t seed, std::int64_t vertices, std::int64_t count) {
  const RandomStream random(seed, 77);
  EventGraph graph;
  graph.vertices = vertices;
  graph.edge_feature_width = 2;
  for (std::int64_t e = 0; e < count; ++e) {
    const auto draw = [&](int which) {
      return static_cast<VertexId>(
          random.below(static_cast<std::uint64_t>(2 * e + which), static_cast<std::uint64_t>(vertices)));
    };
    graph.source.push_back(draw(0));
    graph.target.push_back(draw(1));
    graph.time.push_back(static_cast<double>(e / 3));
    graph.edge_features.push_back(static_cast<float>(e) + 0.25F);
    graph.edge_features.push_back(-static_cast<float>(e));
  }
  EventData data;
  data.graph = data.whole = std::make_shared<const EventGraph>(std::move(graph));
  data.neighbours = std::make_shared<const TimeCsr>(make_time_csr(*data.graph));
  data.widths = {2, 0, vertices};
  return data;
}

struct Roots {
  std::vector<VertexId> vertex;
  std::vector<EdgeId> before;
  std::vector<std::int64_t> number;
  std::vector<double> time;
};

/// Every vertex at some moments; only those of `node` if it is not negative.
Roots roots_of(const EventData& data, std::int64_t node, std::int64_t nodes) {
  Roots roots;
  for (VertexId v = 0; v < data.graph->vertices; ++v) {
    for (EdgeId e = 3; e < data.graph->events(); e += 29) {
      if (node >= 0 && v % nodes != node) continue;
      roots.vertex.push_back(v);
      roots.time.push_back(data.graph->time[e]);
      roots.before.push_back(events_before(*data.graph, data.graph->time[e]));
      roots.number.push_back(1000 * e + v);
    }
  }
  return roots;
}

/// The last `k` events of v below `before`, by a look at all events.
std::vector<std::uint32_t> last_events(const EventGraph& graph, VertexId v, EdgeId before, std::size_t k) {
  std::vector<std::uint32_t> found;
  for (EdgeId e = before - 1; e >= 0 && found.size() < k; --e) {
    if (graph.source[e] == v || graph.target[e] == v) found.insert(found.begin(), static_cast<std::uint32_t>(e));
  }
  return found;
}

/// Nodes with memory of their own draw what the whole adjacency gives, under every sampling.
TEST(EventPart, EveryNodeDrawsTheNeighboursOfTheWholeGraph) {
  Workers workers(2);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventData data = random_event_data(seed, 23, 400);
    for (const Sampling sampling : {Sampling::recent, Sampling::uniform, Sampling::tgl_compat}) {
      for (const std::int64_t nodes : {1, 2, 3, 5}) {
        for (std::int64_t node = 0; node < nodes; ++node) {
          const EventPart part(data, node, nodes, true);
          const Roots all = roots_of(data, node, nodes);
          const SampleRoots roots{all.vertex, all.before, all.number, all.time, 300};
          NeighbourSample whole, own;
          sample_neighbours(*data.graph, *data.neighbours, roots, 4, sampling, seed, workers, whole);
          part.sample(remote_roots(roots, sampling), {4, sampling, seed}, workers, own);
          EXPECT_EQ(own.offsets, whole.offsets);
          EXPECT_EQ(own.vertex, whole.vertex);
          EXPECT_EQ(own.event, whole.event);
        }
      }
    }
  }
}

TEST(EventPart, RecentNeighboursAreThoseOfALookAtAllEvents) {
  Workers workers(1);
  for (const std::uint64_t seed : {4, 5, 6}) {
    const EventData data = random_event_data(seed, 11, 300);
    const EventPart part(data, 1, 3, true);
    const Roots all = roots_of(data, 1, 3);
    NeighbourSample sample;
    part.sample(remote_roots({all.vertex, all.before, all.number, all.time}, Sampling::recent),
                {5, Sampling::recent, 0}, workers, sample);
    for (std::size_t r = 0; r < all.vertex.size(); ++r) {
      const std::vector<std::uint32_t> drawn(sample.event.begin() + sample.offsets[r],
                                             sample.event.begin() + sample.offsets[r + 1]);
      EXPECT_EQ(drawn, last_events(*data.graph, all.vertex[r], all.before[r], 5)) << r;
    }
  }
}

/// A node has the features of its vertices' events. All nodes together hold each event once or twice.
TEST(EventPart, ANodeHoldsFeaturesAndNeighboursOfItsVerticesAlone) {
  const EventData data = random_event_data(7, 40, 500);
  const std::int64_t nodes = 4;
  std::uint64_t graph = 0, features = 0, expected_features = 0;
  for (std::int64_t node = 0; node < nodes; ++node) {
    const EventPart part(data, node, nodes, true);
    std::int64_t events = 0, entries = 0;
    for (EdgeId e = 0; e < data.graph->events(); ++e) {
      const VertexId u = data.graph->source[e], v = data.graph->target[e];
      entries += (u % nodes == node ? 1 : 0) + (v % nodes == node && u != v ? 1 : 0);
      if (u % nodes != node && v % nodes != node) continue;
      float row[2], known[2];
      part.put_features(e, row);
      edge_feature_row(*data.graph, e, known);
      EXPECT_EQ(row[0], known[0]);
      EXPECT_EQ(row[1], known[1]);
      ++events;
    }
    EXPECT_EQ(part.entries(), entries);
    EXPECT_EQ(part.feature_bytes(), static_cast<std::uint64_t>(events) * 8);
    graph += part.graph_bytes(), features += part.feature_bytes();
    expected_features += static_cast<std::uint64_t>(events) * 8;
  }
  EXPECT_EQ(features, expected_features);
  EXPECT_LE(features, 2 * data.graph->edge_features.size() * sizeof(float));
  EXPECT_EQ(EventPart(data, 0, nodes, false).graph_bytes(), 0u);
}

/// A sum over all events, which reads their ends and times.
double sum_of_events(const EventGraph& graph) {
  double sum = 0;
  for (EdgeId e = 0; e < graph.events(); ++e) sum += graph.time[e] + graph.source[e] + 3.0 * graph.target[e];
  return sum;
}

TEST(EventPart, PagesOfReadEventsLeaveMemoryAndComeBack) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("events.bin");
  constexpr EdgeId events = 1500000;
  EventData data = random_event_data(8, 50, events);
  EventGraph whole = *data.graph;
  whole.original_id = std::vector<std::int64_t>(50, 7);
  write_passing_events(&whole, *data.neighbours, path);
  const double sum = sum_of_events(*data.graph);
  const PassingEvents mapped = read_passing_events(path, nullptr);
  data.graph = data.whole = std::make_shared<const EventGraph>(mapped.graph);
  data.neighbours = std::make_shared<const TimeCsr>(mapped.neighbours);
  const EventPart part(data, 0, 2, true);
  const std::uint64_t before = resident_bytes(path);
  EXPECT_EQ(sum_of_events(*data.graph), sum);
  const std::uint64_t read = resident_bytes(path) - before;
  const std::uint64_t ends = 2 * sizeof(VertexId) * events;
  const std::uint64_t border = std::uint64_t{6} << 20;  // at both ends of three columns the system may map a large page
  EXPECT_GE(read, ends);
  part.rest_ends(events / 2);
  EXPECT_NEAR(static_cast<double>(resident_bytes(path) - before), 0.5 * static_cast<double>(read),
              static_cast<double>(border));
  EXPECT_EQ(sum_of_events(*data.graph), sum);
  part.rest_file();
  EXPECT_LE(resident_bytes(path), before + border);
  EXPECT_EQ(sum_of_events(*data.graph), sum);
  const EventPart shared(data, 0, 2, false);  // other threads read these pages too
  shared.rest_file();
  EXPECT_GE(resident_bytes(path), ends);
}

TEST(RemoteRows, DistinctEventsOfABatchAreFoundInOrderWithThePlaceOfEach) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const RandomStream random(seed, 78);
    const std::uint64_t range = seed == 0 ? 1 : std::uint64_t{1} << (seed % 32);
    BatchDraw drawn;
    drawn.levels.resize(seed % 3);
    std::vector<EdgeId> all;
    const auto fill = [&](std::vector<EdgeId>& events) {
      const std::uint64_t count = seed == 5 ? 0 : 100 + 10 * seed;
      for (std::uint64_t i = 0; i < count; ++i)
        events.push_back(static_cast<EdgeId>(random.below(all.size() + i, range)));
      all.insert(all.end(), events.begin(), events.end());
    };
    fill(drawn.mail_events);
    for (DrawnLevel& level : drawn.levels) fill(level.events);
    const FeatureEvents found = events_with_features(drawn);
    const std::set<EdgeId> judge(all.begin(), all.end());
    EXPECT_EQ(found.events, std::vector<EdgeId>(judge.begin(), judge.end())) << seed;
    ASSERT_EQ(found.place_of.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(found.events.at(found.place_of[i]), all[i]) << seed;
  }
}

Case distributed_case(const std::string& visits, const TrainingGroups& groups, const Json& how, const Json& more) {
  Json strategy = {{"name", "event_batch"}, {"i", groups.i}, {"j", groups.j}, {"k", 1}, {"batch", 17}};
  strategy.update(how);
  Json changes = {{"strategy", strategy}, {"ranks", groups.ranks()}, {"epochs", 3}};
  changes.update(more);
  return event_case(visits, changes);
}

/// Each run checks its bytes against the plan.
TEST(RemoteNeighbours, EveryModelAndSamplerTrainsAsWithAllEvents) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 51, 260);
  const Json tgn = {{"name", "tgn-attn"}, {"memory", 6}, {"time", 4}, {"neighbours", 3}};
  std::vector<Json> models{{{"name", "jodie"}, {"memory", 6}, {"time", 4}}};
  for (const char* sampling : {"recent", "uniform", "tgl_compat"}) {
    models.push_back(tgn);
    models.back()["sampling"] = sampling;
  }
  models.push_back(tgn);
  models.back()["mail_dt"] = "event_minus_memory";
  models.push_back(tgn);
  models.back().update({{"static", "pretrained"}, {"static_epochs", 2}});
  for (const char* sampling : {"recent", "uniform", "tgl_compat"})  // two levels, no memory
    models.push_back({{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}, {"sampling", sampling}});
  for (const Json& model : models) {
    for (const TrainingGroups& groups : {TrainingGroups{2, 1, 1}, TrainingGroups{2, 2, 1}}) {
      const Json more = {{"model", model}};
      const TrainedRun copy = train(folder, distributed_case(visits, groups, Json::object(), more));
      for (const std::int64_t nodes : {std::int64_t{2}, groups.ranks()}) {
        const Json how = {{"memory_layout", "distributed"}, {"nodes", nodes}};
        const TrainedRun apart = train(folder, distributed_case(visits, groups, how, more));
        EXPECT_EQ(apart.result.loss.per_epoch, copy.result.loss.per_epoch) << model << how;
        EXPECT_EQ(apart.weights, copy.weights) << model << how;
        EXPECT_EQ(apart.result.metrics.at("mrr").per_epoch, copy.result.metrics.at("mrr").per_epoch) << model << how;
      }
    }
  }
}

TEST(RemoteNeighbours, AnyNumberOfIterationsAheadGivesTheSameBits) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 52, 260);
  const Json tgat = {{"model", {{"name", "tgat"}, {"hidden", 6}, {"time", 4}, {"neighbours", 3}}}};
  for (const Json& model : {Json::object(), tgat}) {
    const TrainedRun copy = train(folder, distributed_case(visits, {2, 2, 1}, Json::object(), model));
    for (const Json& ahead :
         {Json{{"prefetch", 1}}, Json{{"prefetch", 2}}, Json{{"prefetch", 7}}, Json{{"pipeline", false}},
          Json{{"pipeline", false}, {"prefetch", 3}}, Json{{"presample", "memory"}}}) {
      if (model == tgat && ahead.contains("presample")) continue;  // then nothing would lie by node
      Json how = {{"memory_layout", "distributed"}, {"nodes", 2}};
      how.update(ahead);
      EXPECT_EQ(train(folder, distributed_case(visits, {2, 2, 1}, how, model)).weights, copy.weights) << how;
    }
  }
}

/// The simulator charges what the host states. Other time of a draw is that of its messages.
TEST(RemoteNeighbours, TheHostStatesAllWorkBetweenTheMessagesOfADraw) {
  const test::TemporaryFolder folder;
  const std::string visits = random_visits(folder, 56, 300);
  const Json more = {{"device", "sim"}, {"numerics", "none"}, {"cluster", "g4dn-t4"}, {"epochs", 2}};
  for (const TrainingGroups& groups : {TrainingGroups{2, 1, 1}, TrainingGroups{2, 2, 1}}) {
    const Case request = distributed_case(visits, groups, {{"memory_layout", "distributed"}, {"nodes", 2}}, more);
    std::vector<std::vector<Span>> spans;
    ASSERT_EQ(run_case(request, &spans).status, "ok");
    double stated = 0;
    for (const std::vector<Span>& rank : spans) {
      for (const Span& span : rank) stated += span.name == "draw_batch" ? span.work.flops : 0;
    }
    const EventCase c = begin_event_case(request);
    const BatchOrder order(groups, c.training_events(), 17, c.training.task->negative_groups);
    const std::int64_t end = order.first_iteration(2);
    const RemoteRows remote(c, order, 2, end);
    double asked = 0, evaluated = 0;
    // Each root is found, given neighbours and listed. Each neighbour is taken and listed.
    const auto add = [](const RowsOfNode& rows, double& sum) {
      sum += static_cast<double>(3 * rows.roots_of(0) + 2 * rows.slots_of(0));
    };
    const EvaluationOrder steps = whole_evaluation(c);
    const RemoteRows of_steps(steps, groups.ranks(), 2);
    for (std::int64_t rank = 0; rank < groups.ranks(); ++rank) {
      for (std::int64_t node = 0; node < 2; ++node) {
        for (std::int64_t n = 0; n < end; ++n) add(remote.rows(n, rank, node), asked);
        for (std::int64_t n = 0; n < steps.steps(); ++n) add(of_steps.rows(n, rank, node), evaluated);
      }
    }
    EXPECT_EQ(stated, 20 * (asked + 2 * evaluated));  // an evaluation after each epoch
  }
}

/// Compares planned bytes with a count by hand over the draws of all ranks.
TEST(RemoteRows, DrawsThatRepeatAreMadeOnceAndCountedInEachIteration) {
  const test::TemporaryFolder folder;
  const Json negatives = {{"task", {{"negative_groups", 3}}}};
  const Case request = distributed_case(random_visits(folder, 54, 300), {2, 2, 1}, Json::object(), negatives);
  const EventCase c = begin_event_case(request);
  const BatchOrder order({2, 2, 1}, c.training_events(), 17, 3);
  ASSERT_EQ(order.batches() % 2, 1);
  const RemoteRows remote(c, order, 2, 8 * order.batches());
  Workers workers(1);
  GroupDrawState state(c, order, 0);
  std::set<const RowsOfNode*> made;
  for (std::int64_t n = 0; n < 8 * order.batches(); ++n) {
    made.insert(&remote.rows(n, 0, 0));
    state.move_to(n, c.training);
    for (int rank = 0; rank < 4; ++rank) {
      for (std::int64_t set = 0; set < 2; ++set) {
        std::vector<std::int64_t> vertices(2, 0), mails(2, 0);
        BatchDraw drawn;
        const bool begins = n % 2 == rank / 2;
        if (begins) state.drawer.draw(request_of(order, n, rank, set), state.clock, workers, drawn);
        for (const std::int64_t v : drawn.vertices) ++vertices[v % 2];
        for (std::int64_t m = 0; m < drawn.mails; ++m) ++mails[drawn.vertices[m] % 2];
        for (std::int64_t node = 0; node < 2; ++node) {
          EXPECT_EQ(remote.rows(n, rank, node).vertices.at(set), vertices[node]) << n;
          EXPECT_EQ(remote.rows(n, rank, node).mails.at(set), mails[node]) << n;
        }
      }
    }
  }
  // Sweeps take three groups of negatives in turn. Odd sweeps begin with the other subgroup.
  EXPECT_EQ(static_cast<std::int64_t>(made.size()), 6 * order.batches());
}

TEST(RemoteNeighbours, MessagesOfDrawsAreCounted) {
  const test::TemporaryFolder folder;
  const Case request = distributed_case(random_visits(folder, 53, 300), {2, 2, 1}, Json::object(), Json::object());
  const EventCase c = begin_event_case(request);
  const BatchOrder order({2, 2, 1}, c.training_events(), 17, c.training.task->negative_groups);
  const RemoteRows remote(c, order, 2, 9);
  Workers workers(1);
  GroupDrawState state(c, order, 0);
  std::uint64_t roots = 0, neighbours = 0, events = 0, vertices = 0;
  for (std::int64_t n = 0; n < 9; ++n) {
    state.move_to(n, c.training);
    for (int rank = static_cast<int>(n % 2) * 2; rank < static_cast<int>(n % 2) * 2 + 2; ++rank) {
      for (std::int64_t set = 0; set < 2; ++set) {
        BatchDraw drawn;
        state.drawer.draw(request_of(order, n, rank, set), state.clock, workers, drawn);
        const DrawnLevel& level = drawn.levels.front();
        for (std::int64_t r = 0; r < level.roots; ++r) {
          if (drawn.vertices[level.root_rows[r]] % 2 == rank / 2) continue;
          roots += 1, neighbours += static_cast<std::uint64_t>(level.offsets[r + 1] - level.offsets[r]);
        }
        const std::set<std::int64_t> distinct(drawn.vertices.begin(), drawn.vertices.end());
        for (const std::int64_t v : distinct) vertices += v % 2 == rank / 2 ? 0 : 1;
        std::set<EdgeId> read(drawn.mail_events.begin(), drawn.mail_events.end());
        read.insert(level.events.begin(), level.events.end());
        for (const EdgeId e : read) {
          const bool own = c.training.graph->source[e] % 2 == rank / 2 || c.training.graph->target[e] % 2 == rank / 2;
          events += own ? 0 : 1;
        }
      }
    }
  }
  ASSERT_GT(neighbours, 0u);
  ASSERT_GT(events, 0u);
  ASSERT_GT(vertices, 0u);
  EXPECT_EQ(vertex_answer_bytes(c), 24);  // times of the memory
  EXPECT_EQ(remote.drawing_bytes(0, 9, 0, 0), 40 * roots + 8 * neighbours);
  EXPECT_EQ(remote.drawing_bytes(0, 9, 0, 3), 40 * roots + 8 * neighbours + 20 * events);
  EXPECT_EQ(remote.drawing_bytes(0, 9, 24, 3), 40 * roots + 8 * neighbours + 32 * vertices + 20 * events);
}

}  // namespace
}  // namespace strobe
