#include "results/trace.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "core/fields.hpp"

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
  EXPECT_EQ(processes, (std::map<int, std::string>{{0, "rank 0"}, {1, "rank 1"}}));
  EXPECT_EQ(threads.size(), 6u);
  EXPECT_EQ((threads[{1, 2}]), "communicate");
  EXPECT_EQ(spans["spmm"]["ts"], 0.0);
  EXPECT_EQ(spans["spmm"]["dur"], 1.0) << "microseconds";
  EXPECT_EQ(spans["spmm"]["args"]["flops"], 10.0);
  EXPECT_EQ(spans["spmm"]["args"]["read_bytes"], 20.0);
  EXPECT_EQ(spans["all_to_all_v"]["tid"], 2);
  EXPECT_EQ(spans["all_to_all_v"]["dur"], 123455.789) << "nanosecond digits";
  EXPECT_EQ(spans["all_to_all_v"]["args"]["sent_bytes"], 64);
  EXPECT_EQ(spans["all_to_all_v"]["args"]["traffic"], "redistribute");
  EXPECT_EQ(spans["move \"in\""]["pid"], 1);
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

TEST(Trace, WithoutSpansIsStillATrace) {
  const Json trace = Json::parse(trace_json("c", {{}, {}, {}}, "wall"));
  EXPECT_EQ(trace["traceEvents"].size(), 3u * 5);
  EXPECT_TRUE(Json::parse(trace_json("c", {}, "wall"))["traceEvents"].empty());
}

}  // namespace
}  // namespace strobe
