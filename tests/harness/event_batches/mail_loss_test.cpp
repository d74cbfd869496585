// Lost mails and staleness by their definitions, on random graphs with ties and self-loops.
#include "harness/event_batches/memory/mail_loss.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/random.hpp"

namespace strobe {
namespace {

EventGraph random_events(std::uint64_t seed, int count, int vertices) {
  const RandomStream random(seed, 10);
  EventGraph graph;
  graph.vertices = vertices;
  std::vector<VertexId> source, target;
  std::vector<double> time;
  for (int e = 0; e < count; ++e) {
    const auto draw = [&](int which, int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(3 * e + which), static_cast<std::uint64_t>(n)));
    };
    source.push_back(draw(0, vertices));
    target.push_back(draw(1, vertices));
    time.push_back((time.empty() ? 100 : time.back()) + draw(2, 3));
  }
  graph.source = std::move(source);
  graph.target = std::move(target);
  graph.time = std::move(time);
  return graph;
}

/// Whether event e has v at an end.
bool concerns(const EventGraph& graph, EdgeId e, VertexId v) { return graph.source[e] == v || graph.target[e] == v; }

/// The last event of v that is below `end` and has a time below `time`; -1 when there is none.
EdgeId last_event(const EventGraph& graph, VertexId v, EdgeId end, double time) {
  for (EdgeId e = end - 1; e >= 0; --e)
    if (concerns(graph, e, v) && graph.time[e] < time) return e;
  return -1;
}

TEST(MailLossTest, IsWhatItsDefinitionsSay) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const std::int64_t batch : {1, 3, 10, 40, 1000}) {
      const EventGraph graph = random_events(seed, 150, 12);
      const EdgeId events = 140;
      std::set<std::pair<VertexId, std::int64_t>> kept;
      double mails = 0, stale = 0;
      for (EdgeId e = 0; e < events; ++e) {
        const double now = graph.time[e];
        for (VertexId v = 0; v < graph.vertices; ++v) {
          if (!concerns(graph, e, v)) continue;
          mails += 1;
          kept.insert({v, e / batch});
          const EdgeId before = last_event(graph, v, e, now);
          const EdgeId known = last_event(graph, v, e / batch * batch, 1e300);
          if (before > known) stale += graph.time[before] - graph.time[std::max<EdgeId>(known, 0)];
        }
      }
      const MailLoss loss = mail_loss(graph, events, batch);
      EXPECT_DOUBLE_EQ(loss.lost_share, 1 - static_cast<double>(kept.size()) / mails) << seed << " " << batch;
      EXPECT_NEAR(loss.mean_staleness_seconds, stale / mails, 1e-12) << seed << " " << batch;
      const std::vector<std::int64_t> captured = captured_mails(graph, events, batch);
      for (VertexId v = 0; v < graph.vertices; ++v) {
        std::int64_t own = 0;
        for (const auto& [vertex, number] : kept) own += vertex == v ? 1 : 0;
        EXPECT_EQ(captured[v], own);
      }
    }
  }
}

TEST(MailLossTest, OfBatchesOfOneEventIsNone) {
  const MailLoss loss = mail_loss(random_events(9, 200, 10), 200, 1);
  EXPECT_EQ(loss.lost_share, 0);
  EXPECT_EQ(loss.mean_staleness_seconds, 0);
}

}  // namespace
}  // namespace strobe
