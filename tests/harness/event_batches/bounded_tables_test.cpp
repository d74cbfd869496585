// Tables of all vertices that a process needs before it trains. Under a bound of memory they lie in files, and their
// values are the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/data_cache.hpp"
#include "core/random.hpp"
#include "harness/event_batches/memory/mail_loss.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/schedule/schedule.hpp"
#include "models/tasks/event_candidates.hpp"
#include "models/tasks/future_links/first_meetings.hpp"
#include "models/tasks/kept_out.hpp"
#include "tests/harness/event_batches/event_runs.hpp"
#include "tests/workloads/reading/bounded_support.hpp"
#include "workloads/binary/binary_graph.hpp"
#include "workloads/continuous/time_csr.hpp"
#include "workloads/storage/node_store.hpp"

namespace strobe {
namespace {

using test::bounded_mib;
using test::most_private_bytes_within;

/// Events with fractions of seconds, ties and self-loops between any of the vertices.
EventGraph scattered_events(std::uint64_t seed, std::int64_t vertices, std::int64_t count) {
  const RandomStream random(seed, 80);
  EventGraph graph;
  graph.vertices = vertices;
  for (std::int64_t e = 0; e < count; ++e) {
    const auto draw = [&](int which) {
      return static_cast<VertexId>(
          random.below(static_cast<std::uint64_t>(2 * e + which), static_cast<std::uint64_t>(vertices)));
    };
    graph.source.push_back(draw(0)), graph.target.push_back(e % 9 == 0 ? graph.source.back() : draw(1));
    graph.time.push_back(0.1 + static_cast<double>(e / 3) * 0.7);
  }
  graph.original_id = std::vector<std::int64_t>(static_cast<std::size_t>(vertices), 7);
  return graph;
}

class BoundedTables : public ::testing::Test {
 protected:
  static constexpr std::int64_t many = 2'000'000;  // vertices
  static constexpr double bytes_per_mib = 1 << 20;

  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  }
  /// The most that `measure` says. A look may miss a moment on a busy machine, so it measures until it sees `least`.
  template <class Measure>
  static double most_of(double least, int tries, const Measure& measure) {
    double most = measure();
    for (int i = 1; i < tries && most <= least; ++i) most = std::max(most, measure());
    return most;
  }
  /// Expects that `work` takes `of_vertex` bytes a vertex without a bound, and next to nothing within one.
  template <class Work>
  static void expect_bounded(double of_vertex, const Work& work) {
    work();  // what is taken once
    const double least = 0.9 * of_vertex * many, most = 2 * bytes_per_mib;
    EXPECT_GT(most_of(least, 20, [&] { return most_private_bytes_within(0, work); }), least);
    EXPECT_LT(most_of(most, 3, [&] { return most_private_bytes_within(8 * bounded_mib, work); }), most);
  }
};

TEST_F(BoundedTables, OfMailLossHaveTheSameBits) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = scattered_events(seed, 30'000, 20'000);
    const MailLoss whole = mail_loss(graph, 19'000, 600);
    EXPECT_GT(whole.mean_staleness_seconds, 0);
    const test::TemporaryFolder aside;
    const BoundedReading bound(bounded_mib, test::folder_of(aside));
    const MailLoss bounded = mail_loss(graph, 19'000, 600);
    EXPECT_EQ(bounded.lost_share, whole.lost_share);
    EXPECT_EQ(bounded.mean_staleness_seconds, whole.mean_staleness_seconds);
  }
}

TEST_F(BoundedTables, OfMailLossTakeNoMemory) {
  const EventGraph graph = scattered_events(4, many, 20'000);
  expect_bounded(24, [&] {
    EXPECT_GT(mail_loss(graph, 20'000, 600).lost_share, 0);
    look_at_process_memory();
  });
}

TEST_F(BoundedTables, OfCandidatesDrawTheSame) {
  const EventGraph graph = scattered_events(5, 40'000, 60'000);
  for (const char* negatives : {"any", "targets"}) {
    const EventCandidates whole(graph, negatives, 3);
    EXPECT_EQ(whole.own_bytes(), whole.pool().size() * sizeof(VertexId));
    const test::TemporaryFolder aside;
    const BoundedReading bound(8 * bounded_mib, test::folder_of(aside));
    const EventCandidates bounded(graph, negatives, 3);
    ASSERT_TRUE(std::equal(whole.pool().begin(), whole.pool().end(), bounded.pool().begin(), bounded.pool().end()));
    EXPECT_TRUE(test::lies_in_file(bounded.pool().data())) << negatives;
    EXPECT_EQ(bounded.own_bytes(), 0U);
    for (EdgeId e = 0; e < 500; ++e) {
      EXPECT_EQ(bounded.negative(e, 1, 2), whole.negative(e, 1, 2));
      EXPECT_EQ(bounded.evaluation(e, 9), whole.evaluation(e, 9));
    }
    const std::vector<VertexId> given = whole.pool().copy();
    EXPECT_TRUE(test::lies_in_file(EventCandidates(graph, given, 3).pool().data()));
  }
}

TEST_F(BoundedTables, OfCandidatesTakeNoMemory) {
  const EventGraph graph = scattered_events(6, many, 20'000);
  expect_bounded(4, [&] {
    const EventCandidates all(graph, "any", 3);
    EXPECT_EQ(all.pool().size(), static_cast<std::size_t>(many));
    look_at_process_memory();
  });
}

TEST_F(BoundedTables, OfMeetingsHaveTheFirstEventOfEachPair) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = scattered_events(seed, 70, 6'000);
    const FirstMeetings whole(graph);
    const test::TemporaryFolder aside;
    const BoundedReading bound(1 << 10, test::folder_of(aside));  // columns of more than 32 bytes go into files
    const FirstMeetings bounded(graph);
    EXPECT_TRUE(test::lies_in_file(bounded.between(0, 0, graph.events()).data()));
    EXPECT_FALSE(test::lies_in_file(whole.between(0, 0, graph.events()).data()));
    const std::vector<char> flags = first_meeting_flags(graph);
    std::set<std::pair<VertexId, VertexId>> met;
    std::vector<std::vector<std::pair<VertexId, EdgeId>>> wanted(70);
    for (EdgeId e = 0; e < graph.events(); ++e) {
      const bool first = met.emplace(graph.source[e], graph.target[e]).second;
      EXPECT_EQ(flags[e] != 0, first) << e;
      if (first) wanted[graph.source[e]].emplace_back(graph.target[e], e);
    }
    for (const EdgeId begin : {0, 1'000, 3'000}) {
      for (VertexId v = 0; v < 70; ++v) {
        std::vector<std::pair<VertexId, EdgeId>> of_vertex, in_memory, in_file;
        for (const auto& [target, event] : wanted[v])
          if (event >= begin && event < 5'000) of_vertex.emplace_back(target, event);
        for (const auto& [target, event] : whole.between(v, begin, 5'000)) in_memory.emplace_back(target, event);
        for (const auto& [target, event] : bounded.between(v, begin, 5'000)) in_file.emplace_back(target, event);
        EXPECT_EQ(in_memory, of_vertex) << v;
        EXPECT_EQ(in_file, of_vertex) << v;
      }
    }
  }
}

TEST_F(BoundedTables, OfEventsLeftForTrainingLieInFiles) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph graph = scattered_events(seed, 4'000, 80'000);
    const TimeSplit split{50'000, 65'000};
    const VertexFlags kept_out = draw_kept_out(graph, split, 0.1, seed);
    const TrainedEvents whole = events_left(graph, split, kept_out, "any", seed);
    const test::TemporaryFolder aside;
    const BoundedReading bound(1 << 10, test::folder_of(aside));
    const TrainedEvents bounded = events_left(graph, split, kept_out, "any", seed);
    EXPECT_LT(bounded.numbers.size(), 50'000U);
    EXPECT_EQ(bounded.numbers, whole.numbers);
    EXPECT_EQ(bounded.graph->source, whole.graph->source);
    EXPECT_EQ(bounded.graph->target, whole.graph->target);
    EXPECT_TRUE(std::equal(whole.graph->time.begin(), whole.graph->time.end(), bounded.graph->time.begin(),
                           bounded.graph->time.end()));
    EXPECT_TRUE(test::lies_in_file(bounded.numbers.data()));
    EXPECT_TRUE(test::lies_in_file(bounded.graph->source.data()));
    EXPECT_TRUE(test::lies_in_file(bounded.graph->target.data()));
    EXPECT_FALSE(test::lies_in_file(whole.numbers.data()));
  }
}

TEST_F(BoundedTables, OfAnAdjacencyTakeNoMemory) {
  const EventGraph graph = scattered_events(7, many, 20'000);
  const TimeCsr whole = make_time_csr(graph);
  expect_bounded(16, [&] {
    const TimeCsr csr = make_time_csr(graph);
    EXPECT_TRUE(std::equal(csr.offsets.begin(), csr.offsets.end(), whole.offsets.begin(), whole.offsets.end()));
    EXPECT_EQ(csr.entries.size(), whole.entries.size());
    look_at_process_memory();
  });
}

/// A process that shares its graph with others of its node. Threads share a part without copies, so nothing of it is a
/// node's own.
TEST_F(BoundedTables, OfAPlanTakeNoMemory) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("many.strobe");
  write_binary_graph(scattered_events(8, many, 20'000), path);
  const Json strategy = {{"name", "event_batch"},          {"i", 2},     {"k", 1},
                         {"memory_layout", "distributed"}, {"nodes", 2}, {"batch", 50}};
  const auto plan = [&](bool shares) {
    NodeStoreSetting setting;
    setting.folders = {folder.file("cache")};
    setting.begin_wait = [] { return [] { return true; }; };
    setting.reading_bytes = 8 * bounded_mib;
    const DataCache cache(shares ? std::make_shared<const NodeStore>(setting) : nullptr);
    const Case c = event_test::event_case(path, {{"strategy", strategy}, {"ranks", 2}, {"epochs", 1}});
    ScheduleRegistry::instance().find("event_batches", "").value.planner(c, PlanUse::run, cache)->plan(0);
  };
  const auto most = [&](double least, int tries, bool shares) {
    return most_of(least, tries, [&] { return test::most_private_bytes([&] { plan(shares); }); });
  };
  plan(true);  // what is taken once
  EXPECT_GT(most(24.0 * many, 20, false), 24.0 * many);
  EXPECT_LT(most(2.0 * many, 3, true), 2.0 * many);
}

}  // namespace
}  // namespace strobe
