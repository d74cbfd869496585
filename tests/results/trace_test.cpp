#include "results/trace/trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/fields.hpp"
#include "core/random.hpp"

namespace strobe {
namespace {

std::vector<std::vector<Span>> two_ranks() {
  std::vector<std::vector<Span>> ranks(2);
  ranks[0].push_back(
      {"spmm", Phase::compute, Stream::compute, Traffic::other, true, 5.0, 5.000001, {10, 20, 30}, 0, 0, 0});
  ranks[0].push_back({"all_to_all_v",
                      Phase::communicate,
                      Stream::communicate,
                      Traffic::redistribute,
                      true,
                      5.000001,
                      5.1234567894,
                      {},
                      64,
                      0,
                      2});
  ranks[1].push_back({"move \"in\"", Phase::transfer, Stream::copy, Traffic::other, false, 5.5, 6.0, {}, 0, 128, 0});
  return ranks;
}

TEST(Trace, CountsTheMemoryInUseWhereItChanges) {
  std::vector<std::vector<Span>> ranks = two_ranks();
  for (const std::uint64_t live : {4000u, 4000u, 9000u}) {
    ranks[0].push_back(ranks[0].front());
    ranks[0].back().live_bytes = live;
  }
  std::vector<std::uint64_t> counted;
  const Json trace = Json::parse(trace_json("chess/x#1", ranks, "virtual"));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "C") counted.push_back(event["args"]["live_bytes"].get<std::uint64_t>());
  }
  EXPECT_EQ(counted, (std::vector<std::uint64_t>{4000, 9000}));
}

TEST(Trace, IsValidAndHoldsEverySpan) {
  const Json trace = Json::parse(trace_json("chess/x#1", two_ranks(), "virtual"));
  EXPECT_EQ(trace["otherData"]["time_source"], "virtual");
  EXPECT_EQ(trace["otherData"]["case_id"], "chess/x#1");
  EXPECT_EQ(trace["otherData"]["origin_seconds"], 5.0);
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  std::map<std::string, Json> spans;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X")
      spans[event["name"]] = event;
    else if (event["name"] == "process_name")
      processes[event["pid"]] = event["args"]["name"];
    else if (event["name"] == "thread_name")
      threads[{event["pid"], event["tid"]}] = event["args"]["name"];
  }
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(processes, (std::map<int, std::string>{{1, "rank 0"}, {2, "rank 1"}}));
  EXPECT_EQ(threads.size(), 6u);
  EXPECT_EQ((threads[{2, 2}]), "communicate");
  EXPECT_EQ(spans["spmm"]["ts"], 0.0);
  EXPECT_EQ(spans["spmm"]["dur"], 1.0) << "microseconds";
  EXPECT_EQ(spans["spmm"]["args"]["flops"], 10.0);
  EXPECT_EQ(spans["spmm"]["args"]["read_bytes"], 20.0);
  EXPECT_EQ(spans["all_to_all_v"]["tid"], 2);
  EXPECT_EQ(spans["all_to_all_v"]["dur"], 123455.789) << "nanosecond digits";
  EXPECT_EQ(spans["all_to_all_v"]["args"]["sent_bytes"], 64);
  EXPECT_EQ(spans["all_to_all_v"]["args"]["traffic"], "redistribute");
  EXPECT_EQ(spans["move \"in\""]["pid"], 2);
  EXPECT_EQ(spans["move \"in\""]["args"]["transfer_bytes"], 128);
  EXPECT_EQ(spans["move \"in\""]["args"]["blocking"], false);
}

TEST(Trace, EqualSpansGiveEqualBytesAndTouchingSpansTouch) {
  EXPECT_EQ(trace_json("c", two_ranks(), "virtual"), trace_json("c", two_ranks(), "virtual"));
  const Json trace = Json::parse(trace_json("c", two_ranks(), "wall"));
  double end = -1, begin = -2;
  for (const Json& event : trace["traceEvents"]) {
    if (event["name"] == "spmm") end = event["ts"].get<double>() + event["dur"].get<double>();
    if (event["name"] == "all_to_all_v") begin = event["ts"].get<double>();
  }
  EXPECT_EQ(end, begin);
}

Span exchange(double begin, double end, const char* name = "all_to_all_v", bool blocking = false) {
  Span span;
  span.name = name;
  span.phase = Phase::communicate;
  span.stream = Stream::communicate;
  span.blocking = blocking;
  span.begin_seconds = begin;
  span.end_seconds = end;
  return span;
}

/// Spans of one thread that overlap without lying in each other, by looking at every pair; and the threads' names.
std::pair<int, std::set<std::string>> crossings(const Json& trace) {
  std::map<std::pair<int, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> by_thread;
  std::set<std::string> names;
  const auto nanoseconds = [](const Json& microseconds) { return std::llround(1000 * microseconds.get<double>()); };
  for (const Json& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") names.insert(event["args"]["name"].get<std::string>());
    if (event["ph"] != "X") continue;
    EXPECT_GT(event["pid"].get<int>(), 0) << "process 0 means something else to Perfetto";
    const std::int64_t begin = nanoseconds(event["ts"]);
    by_thread[{event["pid"], event["tid"]}].emplace_back(begin, begin + nanoseconds(event["dur"]));
  }
  int crossing = 0;
  for (const auto& [thread, spans] : by_thread) {
    for (const auto& a : spans) {
      for (const auto& b : spans) crossing += a.first < b.first && b.first < a.second && a.second < b.second;
    }
  }
  return {crossing, names};
}

TEST(Trace, ExchangesInFlightTogetherHaveThreadsOfTheirOwn) {
  // Three in flight from 3 to 4; what the rank waited for lies inside the first one; the fourth follows the first.
  const std::vector<Span> spans = {exchange(1, 4), exchange(2, 5), exchange(3, 6), exchange(3.5, 4, "wait", true),
                                   exchange(4, 7)};
  const Json trace = Json::parse(trace_json("c", {spans}, "wall"));
  const auto [crossing, names] = crossings(trace);
  EXPECT_EQ(crossing, 0);
  EXPECT_EQ(names, (std::set<std::string>{"compute", "copy", "communicate", "communicate 2", "communicate 3"}));
  std::vector<int> threads;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") threads.push_back(event["tid"]);
  }
  constexpr int first = static_cast<int>(Stream::communicate), second = first + stream_count,
                third = second + stream_count;
  EXPECT_EQ(threads, (std::vector<int>{first, second, third, first, first})) << "in the order of the spans";
}

TEST(Trace, TheHostHasALaneAsSoonAsItHasASpan) {
  Span span = exchange(1, 2);
  span.stream = Stream::host;
  EXPECT_EQ(crossings(Json::parse(trace_json("c", {{span}}, "wall"))).second,
            (std::set<std::string>{"compute", "copy", "communicate", "host"}));
}

TEST(Trace, FlowsBeginAndEndWhileBothRanksExchange) {
  // From 1 to 5 s, and from 3 to 4 s: the second rank came last, and the second that they share is cut into thirds.
  const Json trace =
      Json::parse(trace_json("c", {{exchange(1, 5, "halo", true)}, {exchange(3, 4, "halo", true)}}, "wall"));
  std::map<std::string, std::pair<int, double>> ends;
  for (const Json& event : trace["traceEvents"])
    if (event.value("cat", "") == "exchange") ends[event["ph"]] = {event["pid"], event["ts"]};
  EXPECT_EQ(ends, (std::map<std::string, std::pair<int, double>>{{"s", {2, 2333333.333}}, {"f", {1, 2666666.666}}}));
}

TEST(Trace, SpansOfAThreadAlwaysNest) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RandomStream random(seed, random_purpose::partition);
    std::vector<std::vector<Span>> ranks(2);
    for (std::uint64_t i = 0; i < 120; ++i) {
      const double begin = random.below(4 * i, 60);
      const double length = random.below(4 * i + 1, 9);  // some have none
      Span span = exchange(begin * 1e-6, (begin + length) * 1e-6);
      span.stream = static_cast<Stream>(random.below(4 * i + 2, stream_count));
      ranks[random.below(4 * i + 3, 2)].push_back(span);
    }
    const Json trace = Json::parse(trace_json("c", ranks, "virtual"));
    EXPECT_EQ(crossings(trace).first, 0) << "seed " << seed;
    EXPECT_EQ(std::count_if(trace["traceEvents"].begin(), trace["traceEvents"].end(),
                            [](const Json& event) { return event["ph"] == "X"; }),
              120);
  }
}

TEST(Trace, WithoutSpansIsStillATrace) {
  const Json trace = Json::parse(trace_json("c", {{}, {}, {}}, "wall"));
  EXPECT_EQ(trace["traceEvents"].size(), 3u * 5);
  EXPECT_TRUE(Json::parse(trace_json("c", {}, "wall"))["traceEvents"].empty());
}

}  // namespace
}  // namespace strobe
