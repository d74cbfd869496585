// Ranges, flows, merged traces and differences, judged by a small reader of the format that knows nothing of the
// writer.
#include "results/trace/trace_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "models/tape/range_log.hpp"
#include "results/trace/trace.hpp"
#include "results/trace/trace_flows.hpp"
#include "tests/results/trace_reader.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

Span span_of(const char* name, Phase phase, Stream stream, double begin, double end, bool blocking = true) {
  return {name, phase, stream, Traffic::other, blocking, begin, end, {}, 0, 0, 0};
}

/// A rank that trains `epochs` epochs of a layer forward and backward; collectives have it wait as `late` says.
std::vector<Span> rank_of(int epochs, double forward, double backward, double late) {
  SpanRecorder spans;
  RangeLog log(spans);
  double at = 1;
  const auto step = [&](const char* name, Phase phase, Stream stream, double seconds) {
    spans.append(span_of(name, phase, stream, at, at + seconds));
    at += seconds;
  };
  for (int e = 0; e < epochs; ++e) {
    const Range epoch(&log, e == 0 ? "epoch 0" : "epoch 1");
    {
      const Range way(&log, "forward");
      const Range layer(&log, "layer 1");
      step("spmm", Phase::compute, Stream::compute, forward);
    }
    const Range way(&log, "backward");
    step("spmm", Phase::compute, Stream::compute, backward);
    step("all_reduce", Phase::wait, Stream::communicate, 2 - forward - backward - late);
    at = 1 + 3.0 * e + 2;
    step("all_reduce", Phase::communicate, Stream::communicate, 1);
  }
  std::vector<Span> all = spans.spans();
  for (const Span& range : log.as_spans()) all.push_back(range);
  return all;
}

std::vector<std::string> table_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(DifferenceTable, ListsTheGreatestAndSumsUpTheOthers) {
  const std::vector<TraceDifference> all = {{"epoch", "", 0.010, 0.025},
                                            {"spmm", "compute", 0.004, 0.010},
                                            {"dense", "compute", 0, 0.003},
                                            {"copy", "transfer", 0.002, 0.004},
                                            {"sum", "wait", 0.001, 0}};
  const auto has = [](const std::string& line, const std::vector<std::string>& words) {
    for (const std::string& word : words) EXPECT_NE(line.find(word), std::string::npos) << word << " in " << line;
  };
  const std::vector<std::string> lines = table_lines(difference_table(all, 2));
  ASSERT_GE(lines.size(), 4u);
  const std::size_t first = lines.size() - 4;  // the epoch, two differences, and the others
  has(lines[first], {"epoch", "10.000", "25.000", "15.000", "2.50"});
  has(lines[first + 1], {"spmm", "compute", "4.000", "10.000", "6.000", "2.50"});
  has(lines[first + 2], {"dense", "0.000", "3.000", "-"});
  EXPECT_EQ(lines[first + 2].find("inf"), std::string::npos) << "nothing is compared with nothing";
  has(lines[first + 3], {"2 others", "3.000", "4.000", "1.000", "1.33"});
  for (const std::size_t most : {4u, 5u, 9u}) {
    const std::vector<std::string> whole = table_lines(difference_table(all, most));
    EXPECT_EQ(whole.size(), first + 5);
    EXPECT_EQ(whole.back().find("others"), std::string::npos) << whole.back();
  }
}

class TraceFiles : public ::testing::Test {
 protected:
  TraceFiles() : folder_(fs::temp_directory_path() / ("strobe-trace-files-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~TraceFiles() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string write_trace(const std::string& name, const std::vector<std::vector<Span>>& ranks,
                          const char* clock) const {
    return write(name, trace_json("case/" + name, ranks, clock));
  }
  fs::path folder_;
};

TEST_F(TraceFiles, RangesNestAndFlowsConnect) {
  const std::vector<std::vector<Span>> ranks{rank_of(2, 0.5, 0.5, 0), rank_of(2, 0.5, 1.5, 0), rank_of(2, 0.2, 0.3, 0)};
  const Json trace = Json::parse(trace_json("c", ranks, "virtual"));
  const test::TraceReader reader(trace);
  EXPECT_TRUE(reader.complaints().empty()) << reader.complaints().front();
  const auto ranges = reader.ranges_of(2);
  std::vector<std::string> names;
  for (const auto& range : ranges) names.push_back(range.path);
  EXPECT_EQ(names,
            (std::vector<std::string>{"epoch 0", "epoch 0/forward", "epoch 0/forward/layer 1", "epoch 0/backward",
                                      "epoch 1", "epoch 1/forward", "epoch 1/forward/layer 1", "epoch 1/backward"}));
  // Rank 1 never waits, so it is what the others waited for: two flows from it in each epoch.
  ASSERT_EQ(reader.flows().size(), 4u);
  for (const auto& flow : reader.flows()) {
    EXPECT_EQ(flow.from_process, 2);
    EXPECT_NE(flow.to_process, 2);
    EXPECT_EQ(flow.from_slice, "all_reduce");
    EXPECT_EQ(flow.to_slice, "all_reduce");
  }
  std::map<std::string, int> named;
  for (const Json& event : trace["traceEvents"])
    if (event["ph"] == "X") ++named[event["name"]];
  EXPECT_EQ(named["wait for all_reduce"], 6);
  EXPECT_EQ(named["all_reduce"], 6);
}

TEST_F(TraceFiles, GroupsThatMeetApartGetNoFlows) {
  // Ranks 0 and 1 meet at 1 and at 5, ranks 2 and 3 at 3 and at 7: as many collectives, but not the same ones.
  std::vector<std::vector<Span>> ranks(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    for (const double at : {1.0, 5.0}) {
      const double begin = at + (rank < 2 ? 0 : 2);
      ranks[rank].push_back(span_of("all_reduce", Phase::communicate, Stream::communicate, begin, begin + 1));
    }
  }
  EXPECT_TRUE(trace_flows(ranks).empty());
  for (std::vector<Span>& spans : ranks) spans = ranks[0];
  EXPECT_EQ(trace_flows(ranks).size(), 6u);
  ranks[3].pop_back();
  EXPECT_TRUE(trace_flows(ranks).empty());
}

TEST_F(TraceFiles, RangesOfRandomProgramsNest) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RandomStream random(seed, random_purpose::partition);
    std::vector<std::vector<Span>> ranks;
    std::vector<std::string> opened;
    for (int rank = 0; rank < 2; ++rank) {
      SpanRecorder spans;
      RangeLog log(spans);
      double at = 0;
      int depth = 0;
      for (std::uint64_t i = 0; i < 200; ++i) {
        const std::uint64_t what = random.below(2 * i + 1000 * static_cast<std::uint64_t>(rank), 4);
        if (what == 0 && depth < 6) log.open("r"), ++depth;
        if (what == 1 && depth > 0) log.close(), --depth;
        if (what < 2) continue;
        const double seconds = 1e-6 * static_cast<double>(random.below(2 * i + 1, 5));  // some take no time
        const bool blocking = what == 2;
        spans.append(span_of("spmm", Phase::compute, Stream::compute, at, at + seconds, blocking));
        if (blocking) at += seconds;
      }
      for (; depth > 0; --depth) log.close();
      ranks.push_back(spans.spans());
      for (const Span& range : log.as_spans()) ranks.back().push_back(range);
    }
    const test::TraceReader reader(Json::parse(trace_json("c", ranks, "virtual")));
    EXPECT_TRUE(reader.complaints_of_ranges().empty())
        << "seed " << seed << ": " << reader.complaints_of_ranges().front();
  }
}

TEST_F(TraceFiles, MergedTracesKeepEverythingAndClashNowhere) {
  const std::vector<std::string> files{
      write_trace("a.json", {rank_of(2, 0.5, 0.5, 0), rank_of(2, 0.5, 1.5, 0)}, "wall"),
      write_trace("b.json", {rank_of(1, 0.25, 0.5, 0), rank_of(1, 0.5, 1, 0), rank_of(1, 0.5, 0.5, 0)}, "virtual"),
      write_trace("c.json", {rank_of(1, 0.25, 0.5, 0)}, "virtual")};
  const Json merged = merge_traces(files);
  const test::TraceReader reader(merged);
  EXPECT_TRUE(reader.complaints().empty()) << reader.complaints().front();
  EXPECT_EQ(reader.processes().size(), 2u + 3 + 1);
  std::set<std::string> names;
  std::map<int, std::string> in_order;  // as a viewer shows them
  for (const auto& [process, name] : reader.processes()) {
    EXPECT_TRUE(names.insert(name).second) << name;
    in_order[reader.sort_index(process)] = name;
  }
  std::vector<std::string> shown;
  for (const auto& [index, name] : in_order) shown.push_back(name);
  EXPECT_EQ(shown, (std::vector<std::string>{"1 wall rank 0", "2 virtual rank 0", "3 virtual rank 0", "1 wall rank 1",
                                             "2 virtual rank 1", "2 virtual rank 2"}));
  std::size_t events = 0, flows = 0;
  std::multiset<std::tuple<std::string, double, double>> before, after;
  const auto collect = [](const Json& trace, auto& slices) {
    for (const Json& event : trace["traceEvents"])
      if (event["ph"] == "X") slices.emplace(event["name"], event["ts"], event["dur"]);
  };
  for (const std::string& file : files) {
    const Json trace = read_trace(file);
    events += trace["traceEvents"].size();
    flows += test::TraceReader(trace).flows().size();
    collect(trace, before);
  }
  collect(merged, after);
  EXPECT_EQ(merged["traceEvents"].size(), events);
  EXPECT_EQ(reader.flows().size(), flows);
  EXPECT_EQ(before, after);
  ASSERT_EQ(merged["otherData"]["merged"].size(), 3u);
  EXPECT_EQ(merged["otherData"]["merged"][1]["case_id"], "case/b.json");
}

TEST_F(TraceFiles, TheDifferenceSaysWhereTimeWent) {
  // Per epoch and rank: A computes 0.5 forward and 0.5 backward, B 0.5 and 0.75 on the mean of its two ranks.
  const Json a = read_trace(write_trace("a.json", {rank_of(2, 0.5, 0.5, 0)}, "wall")),
             b = read_trace(write_trace("b.json", {rank_of(1, 0.5, 1, 0), rank_of(1, 0.5, 0.5, 0)}, "virtual"));
  const std::vector<TraceDifference> differences = compare_traces(a, b);
  std::map<std::string, std::pair<double, double>> found;
  for (const TraceDifference& d : differences) found[d.where] = {d.first, d.second};
  const std::map<std::string, std::pair<double, double>> wanted{{"epoch (blocking spans)", {3, 3}},
                                                                {"forward / layer 1 / spmm", {0.5, 0.5}},
                                                                {"backward / spmm", {0.5, 0.75}},
                                                                {"backward / wait for all_reduce", {1, 0.75}},
                                                                {"backward / all_reduce", {1, 1}}};
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto& [where, seconds] : wanted) {
    ASSERT_TRUE(found.count(where)) << where;
    EXPECT_NEAR(found[where].first, seconds.first, 1e-9) << where;
    EXPECT_NEAR(found[where].second, seconds.second, 1e-9) << where;
  }
  EXPECT_EQ(differences.front().where, "epoch (blocking spans)");
  for (std::size_t i = 2; i < differences.size(); ++i)
    EXPECT_GE(std::abs(differences[i - 1].second - differences[i - 1].first) + 1e-12,
              std::abs(differences[i].second - differences[i].first));
  const std::string table = difference_table(differences, 2);
  EXPECT_NE(table.find("2 others"), std::string::npos) << table;
  EXPECT_NE(table.find("250.000"), std::string::npos) << table;
}

TEST_F(TraceFiles, ForeignFilesAreRefusedByName) {
  for (const char* text : {"{}", "[]", "{\"traceEvents\": 3, \"otherData\": {}}", "{\"traceEvents\": []}", "x"})
    EXPECT_THROW(read_trace(write("x.json", text)), InvalidInput) << text;
  EXPECT_THROW(read_trace((folder_ / "nowhere.json").string()), SystemError);
  const Json without = read_trace(write("y.json", trace_json("c", {{}}, "wall")));
  EXPECT_THROW(compare_traces(without, without), InvalidInput);
  const std::string broken =
      write("z.json", R"({"otherData": {"time_source": "wall"}, "traceEvents": [{"ph": "X", "pid": "one"}]})");
  EXPECT_THROW(merge_traces({broken, broken}), InvalidInput);
  EXPECT_THROW(compare_traces(read_trace(broken), read_trace(broken)), InvalidInput);
}

}  // namespace
}  // namespace strobe
