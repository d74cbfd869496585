// Splits by time against numpy.quantile, whose values TGN, DyGLib and TGB compare times with.
#include "workloads/continuous/time_split.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

struct NumpySplit {
  std::uint32_t seed;
  int events;
  bool ties;
  double train, validation;
  EdgeId train_end, validation_end;
};

/// Counted by (t <= q).sum() with q = numpy.quantile(t, [train, train + validation]) of NumPy 2.4.6, t being `times`.
const NumpySplit numpy_splits[] = {
    {1, 1001, false, 0.5, 0.25, 501, 751},    {2, 170, false, 0.6, 0.2, 102, 136},
    {3, 190, true, 0.7, 0.1, 133, 152},       {4, 4321, false, 0.625, 0.125, 2701, 3241},
    {5, 1000, false, 0.1, 0.01, 100, 110},    {6, 11, true, 0.333, 0.333, 4, 7},
    {7, 997, false, 0.8, 0.1, 797, 897},      {8, 101, false, 0.7, 0.15, 71, 86},
    {9, 4321, true, 0.5, 0.25, 2162, 3241},   {10, 11, false, 0.6, 0.2, 7, 9},
    {11, 41, false, 0.7, 0.1, 29, 33},        {12, 20, true, 0.625, 0.125, 12, 15},
    {13, 190, false, 0.1, 0.01, 19, 21},      {14, 997, false, 0.333, 0.333, 332, 664},
    {15, 101, true, 0.8, 0.1, 82, 91},        {16, 201, false, 0.7, 0.15, 141, 171},
    {17, 1000, false, 0.5, 0.25, 500, 750},   {19, 1001, false, 0.7, 0.1, 701, 801},
    {20, 101, false, 0.625, 0.125, 63, 76},   {22, 101, false, 0.333, 0.333, 34, 67},
    {23, 201, false, 0.8, 0.1, 161, 181},     {24, 170, true, 0.7, 0.15, 122, 144},
    {25, 41, false, 0.5, 0.25, 21, 31},       {26, 201, false, 0.6, 0.2, 121, 161},
    {27, 41, true, 0.7, 0.1, 30, 34},         {28, 20, false, 0.625, 0.125, 12, 15},
    {30, 1001, true, 0.333, 0.333, 338, 667}, {31, 1001, false, 0.8, 0.1, 801, 901},
    {32, 997, false, 0.7, 0.15, 698, 847},    {33, 41, true, 0.5, 0.25, 23, 31},
    {34, 41, false, 0.6, 0.2, 25, 33},        {35, 11, false, 0.7, 0.1, 8, 9},
    {36, 11, true, 0.625, 0.125, 7, 8},       {37, 101, false, 0.1, 0.01, 11, 12},
    {38, 101, false, 0.333, 0.333, 34, 67},   {40, 41, false, 0.7, 0.15, 29, 35},
    {41, 170, false, 0.5, 0.25, 85, 127},     {42, 190, true, 0.6, 0.2, 115, 152},
    {43, 101, false, 0.7, 0.1, 71, 81},       {44, 1000, false, 0.625, 0.125, 625, 750},
    {45, 4321, true, 0.1, 0.01, 434, 483},    {46, 4321, false, 0.333, 0.333, 1439, 2878},
    {47, 101, false, 0.8, 0.1, 81, 91},       {48, 41, true, 0.7, 0.15, 30, 36},
};

/// Seconds of a recent year, a tenth apart or more; with ties half of the events have the time of the one before.
std::vector<double> times(std::uint32_t seed, int count, bool ties) {
  std::vector<double> all;
  std::uint32_t x = seed, ticks = 0;
  for (int e = 0; e < count; ++e) {
    all.push_back(ticks * 0.1 + 1.2e9);
    x = x * 1664525u + 1013904223u;
    const std::uint32_t step = x >> 29;
    ticks += ties ? step / 4 : 1 + step;
  }
  return all;
}

EventGraph events_at(const std::vector<double>& times) {
  std::vector<std::tuple<int, int, double>> rows;
  for (const double time : times) rows.emplace_back(0, 1, time);
  return test::make_events(2, rows);
}

TEST(TimeSplit, CutsWhereNumpysQuantilesDo) {
  int beside_the_share = 0;
  for (const NumpySplit& numpy : numpy_splits) {
    const EventGraph events = events_at(times(numpy.seed, numpy.events, numpy.ties));
    const TimeSplit split = split_by_shares(events, numpy.train, numpy.validation);
    EXPECT_EQ(split, (TimeSplit{numpy.train_end, numpy.validation_end})) << "seed " << numpy.seed;
    beside_the_share += split.train_end != std::llround(numpy.train * numpy.events) ? 1 : 0;
  }
  EXPECT_GT(beside_the_share, 10) << "a cut after that number of events is another one";
}

/// The definition, for every share of a hundredth: the quantile lies between the events around (n - 1) q.
TEST(TimeSplit, TheEventsBeforeACutAreThoseUpToTheQuantile) {
  for (const int count : {2, 3, 10, 64, 101, 190}) {
    for (const bool ties : {false, true}) {
      const std::vector<double> all = times(static_cast<std::uint32_t>(count), count, ties);
      const EventGraph events = events_at(all);
      for (int percent = 1; percent < 100; ++percent) {
        const int place = percent * (count - 1) / 100;  // rounded down, in whole numbers
        const double low = all[place];
        const auto wanted = std::upper_bound(all.begin(), all.end(), low) - all.begin();
        // A product that is whole may be a rounding below it: then NumPy's quantile is below the event, too.
        if (percent * (count - 1) % 100 == 0 || wanted == count) continue;
        EXPECT_EQ(split_by_shares(events, percent / 100.0, 0).train_end, wanted) << count << " " << percent;
      }
    }
  }
}

TEST(TimeSplit, ASumOfSharesIsTheIntendedShare) {
  std::vector<double> all(11);
  for (std::size_t e = 0; e < all.size(); ++e) all[e] = static_cast<double>(e);
  // 0.7 + 0.1 is a rounding below 0.8, whose quantile is the ninth event's time.
  EXPECT_EQ(split_by_shares(events_at(all), 0.7, 0.1), (TimeSplit{8, 9}));
  EXPECT_EQ(split_by_shares(events_at(all), 0.8, 0), (TimeSplit{9, 9}));
}

TEST(TimeSplit, AShareOfAWholePlaceTakesItsEvent) {
  // 0.29 * 100 is a rounding below 29. At times as large as these, the quantile is the time of event 29 all the same.
  std::vector<double> all(101);
  for (std::size_t e = 0; e < all.size(); ++e) all[e] = 1e9 + static_cast<double>(e);
  EXPECT_EQ(split_by_shares(events_at(all), 0.29, 0), (TimeSplit{30, 30}));
}

TEST(TimeSplit, SharesThatAreNoSharesAreRefused) {
  const EventGraph events = events_at({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_THROW(split_by_shares(events, -0.1, 0.5), InvalidRequest);
  EXPECT_THROW(split_by_shares(events, 0.5, -0.1), InvalidRequest);
  EXPECT_THROW(split_by_shares(events, 0.7, 0.4), InvalidRequest) << "more than 1 together";
  EXPECT_THROW(split_by_shares(events, NAN, 0.1), InvalidRequest);
  // All for training: the quantile is the last event's time, and nothing is left for the others.
  EXPECT_EQ(split_by_shares(events, 1, 0), (TimeSplit{11, 11}));
  EXPECT_EQ(split_by_shares(events, 0, 1), (TimeSplit{0, 11}));
}

TEST(TimeSplit, APartWithAShareHasEvents) {
  // All at one time lie before every cut, so only a part that comes first can have them.
  const EventGraph same = events_at({1, 1, 1});
  EXPECT_THROW(split_by_shares(same, 0.5, 0.25), InvalidRequest) << "validation would be empty";
  EXPECT_THROW(split_by_shares(same, 0.5, 0), InvalidRequest) << "the test would be empty";
  EXPECT_EQ(split_by_shares(same, 1, 0), (TimeSplit{3, 3}));
  EXPECT_THROW(split_by_shares(events_at({}), 1, 0), InvalidRequest) << "training would be empty";
}

TEST(TimeSplit, ByTimesIncludesNothingOfTheBorderAndWantsThemInOrder) {
  const EventGraph events = events_at({0, 1, 2, 3});
  EXPECT_EQ(split_by_times(events, 1, 3), (TimeSplit{1, 3}));
  EXPECT_EQ(split_by_times(events, 2, 2), (TimeSplit{2, 2})) << "no validation";
  EXPECT_THROW(split_by_times(events, 3, 1), InvalidRequest);
  EXPECT_THROW(split_by_times(events, NAN, 1), InvalidRequest);
}

}  // namespace
}  // namespace strobe
