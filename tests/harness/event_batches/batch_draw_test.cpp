// A drawn batch, compared with a pass over the events one after the other.
#include "harness/event_batches/batches/batch_draw.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

using event_test::event_case;

/// The state of a vertex, updated event by event.
struct KnownVertex {
  double updated = 0, mail_time = 0;
  EdgeId mail = -1;
};

class BatchDraws : public ::testing::TestWithParam<const char*> {
 protected:
  test::TemporaryFolder folder_;
};

/// Neighbours of v before `before`, the most recent last.
std::vector<std::pair<VertexId, EdgeId>> recent(const EventGraph& graph, VertexId v, EdgeId before, std::size_t k) {
  std::vector<std::pair<VertexId, EdgeId>> found;
  for (EdgeId e = before - 1; e >= 0 && found.size() < k; --e) {
    const std::size_t at = e;
    if (graph.source[at] == v || graph.target[at] == v)
      found.insert(found.begin(), {graph.source[at] == v ? graph.target[at] : graph.source[at], e});
  }
  return found;
}

/// Reads the events one after the other, and checks the batches of a drawer with them.
class DrawJudge {
 public:
  DrawJudge(const EventCase& c, bool sampler) : case_(c), graph_(*c.data.graph), sampler_(sampler) {}

  void check(const BatchDraw& drawn) {
    check_roots(drawn);
    check_vertices(drawn);
    check_writes(drawn);
    for (const auto& [v, e] : last_events(drawn.request)) {
      KnownVertex& vertex = known_[v];
      if (vertex.mail >= 0) vertex.updated = vertex.mail_time;
      vertex.mail = e, vertex.mail_time = graph_.time[e];
    }
  }

 private:
  void check_roots(const BatchDraw& drawn) {
    const DrawnLevel& level = drawn.levels.front();
    const std::int64_t count = drawn.request.count;
    for (std::int64_t r = 0; r < drawn.roots(); ++r) {
      const EdgeId e = drawn.request.first + (r < count ? r : (r - count) / 2);
      const std::size_t at = e;
      const VertexId v = r < count              ? graph_.source[at]
                         : (r - count) % 2 == 0 ? graph_.target[at]
                                                : case_.data.task->candidates->negative(e, 0, 0);
      ASSERT_EQ(drawn.vertices[level.root_rows[r]], v);
      EdgeId before = events_before(graph_, graph_.time[at]);
      if (!sampler_) before = std::min(before, drawn.request.first);
      check_slots(drawn, r, graph_.time[at], recent(graph_, v, before, 3));
    }
  }

  void check_slots(const BatchDraw& drawn, std::int64_t root, double time,
                   const std::vector<std::pair<VertexId, EdgeId>>& judge) {
    const DrawnLevel& level = drawn.levels.front();
    const std::int64_t begin = level.offsets[root];
    ASSERT_EQ(level.offsets[static_cast<std::size_t>(root) + 1] - begin, static_cast<std::int64_t>(judge.size()));
    for (std::size_t s = 0; s < judge.size(); ++s) {
      const std::size_t slot = static_cast<std::size_t>(begin) + s;
      const auto [w, event] = judge[s];
      EXPECT_EQ(drawn.vertices[level.slot_rows[slot]], w);
      EXPECT_EQ(level.events[slot], event);
      const KnownVertex& other = known_[w];
      EXPECT_EQ(level.dt[slot], time - (other.mail >= 0 ? other.mail_time : other.updated));
    }
  }

  void check_vertices(const BatchDraw& drawn) {
    const std::set<std::int64_t> distinct(drawn.vertices.begin(), drawn.vertices.end());
    ASSERT_EQ(distinct.size(), drawn.vertices.size());
    for (std::size_t i = 0; i < drawn.vertices.size(); ++i) {
      const KnownVertex& vertex = known_[static_cast<VertexId>(drawn.vertices[i])];
      ASSERT_EQ(static_cast<std::int64_t>(i) < drawn.mails, vertex.mail >= 0);
      if (vertex.mail < 0) continue;
      EXPECT_EQ(drawn.mail_events[i], vertex.mail);
      EXPECT_EQ(drawn.mail_dt[i], vertex.mail_time - vertex.updated);
    }
  }

  /// The last event of a vertex leaves its mail.
  void check_writes(const BatchDraw& drawn) {
    const std::map<VertexId, EdgeId> last = last_events(drawn.request);
    ASSERT_EQ(drawn.written.size(), last.size());
    for (std::size_t w = 0; w < drawn.written.size(); ++w) {
      const auto v = static_cast<VertexId>(drawn.written[w]);
      const std::size_t at = last.at(v);
      const VertexId other = graph_.source[at] == v ? graph_.target[at] : graph_.source[at];
      EXPECT_EQ(drawn.vertices[drawn.own_rows[w]], v);
      EXPECT_EQ(drawn.vertices[drawn.other_rows[w]], other);
    }
  }

  std::map<VertexId, EdgeId> last_events(const BatchRequest& request) const {
    std::map<VertexId, EdgeId> last;
    for (EdgeId e = request.first; e < request.first + request.count; ++e)
      last[graph_.source[e]] = last[graph_.target[e]] = e;
    return last;
  }

  const EventCase& case_;
  const EventGraph& graph_;
  bool sampler_;
  std::map<VertexId, KnownVertex> known_;
};

TEST_P(BatchDraws, EqualTheEventsReadOneAfterTheOther) {
  for (const std::uint64_t seed : {1, 2}) {
    const EventCase c = begin_event_case(
        event_case(event_test::random_visits(folder_, seed, 300), {{"model", {{"intra_batch_history", GetParam()}}}}));
    BatchDrawer drawer(c, c.data);
    MemoryClock clock(c.data.graph->vertices);
    Workers workers(2);
    DrawJudge judge(c, std::string(GetParam()) == "sampler");
    for (EdgeId first = 0; first + 32 <= c.training_events(); first += 32) {
      BatchDraw drawn;
      drawer.draw({first, 32, first, true, 0, 0, true}, clock, workers, drawn);
      ASSERT_EQ(drawn.roots(), 32 * 3);
      judge.check(drawn);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Histories, BatchDraws, ::testing::Values("sampler", "none"));

TEST(BatchDraw, OfAnEvaluationLeavesTheClockAlone) {
  const test::TemporaryFolder folder;
  const EventCase c = begin_event_case(event_case(event_test::random_visits(folder, 3, 200)));
  BatchDrawer drawer(c, c.data);
  MemoryClock clock(c.data.graph->vertices);
  Workers workers(1);
  BatchDraw drawn;
  drawer.draw({0, 40, 0, false, -1, 0, true}, clock, workers, drawn);
  EXPECT_EQ(drawn.roots(), 80);
  EXPECT_TRUE(drawn.levels.empty()) << "what only enters memory looks at no neighbours";
  const MemoryClock before = clock;
  drawer.draw({40, 20, 40, true, -1, 9, false}, clock, workers, drawn);
  EXPECT_EQ(drawn.candidates, 10);
  EXPECT_TRUE(drawn.written.empty());
  EXPECT_EQ(clock.updated, before.updated);
  EXPECT_EQ(clock.mail_event, before.mail_event);
}

TEST(EventCase, CountsTheTablesOfCandidatesOnTheHost) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 8, 300);
  const auto samples = [&](const Json& task) {
    return begin_event_case(event_test::event_case(visits, {{"task", task}})).host_parts()[MemoryPart::samples];
  };
  const EventCase plain = begin_event_case(event_test::event_case(visits));
  const EventGraph& graph = *plain.data.graph;
  std::set<std::pair<VertexId, VertexId>> pairs;
  for (std::size_t e = 0; e < graph.source.size(); ++e) pairs.insert({graph.source[e], graph.target[e]});
  const std::uint64_t one = samples(Json::object());
  EXPECT_EQ(samples({{"evaluation_negatives", "historical"}}) - one,
            16 * pairs.size() + 8 * static_cast<std::uint64_t>(graph.vertices + 1));
  EXPECT_EQ(samples({{"links", "new"}}) - one, static_cast<std::uint64_t>(graph.events()));
}

}  // namespace
}  // namespace strobe
