#include "workloads/continuous/neighbour_sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

struct Roots {
  std::vector<VertexId> vertex;
  std::vector<EdgeId> before;
  std::vector<std::int64_t> number;
  std::vector<double> time;
  EdgeId hidden_from = std::numeric_limits<EdgeId>::max();
  SampleRoots view() const { return {vertex, before, number, time, hidden_from}; }
  void add(VertexId v, EdgeId limit, double t) {
    vertex.push_back(v), before.push_back(limit), number.push_back(static_cast<std::int64_t>(number.size()) * 977);
    time.push_back(t);
  }
};

EventGraph ties_and_loops(std::uint64_t seed, int count, int vertices) {
  const RandomStream random(seed, 1);
  std::vector<std::tuple<int, int, double>> rows;
  for (int e = 0; e < count; ++e) {
    const auto draw = [&](int which, int n) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(3 * e + which), static_cast<std::uint64_t>(n)));
    };
    rows.emplace_back(draw(0, vertices), draw(1, vertices), static_cast<double>(e / 3));
  }
  return test::make_events(vertices, rows);
}

NeighbourSample draw(const EventGraph& events, const Roots& roots, std::int64_t k, Sampling sampling, int threads = 1) {
  const TimeCsr csr = make_time_csr(events);
  Workers workers(threads);
  NeighbourSample sample;
  sample_neighbours(events, csr, roots.view(), k, sampling, 5, workers, sample);
  return sample;
}

/// All neighbours of `v` among the events below `before`, read off the list, in time order.
std::vector<std::pair<VertexId, std::uint32_t>> past(const EventGraph& events, VertexId v, EdgeId before) {
  std::vector<std::pair<VertexId, std::uint32_t>> all;
  for (std::uint32_t e = 0; e < static_cast<std::uint32_t>(before); ++e) {
    if (events.target[e] == v)
      all.emplace_back(events.source[e], e);
    else if (events.source[e] == v)
      all.emplace_back(events.target[e], e);
  }
  return all;
}

std::vector<std::pair<VertexId, std::uint32_t>> slots(const NeighbourSample& sample, std::size_t root) {
  std::vector<std::pair<VertexId, std::uint32_t>> all;
  for (std::int64_t s = sample.offsets[root]; s < sample.offsets[root + 1]; ++s) {
    EXPECT_EQ(sample.slot_root[s], static_cast<std::int64_t>(root));
    all.emplace_back(sample.vertex[s], sample.event[s]);
  }
  return all;
}

Roots every_moment(const EventGraph& events) {
  Roots roots;
  for (EdgeId e = 0; e < events.events(); e += 2) {
    const std::size_t at = e;
    const EdgeId strictly = events_before(events, events.time[at]);
    for (const VertexId v : {events.source[at], events.target[at], VertexId{3}}) {
      roots.add(v, strictly, events.time[at]);
      roots.add(v, std::min<EdgeId>(strictly, e / 50 * 50), events.time[at]);
    }
  }
  return roots;
}

TEST(NeighbourSample, RecentTakesTheLastOnesBeforeTheMomentOnRandomGraphs) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const EventGraph events = ties_and_loops(seed, 600, 11);
    const Roots roots = every_moment(events);
    for (const std::int64_t k : {1, 3, 10, 1000}) {
      const NeighbourSample sample = draw(events, roots, k, Sampling::recent);
      for (std::size_t r = 0; r < roots.vertex.size(); ++r) {
        auto judge = past(events, roots.vertex[r], roots.before[r]);
        if (static_cast<std::int64_t>(judge.size()) > k) judge.erase(judge.begin(), judge.end() - k);
        ASSERT_EQ(slots(sample, r), judge) << "seed " << seed << ", root " << r << ", k " << k;
      }
    }
  }
}

TEST(NeighbourSample, UniformTakesDistinctOnesOfTheWholePastAlike) {
  const EventGraph events = ties_and_loops(4, 300, 3);
  Roots roots;
  for (int i = 0; i < 4000; ++i) roots.add(1, 200, 0);
  const auto all = past(events, 1, 200);
  const NeighbourSample sample = draw(events, roots, 5, Sampling::uniform);
  std::vector<int> drawn(all.size(), 0);
  for (std::size_t r = 0; r < roots.vertex.size(); ++r) {
    const auto mine = slots(sample, r);
    ASSERT_EQ(mine.size(), 5u);
    ASSERT_TRUE(std::is_sorted(mine.begin(), mine.end(), [](auto a, auto b) { return a.second < b.second; }));
    ASSERT_EQ((std::set<std::pair<VertexId, std::uint32_t>>(mine.begin(), mine.end()).size()), 5u);
    for (const auto& slot : mine) {
      const auto place = std::find(all.begin(), all.end(), slot);
      ASSERT_NE(place, all.end()) << "not of the past";
      ++drawn[place - all.begin()];
    }
  }
  // Each of n entries is in a sample with probability 5 / n: five standard deviations.
  const double n = static_cast<double>(all.size()), expected = 4000 * 5 / n;
  for (const int count : drawn) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected * (1 - 5 / n)));
  const auto few = draw(events, roots, 1000, Sampling::uniform);
  EXPECT_EQ(slots(few, 7), all) << "all of them where there are no more";
}

TEST(NeighbourSample, ADrawIsKeyedByTheRootAndNotByItsCompany) {
  const EventGraph events = ties_and_loops(6, 300, 3);
  Roots many, one;
  for (int i = 0; i < 50; ++i) many.add(1, 250, 0);
  one.add(1, 250, 0);
  one.number[0] = many.number[37];
  EXPECT_EQ(slots(draw(events, many, 4, Sampling::uniform), 37), slots(draw(events, one, 4, Sampling::uniform), 0));
}

TEST(NeighbourSample, TheReleasedSamplersOmissionsAreReproduced) {
  // Vertex 0 meets 1, 2, 3 at times 1, 2, 5 and again 4 at 5. Asked at 5 with three places: the entry of 5 that it
  // looks at first is skipped and its place lost, and the oldest one, of time 1, is never taken.
  const EventGraph events = test::make_events(5, {{0, 1, 1}, {0, 2, 2}, {0, 3, 5}, {0, 4, 5}});
  Roots roots;
  roots.add(0, 2, 5), roots.add(0, 4, 6), roots.add(1, 4, 6);
  const NeighbourSample compat = draw(events, roots, 3, Sampling::tgl_compat);
  EXPECT_EQ(slots(compat, 0), (std::vector<std::pair<VertexId, std::uint32_t>>{{2, 1}}));
  EXPECT_EQ(slots(compat, 1), (std::vector<std::pair<VertexId, std::uint32_t>>{{2, 1}, {3, 2}, {4, 3}}));
  EXPECT_TRUE(slots(compat, 2).empty()) << "its only entry is its oldest";
  EXPECT_EQ(slots(draw(events, roots, 3, Sampling::recent), 2).size(), 1u);
}

/// The rule of the released sampler, read off the list: of the entries that are no later than the moment k places down
/// from the last, never the first of all; of these those that are earlier.
std::vector<std::pair<VertexId, std::uint32_t>> as_released(const EventGraph& events, VertexId v, double moment,
                                                            std::int64_t k, EdgeId hidden_from) {
  const auto now = static_cast<float>(moment);
  std::vector<std::pair<VertexId, std::uint32_t>> seen, taken;
  for (const auto& entry : past(events, v, std::min(events.events(), hidden_from)))
    if (static_cast<float>(events.time[entry.second]) <= now) seen.push_back(entry);
  const std::int64_t count = seen.size();
  for (std::int64_t i = std::max<std::int64_t>(1, count - k); i < count; ++i) {
    const auto& entry = seen[i];
    if (static_cast<float>(events.time[entry.second]) < now - 1e-7F) taken.push_back(entry);
  }
  return taken;
}

TEST(NeighbourSample, TheReleasedSamplersRuleHoldsOnRandomGraphsForAllHiddenVertices) {
  for (const std::uint64_t seed : {11, 12}) {
    const EventGraph events = ties_and_loops(seed, 400, 9);
    Roots roots = every_moment(events);
    for (const EdgeId hidden_from : {EdgeId{0}, EdgeId{1}, EdgeId{130}, EdgeId{131}, EdgeId{399}, EdgeId{10000}}) {
      roots.hidden_from = hidden_from;
      for (const std::int64_t k : {1, 4, 1000}) {
        const NeighbourSample sample = draw(events, roots, k, Sampling::tgl_compat);
        for (std::size_t r = 0; r < roots.vertex.size(); ++r)
          ASSERT_EQ(slots(sample, r), as_released(events, roots.vertex[r], roots.time[r], k, hidden_from))
              << "seed " << seed << ", root " << r << ", k " << k << ", hidden from " << hidden_from;
      }
    }
  }
}

/// Hidden events change nothing, for every way of drawing neighbours.
TEST(NeighbourSample, HiddenEventsChangeNothing) {
  const EventGraph events = ties_and_loops(13, 500, 7);
  for (const int hidden_from : {0, 1, 200, 333}) {
    const EventGraph cut = ties_and_loops(13, hidden_from, 7);
    Roots roots = every_moment(events), of_cut = roots;
    for (EdgeId& before : of_cut.before) before = std::min<EdgeId>(before, hidden_from);
    roots.hidden_from = hidden_from;
    for (const Sampling sampling : {Sampling::recent, Sampling::uniform, Sampling::tgl_compat}) {
      const NeighbourSample hidden = draw(events, roots, 5, sampling), gone = draw(cut, of_cut, 5, sampling);
      EXPECT_EQ(hidden.offsets, gone.offsets);
      EXPECT_EQ(hidden.vertex, gone.vertex);
      EXPECT_EQ(hidden.event, gone.event);
    }
  }
}

TEST(NeighbourSample, IsTheSameAtAnyNumberOfThreads) {
  const EventGraph events = ties_and_loops(9, 900, 20);
  const Roots roots = every_moment(events);
  for (const Sampling sampling : {Sampling::recent, Sampling::uniform, Sampling::tgl_compat}) {
    const NeighbourSample one = draw(events, roots, 7, sampling);
    for (const int threads : {2, 3, 7}) {
      const NeighbourSample other = draw(events, roots, 7, sampling, threads);
      EXPECT_EQ(one.offsets, other.offsets);
      EXPECT_EQ(one.vertex, other.vertex);
      EXPECT_EQ(one.event, other.event);
    }
  }
}

TEST(NeighbourSample, EverySamplingHasItsName) {
  EXPECT_EQ(sampling_of("recent"), Sampling::recent);
  EXPECT_EQ(sampling_of("uniform"), Sampling::uniform);
  EXPECT_EQ(sampling_of("tgl_compat"), Sampling::tgl_compat);
  EXPECT_THROW(sampling_of("lucky"), Error);
}

}  // namespace
}  // namespace strobe
