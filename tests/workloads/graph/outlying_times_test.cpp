// Few events far from all others: that they are found at either end, noted, and left out as if their rows were not
// there.
#include "workloads/graph/outlying_times.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/graph/windows.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;

constexpr double in_2008 = 1.2e9;

EventGraph stream_at(const std::vector<double>& times) {
  std::vector<std::tuple<int, int, double>> rows;
  for (const double time : times) rows.emplace_back(0, 1, time);
  return test::make_events(2, rows);
}

std::vector<double> times(int before, double first, int others, double step, int after, double last) {
  std::vector<double> all(before, first);
  for (int i = 0; i < others; ++i) all.push_back(in_2008 + step * i);
  all.insert(all.end(), static_cast<std::size_t>(after), last);
  return all;
}

TEST(OutlyingTimes, AreFoundAtEitherEnd) {
  const auto found = [](const std::vector<double>& all) {
    const OutlyingTimes outlying = find_outlying_times(stream_at(all));
    return std::pair(outlying.before, outlying.after);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(found(times(3, 0, 180, 3600, 0, 0)), Pair(3, 0));
  EXPECT_EQ(found(times(0, 0, 180, 3600, 2, 4294967295.0)), Pair(0, 2));
  EXPECT_EQ(found(times(3, 0, 180, 3600, 2, 4294967295.0)), Pair(3, 2));
  EXPECT_EQ(found(times(1, -1, 9, 3600, 0, 0)), Pair(1, 0));
  EXPECT_EQ(found(times(4, 0, 40, 0, 0, 0)), Pair(4, 0));  // all others at one instant
  EXPECT_EQ(found(times(0, 0, 180, 3600, 0, 0)), Pair(0, 0));
  EXPECT_EQ(found(times(60, 0, 100, 3600, 0, 0)), Pair(0, 0));                        // more than a quarter
  EXPECT_EQ(found(times(3, in_2008 - 4 * 179 * 3600, 180, 3600, 0, 0)), Pair(0, 0));  // not far enough
  EXPECT_EQ(found({0, 1e9, 1e9 + 1}), Pair(0, 0));                                    // too few to tell
  EventGraph steps = stream_at({0, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  steps.stepped = true;
  EXPECT_FALSE(find_outlying_times(steps).any());
}

TEST(OutlyingTimes, AreNotedWithTheStepsThatTheyEmpty) {
  EventGraph events = stream_at(times(3, 0, 180, 3600, 0, 0));
  settle_outlying_times("keep", events);
  settle_outlying_times("keep", events);  // as of a binary graph that was made of the file
  ASSERT_EQ(events.provenance.notes.size(), 1u);
  EXPECT_EQ(events.provenance.notes[0], "3 events lie 38 years before the others; outliers=drop leaves them out");
  EXPECT_TRUE(
      any_note(make_snapshots(events, {.count = 20}),
               "3 events lie 38 years before the others, so 18 of 20 steps are empty; outliers=drop leaves them"));
  EXPECT_TRUE(any_note(make_snapshots(events, {.count = 20, .min_edges = 1}), "the others; outliers=drop"));
  const EventGraph both = [] {
    EventGraph graph = stream_at(times(1, 0, 180, 3600, 2, 4e9));
    settle_outlying_times("keep", graph);
    return graph;
  }();
  EXPECT_TRUE(any_note(both, "1 event lies 38 years before the others and 2 events lie 89 years after the others; "));
}

TEST(OutlyingTimes, AreLeftOutLikeMissingRows) {
  const TemporaryFolder folder;
  std::string head = "source,target,time,weight\n", unknown = "900,901,0,1\n901,5,0,2.1\n", rows;
  for (int i = 0; i < 40; ++i) rows += fmt::format("{},{},{},{}.1\n", i % 9, i % 7 + 3, 1200000000 + 60 * i, i);
  const std::string far = "7,902,4294967295,1\n";
  const std::string path = folder.write("all.csv", head + unknown + rows + far),
                    plain = folder.write("plain.csv", head + rows);
  const EventGraph dropped = *load_events(path, {{"outliers", "drop"}}), expected = *load_events(plain, Json::object());
  EXPECT_EQ(dropped.vertices, expected.vertices);
  EXPECT_EQ(dropped.source, expected.source);
  EXPECT_EQ(dropped.target, expected.target);
  EXPECT_TRUE(dropped.time == expected.time);
  EXPECT_EQ(dropped.weight, expected.weight);
  EXPECT_EQ(dropped.exact_weight, expected.exact_weight);
  EXPECT_EQ(dropped.original_id, expected.original_id);
  EXPECT_TRUE(any_note(dropped, "were left out (outliers=drop)"));
  EXPECT_TRUE(any_note(*load_events(path, Json::object()), "outliers=drop leaves them out"));
  EXPECT_TRUE(any_note(*load_events(plain, {{"outliers", "drop"}}), "nothing was left out"));
  const SnapshotGraph steps = load_workload(path, {{"outliers", "drop"}, {"weights", "file"}}, 1);
  const SnapshotGraph judged = load_workload(plain, {{"weights", "file"}}, 1);
  EXPECT_EQ(steps.features, judged.features);
  EXPECT_EQ(steps.exact_features, judged.exact_features);
  EXPECT_EQ(complete_workload_parameters(path, {{"outliers", "drop"}}, "")["outliers"], "drop");
  EXPECT_FALSE(complete_workload_parameters(path, Json::object(), "").contains("outliers"));
}

TEST(OutlyingTimes, AreTheCauseOfTooManySteps) {
  EventGraph events = stream_at(times(3, 0, 180, 3600, 0, 0));
  try {
    make_snapshots(events, {.duration = "10ms"});
    FAIL() << "too many steps were made";
  } catch (const InvalidRequest& error) {
    EXPECT_NE(std::string(error.what()).find("3 events lie 38 years before the others"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace strobe
