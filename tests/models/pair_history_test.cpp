// The past of pairs that the decoder of future links reads: its codes by their words, counted again for every pair on
// random streams; its tables in the score and in the gradient; and the codes of the samples of both families.
#include "models/tasks/future_links/pair_history.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/random.hpp"
#include "models/tasks/event_candidates.hpp"
#include "models/tasks/event_task.hpp"
#include "models/tasks/future_links/decoder.hpp"
#include "models/tasks/task.hpp"
#include "tests/models/differences.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

/// Events among `vertices`, some of a vertex with itself, three at one time.
EventGraph meetings(std::uint64_t seed, int vertices, int count) {
  const RandomStream random(seed, random_purpose::test);
  std::vector<std::tuple<int, int, double>> rows;
  for (int e = 0; e < count; ++e) {
    const auto draw = [&](int which, int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(4 * e + which), static_cast<std::uint64_t>(n)));
    };
    const int source = draw(0, vertices);
    rows.emplace_back(source, draw(1, 3) > 0 ? (source + draw(2, 4)) % vertices : draw(3, vertices),
                      static_cast<double>(e / 3));
  }
  return test::make_events(vertices, rows);
}

/// The numbers of the vertex's `last` most recent events below `before`, the most recent first.
std::vector<EdgeId> recent_events(const EventGraph& graph, VertexId vertex, EdgeId before, std::int64_t last) {
  std::vector<EdgeId> found;
  for (EdgeId e = before - 1; e >= 0 && static_cast<std::int64_t>(found.size()) < last; --e) {
    if (graph.source[e] == vertex || graph.target[e] == vertex) found.push_back(e);
  }
  return found;
}

/// 1 for the last vertex that it met one way, 2 for the last other one, ...; 0 = not met.
int place_of(const EventGraph& graph, const std::vector<EdgeId>& recent, VertexId vertex, VertexId other, bool hit) {
  std::set<VertexId> met;
  for (const EdgeId e : recent) {
    if ((graph.source[e] == vertex) != hit) continue;
    const VertexId end = hit ? graph.target[e] : graph.source[e];
    met.insert(end);
    if (end == other) return static_cast<int>(met.size());
  }
  return 0;
}

int code_of_place(int place) {
  const std::vector<std::pair<int, int>> ranges = {{0, 0},   {1, 1},   {2, 2},   {3, 3},   {4, 4},
                                                   {5, 6},   {7, 8},   {9, 12},  {13, 16}, {17, 24},
                                                   {25, 32}, {33, 48}, {49, 64}, {65, 96}, {97, 128}};
  for (std::size_t code = 0; code < ranges.size(); ++code)
    if (place >= ranges[code].first && place <= ranges[code].second) return static_cast<int>(code);
  return 15;
}

PairCodes codes_by_their_words(const EventGraph& graph, VertexId source, VertexId candidate, EdgeId before,
                               std::int64_t last) {
  const std::vector<EdgeId> recent = recent_events(graph, source, before, last);
  const int hit = place_of(graph, recent, source, candidate, true);
  const int hit_by = place_of(graph, recent, source, candidate, false);
  int age = 40;
  for (const EdgeId e : recent_events(graph, candidate, before, last)) {
    if (graph.target[e] != candidate) continue;
    age = 39;
    while (std::exp2(0.5 * age) > static_cast<double>(before - e) * (1 + 1e-12)) --age;
    break;
  }
  return {16 * code_of_place(hit) + code_of_place(hit_by), age};
}

TEST(PairCodes, AreThoseOfTheirWordsOnRandomStreams) {
  std::set<std::int32_t> places, ages;
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const int vertices : {5, 40, 300}) {
      const EventGraph graph = meetings(seed, vertices, 1500);
      const TimeCsr adjacency = make_time_csr(graph);
      const RandomStream random(seed, random_purpose::test, 1);
      for (std::uint64_t n = 0; n < 60; ++n) {
        const auto before = static_cast<EdgeId>(random.below(4 * n, 1501));
        const auto source = static_cast<VertexId>(random.below(4 * n + 1, static_cast<std::uint64_t>(vertices)));
        std::vector<VertexId> candidates;
        for (VertexId v = 0; v < vertices; v += 1 + vertices / 20) candidates.push_back(v);
        for (const std::int64_t last : {1, 7, 400}) {
          const std::vector<PairCodes> codes = pair_codes(graph, adjacency, source, before, last, candidates);
          for (std::size_t i = 0; i < candidates.size(); ++i) {
            ASSERT_EQ(codes[i], codes_by_their_words(graph, source, candidates[i], before, last))
                << "seed " << seed << " source " << source << " candidate " << candidates[i] << " before " << before;
            places.insert(codes[i][0]), ages.insert(codes[i][1]);
          }
        }
      }
    }
  }
  EXPECT_GT(places.size(), 60u);
  EXPECT_GT(ages.size(), 20u);
}

TEST(PairCodes, LaterEventsDoNotChangeThem) {
  const EventGraph graph = meetings(4, 30, 600), cut = meetings(4, 30, 400);
  const TimeCsr all = make_time_csr(graph), early = make_time_csr(cut);
  std::vector<VertexId> everyone(30);
  for (VertexId v = 0; v < 30; ++v) everyone[static_cast<std::size_t>(v)] = v;
  for (VertexId source = 0; source < 30; ++source)
    EXPECT_EQ(pair_codes(graph, all, source, 400, 50, everyone), pair_codes(cut, early, source, 400, 50, everyone));
}

TEST(PairCodes, ChooseRowsThatTheScoreReads) {
  const auto device = cpu();
  const std::unique_ptr<Task> task = TaskRegistry::instance().find("future-links").value(Json{{"pair_history", 20}});
  const std::int64_t width = 5;
  const Parameters parameters(*device, task->parameters(width), 3);
  const std::vector<std::int64_t> u = {0, 3, 3, 6}, v = {1, 2, 5, 0}, pair = {0, 255, 17, 17}, age = {40, 0, 3, 3};
  std::vector<Tensor> lists;
  for (const auto* list : {&u, &v, &pair, &age}) lists.push_back(device->move_in(list->data(), 4, 1, ElementType::i64));
  const Tensor x = random_tensor(*device, 7, width, 2);
  Tape tape(*device, false);
  const Tensor logits = task->head(tape, parameters, Tape::constant(x), lists, 4)->value;
  const auto at = [&](const char* name, std::int64_t row, std::int64_t column) {
    return parameters.at(name)->value.data<double>()[row * parameters.at(name)->value.columns() + column];
  };
  for (std::size_t i = 0; i < u.size(); ++i) {
    double score = at("decoder.output_bias", 0, 0);
    for (std::int64_t j = 0; j < width; ++j) {
      double hidden = at("decoder.source_bias", 0, j) + at("decoder.destination_bias", 0, j) +
                      at("decoder.pair", pair[i], j) + at("decoder.recency", age[i], j);
      for (std::int64_t k = 0; k < width; ++k)
        hidden += x.data<double>()[u[i] * width + k] * at("decoder.source", k, j) +
                  x.data<double>()[v[i] * width + k] * at("decoder.destination", k, j);
      score += std::max(hidden, 0.0) * at("decoder.output", j, 0);
    }
    EXPECT_NEAR(logits.data<double>()[2 * i + 1], score, 1e-13);
  }
  const std::vector<Tensor> codes{lists[2], lists[3]};
  check_gradients(*device, {random_tensor(*device, 4, width, 6)}, [&](Tape& recorded, const std::vector<Var>& inputs) {
    return with_pair_codes(recorded, parameters, inputs[0], codes);
  });
}

TEST(PairCodes, OfSamplesKnowWhatTheirBatchKnows) {
  const EventGraph events = meetings(6, 25, 400);
  const TimeCsr adjacency = make_time_csr(events);
  const SnapshotGraph graph = make_snapshots(events, {.count = 20});
  for (const std::string history : {"batch", "event"}) {
    const Json options{{"candidates", "4"}, {"batch", 30}, {"pair_history", 12}, {"history", history}};
    const auto task = TaskRegistry::instance().find("future-links").value(options);
    const TaskData data = task->draw_of_events(graph, events, 5);
    const EventTaskData of_events = EventTaskRegistry::instance().find("future-links").value(options)->draw(events, 5);
    const TimeSplit& split = of_events.split;
    const Samples& test = data.test;
    ASSERT_EQ(test.coded(), 2u);
    EdgeId event = split.validation_end - 1;
    for (std::size_t i = 0; i < test.step.size(); ++i) {
      if (test.candidate_of[i] < 0) ++event;
      EdgeId before = split.validation_end + (event - split.validation_end) / 30 * 30;
      if (history == "event") before = events_before(events, events.time[event]);
      const PairCodes wanted = codes_by_their_words(events, test.vertices[2 * i], test.vertices[2 * i + 1], before, 12);
      EXPECT_EQ((PairCodes{test.codes[2 * i], test.codes[2 * i + 1]}), wanted);
    }
    EXPECT_EQ(event + 1, events.events());
    double weight = 0;
    for (std::size_t i = 0; i < data.train.step.size(); ++i) weight += data.train.weight[i];
    const auto plain = TaskRegistry::instance().find("future-links").value(Json{{"candidates", "4"}, {"batch", 30}});
    const Samples& merged = plain->draw_of_events(graph, events, 5).train;
    EXPECT_EQ(weight, merged.total_weight()) << "the same events are trained on";
    EXPECT_GT(data.train.count(), merged.count()) << "pairs of a step with different pasts are different samples";
    EXPECT_EQ(merged.coded(), 0u);
  }
}

}  // namespace
}  // namespace strobe
