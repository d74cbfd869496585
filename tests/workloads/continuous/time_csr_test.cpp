#include "workloads/continuous/time_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/continuous/time_split.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

using test::Threads;

/// The definition, read off the list of events: walk back from the end, take what is strictly earlier and touches v.
std::vector<TimedNeighbour> judge(const EventGraph& events, const std::string& direction, VertexId v, double time,
                                  std::size_t k) {
  std::vector<TimedNeighbour> found;
  for (std::int64_t e = events.events() - 1; e >= 0 && found.size() < k; --e) {
    const std::size_t i = e;
    if (!(events.time[i] < time)) continue;
    const bool in = direction != "out" && events.target[i] == v, out = direction != "in" && events.source[i] == v;
    if (in || out)
      found.insert(found.begin(), {in ? events.source[i] : events.target[i], static_cast<std::uint32_t>(i)});
  }
  return found;
}

std::vector<TimedNeighbour> ask(const EventGraph& events, const TimeCsr& csr, VertexId v, double time, std::int64_t k) {
  const auto found = most_recent(csr, v, events_before(events, time), k);
  return {found.begin(), found.end()};
}

/// Random events with many ties, self-loops and repeated pairs.
EventGraph random_events(int count, int vertices, int times, double scale) {
  const RandomStream random(7, 1);
  std::uint64_t drawn = 0;
  const auto below = [&](int n) { return static_cast<int>(random.below(drawn++, static_cast<std::uint64_t>(n))); };
  std::vector<double> when;
  for (int e = 0; e < count; ++e) when.push_back(scale * below(times));
  std::sort(when.begin(), when.end());
  std::vector<std::tuple<int, int, double>> rows;
  for (const double time : when) {
    const int source = below(vertices);
    rows.emplace_back(source, below(vertices), time);
  }
  return test::make_events(vertices, rows);
}

TEST(TimeCsr, MostRecentNeighboursEqualTheJudgeForAllVerticesTimesAndNumbers) {
  for (const double scale : {1.0, 0.1, 1e-7}) {
    const EventGraph events = random_events(400, 12, 60, scale);
    for (const char* direction : {"in", "out", "both"}) {
      const TimeCsr csr = make_time_csr(events, direction);
      for (VertexId v = 0; v < 12; ++v) {
        for (int step = -1; step <= 61; ++step) {
          for (const std::size_t k : {0u, 1u, 2u, 10u, 1000u}) {
            const double time = scale * step;
            ASSERT_EQ(ask(events, csr, v, time, static_cast<std::int64_t>(k)), judge(events, direction, v, time, k))
                << direction << " vertex " << v << " time " << time << " k " << k;
          }
        }
      }
    }
  }
}

TEST(TimeCsr, TheOldestEventIsFoundAndTiesWasteNoSlots) {
  // Three events of time 5 and the query at 5: a sampler that skips later entries without replacement finds none.
  const EventGraph events = test::make_events(6, {{0, 1, 1}, {0, 2, 2}, {0, 3, 5}, {0, 4, 5}, {0, 5, 5}});
  const TimeCsr csr = make_time_csr(events, "out");
  EXPECT_EQ(ask(events, csr, 0, 5, 2), (std::vector<TimedNeighbour>{{1, 0}, {2, 1}}));
  EXPECT_EQ(ask(events, csr, 0, 5, 9), (std::vector<TimedNeighbour>{{1, 0}, {2, 1}})) << "k above the degree";
  EXPECT_EQ(ask(events, csr, 0, 6, 3), (std::vector<TimedNeighbour>{{3, 2}, {4, 3}, {5, 4}})) << "ties in file order";
  EXPECT_EQ(ask(events, csr, 0, 6, 5).front(), (TimedNeighbour{1, 0})) << "the oldest event";
  EXPECT_TRUE(ask(events, csr, 0, 1, 5).empty());
  EXPECT_TRUE(ask(events, csr, 3, 9, 5).empty()) << "no outgoing event";
}

TEST(TimeCsr, TimesCloserThanFloatsAreDistinguished) {
  const double base = 1.4e9;  // floats are 128 seconds apart here
  const EventGraph events = test::make_events(3, {{0, 1, base}, {0, 2, base + 1}, {0, 1, base + 1.0000005}});
  ASSERT_EQ(static_cast<float>(base), static_cast<float>(base + 1));
  const TimeCsr csr = make_time_csr(events);
  EXPECT_EQ(ask(events, csr, 0, base + 1, 5), (std::vector<TimedNeighbour>{{1, 0}}));
  EXPECT_EQ(ask(events, csr, 0, base + 1.0000005, 5), (std::vector<TimedNeighbour>{{1, 0}, {2, 1}}));
  EXPECT_EQ(ask(events, csr, 0, std::numeric_limits<double>::infinity(), 5).size(), 3u);
  EXPECT_EQ(ask(events, csr, 0, base, 5).size(), 0u);
}

TEST(TimeCsr, SelfLoopsAreOneEntryAndThreadsDoNotMatter) {
  const EventGraph events = random_events(5000, 40, 300, 1);
  std::int64_t loops = 0;
  for (std::size_t e = 0; e < events.source.size(); ++e) loops += events.source[e] == events.target[e];
  ASSERT_GT(loops, 0);
  const TimeCsr one = [&] {
    const Threads threads(1);
    return make_time_csr(events);
  }();
  EXPECT_EQ(one.offsets.back(), 2 * events.events() - loops);
  for (const int count : {2, 5, 64}) {
    const Threads threads(count);
    const TimeCsr many = make_time_csr(events);
    EXPECT_EQ(many.offsets, one.offsets);
    EXPECT_EQ(many.entries, one.entries);
  }
  EXPECT_THROW(make_time_csr(events, "sideways"), InvalidRequest);
}

/// No event of a part shares a time with one of another.
void expect_clean_cuts(const EventGraph& events, const TimeSplit& split) {
  for (const EdgeId cut : {split.train_end, split.validation_end}) {
    if (cut > 0 && cut < events.events()) {
      EXPECT_LT(events.time[static_cast<std::size_t>(cut) - 1], events.time[cut]);
    }
  }
}

TEST(TimeSplit, SharesAreMetUpToTheTiesOfTheLastEvent) {
  const EventGraph events = random_events(1000, 5, 90, 0.25);
  for (const double train : {0.1, 0.5, 0.7, 0.85}) {
    const TimeSplit split = split_by_shares(events, train, 0.1);
    expect_clean_cuts(events, split);
    const auto below = static_cast<std::size_t>(train * 999);
    EXPECT_GT(split.train_end, static_cast<EdgeId>(below));
    EXPECT_EQ(events.time[static_cast<std::size_t>(split.train_end) - 1], events.time[below]);
    EXPECT_GT(split.validation_end, split.train_end);
    EXPECT_LT(split.validation_end, 1000);
  }
  const EventGraph distinct = test::make_events(
      2,
      {{0, 1, 0}, {0, 1, 1}, {0, 1, 2}, {0, 1, 3}, {0, 1, 4}, {0, 1, 5}, {0, 1, 6}, {0, 1, 7}, {0, 1, 8}, {0, 1, 9}});
  EXPECT_EQ(split_by_shares(distinct, 0.7, 0.15), (TimeSplit{7, 8})) << "the quantiles are 6.3 and 7.65";
  EXPECT_EQ(split_by_shares(distinct, 0.7, 0.3), (TimeSplit{7, 10})) << "no test part was asked for";
  EXPECT_EQ(split_by_shares(distinct, 1, 0), (TimeSplit{10, 10}));
}

TEST(TimeSplit, EmptyPartsAndImpossibleSharesAreRefused) {
  const EventGraph tied = test::make_events(2, {{0, 1, 3}, {0, 1, 3}, {1, 0, 3}});
  EXPECT_THROW(split_by_shares(tied, 0.5, 0.25), InvalidRequest) << "all events have one time";
  EXPECT_EQ(split_by_shares(tied, 1, 0), (TimeSplit{3, 3}));
  EXPECT_THROW(split_by_shares(tied, 0.9, 0.2), InvalidRequest);
  EXPECT_THROW(split_by_shares(tied, -0.1, 0.2), InvalidRequest);
  EXPECT_THROW(split_by_shares(tied, std::nan(""), 0.2), InvalidRequest);
}

TEST(TimeSplit, TimesCutBeforeTheirEvents) {
  const EventGraph events = test::make_events(2, {{0, 1, 1}, {0, 1, 2}, {1, 0, 2}, {0, 1, 4}, {0, 1, 4}, {0, 1, 9}});
  EXPECT_EQ(split_by_times(events, 2, 4), (TimeSplit{1, 3}));
  EXPECT_EQ(split_by_times(events, 2.5, 4.5), (TimeSplit{3, 5}));
  EXPECT_EQ(split_by_times(events, -1, 100), (TimeSplit{0, 6}));
  EXPECT_THROW(split_by_times(events, 4, 2), InvalidRequest);
  EXPECT_THROW(split_by_times(events, std::nan(""), 2), InvalidRequest);
}

}  // namespace
}  // namespace strobe
