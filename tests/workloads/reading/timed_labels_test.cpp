// The step to which a label with a time belongs: rules, dropped steps, gaps; compared with lists by hand and a judge.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/events/vertex_data.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using Labels = std::map<std::pair<int, int>, int>;  // (step, vertex) to class
using test::any_note;
using test::TemporaryFolder;

Labels labels_of(const SnapshotGraph& graph) {
  Labels labels;
  for (std::size_t i = 0; i < graph.cell_label.size(); ++i) {
    const std::int64_t cell = i;
    if (graph.cell_label[i] >= 0)
      labels[{static_cast<int>(cell / graph.vertices), static_cast<int>(cell % graph.vertices)}] = graph.cell_label[i];
  }
  return labels;
}

Labels labels_of(const std::string& path, const std::string& options) {
  return labels_of(load_workload(path, Json::parse(options), 1));
}

/// Events at 0, 5, 12, 41, 44, 55 and labels of vertices 1 to 3 (dense ids 0 to 2), as TGL writes them.
std::string tgl_files(const TemporaryFolder& folder) {
  folder.write("labels.csv",
               ",node,time,label,ext_roll\n0,1,3,0,0\n1,1,12,0,0\n2,1,25,1,0\n3,1,33,1,0\n4,1,55,0,0\n5,2,44,1,0\n"
               "6,3,999,1,0\n");
  return folder.write("edges.csv",
                      ",src,dst,time,ext_roll\n0,1,2,0,0\n1,1,3,5,0\n2,2,3,12,0\n3,1,2,41,0\n4,1,3,44,0\n5,2,3,55,0\n");
}

TEST(LabelSteps, WithinTheirWindow) {
  const TemporaryFolder folder;
  const std::string path = tgl_files(folder);
  const Labels all = {{{0, 0}, 0}, {{1, 0}, 0}, {{2, 0}, 1}, {{3, 0}, 1}, {{4, 1}, 1}, {{5, 0}, 0}};
  EXPECT_EQ(labels_of(path, R"({"window": "10s"})"), all) << "999 lies after the last window";
  EXPECT_EQ(labels_of(path, R"({"window": "10s", "min_edges": 1})"),
            (Labels{{{0, 0}, 0}, {{1, 0}, 0}, {{2, 1}, 1}, {{3, 0}, 0}}))
      << "those of 25 and 33 are of dropped windows and leave the label of 12";
  EXPECT_EQ(labels_of(path, R"({"window": "10s", "partial": "drop"})"),
            (Labels{{{0, 0}, 0}, {{1, 0}, 0}, {{2, 0}, 1}, {{3, 0}, 1}, {{4, 1}, 1}}));
  EXPECT_EQ(labels_of(path, R"({"window_count": 1})"), (Labels{{{0, 0}, 0}, {{0, 1}, 1}}))
      << "the last slice is closed: it holds the label of 55, the newest";
  const SnapshotGraph graph = load_workload(path, Json::parse(R"({"window": "10s", "min_edges": 1})"), 1);
  EXPECT_TRUE(any_note(graph, "holds its time (within)"));
  EXPECT_TRUE(any_note(graph, "labels: 3 of 7 are left out, 2 of steps that were dropped, 1 after the last step"));
  const Json notes = inspect_workload(path, Json::parse(R"({"window": "10s", "partial": "drop"})"), 1)["notes"];
  EXPECT_NE(notes.dump().find("labels: 2 of 7 are left out, 1 of steps that were dropped, 1 after the last step"),
            std::string::npos)
      << notes;
}

TEST(LabelSteps, BeforeTheirTime) {
  const TemporaryFolder folder;
  const std::string path = tgl_files(folder);
  // Windows end at 10, 20, ... 60. The label of 3 has no step that ended, that of 999 lies after [60, 70).
  EXPECT_EQ(labels_of(path, R"({"window": "10s", "labels": "before"})"),
            (Labels{{{0, 0}, 0}, {{1, 0}, 1}, {{2, 0}, 1}, {{3, 1}, 1}, {{4, 0}, 0}}));
  // [20, 30) and [30, 40) are dropped: those of 33 and 44 come after them and belong nowhere.
  EXPECT_EQ(labels_of(path, R"({"window": "10s", "labels": "before", "min_edges": 1})"),
            (Labels{{{0, 0}, 0}, {{1, 0}, 1}, {{2, 0}, 0}}));
  EXPECT_EQ(labels_of(path, R"({"window": "10s", "labels": "before", "partial": "drop"})"),
            (Labels{{{0, 0}, 0}, {{1, 0}, 1}, {{2, 0}, 1}, {{3, 1}, 1}, {{4, 0}, 0}}));
  const SnapshotGraph graph = load_workload(path, Json::parse(R"({"window": "10s", "labels": "before"})"), 1);
  EXPECT_TRUE(any_note(graph, "at or before its time (before)"));
  EXPECT_TRUE(
      any_note(graph, "labels: 2 of 7 are left out, 1 before the end of the first step, 1 after the last step"));
  EXPECT_THROW(labels_of(path, R"({"window": "10s", "labels": "after"})"), InvalidRequest);
}

/// The last step must have ended: with lags and strides that is later than where the next one begins.
TEST(LabelSteps, OverlappingStepsEndLater) {
  const TemporaryFolder folder;
  const std::string path = tgl_files(folder);
  EXPECT_EQ(labels_of(path, R"({"window": "10s", "lags": 2, "labels": "before"})"),
            (Labels{{{0, 0}, 1}, {{1, 1}, 1}, {{2, 0}, 0}}))
      << "steps end at 30, 40, 50, 60";
  EXPECT_EQ(labels_of(path, R"({"window": "20s", "stride": "10s", "labels": "before"})"),
            (Labels{{{0, 0}, 1}, {{1, 0}, 1}, {{2, 1}, 1}, {{3, 0}, 0}}))
      << "steps end at 20, 30, ... 70";
  EXPECT_EQ(labels_of(path, R"({"window": "20s", "stride": "10s"})"),
            (Labels{{{0, 0}, 0}, {{1, 0}, 0}, {{2, 0}, 1}, {{3, 0}, 1}, {{4, 1}, 1}, {{5, 0}, 0}}));
}

/// TGB: the label of a year is what the year brings, so it is read from the year before, also after a conversion.
TEST(LabelSteps, OfTgbComeAfterTheirStep) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("trade_edgelist.csv", "year,nation,trading nation,value\n2001,a,b,1\n2002,b,a,1\n2004,a,b,1\n");
  folder.write("trade_node_labels.csv",
               "year,nation,trading nation,weight\n2001,a,b,1\n2002,a,b,1\n2003,a,a,1\n2004,a,b,0.4\n2004,a,a,0.6\n"
               "2005,b,a,1\n2006,b,b,1\n");
  const Labels before = {{{0, 0}, 1}, {{1, 0}, 0}, {{2, 0}, 0}, {{3, 1}, 0}};
  EXPECT_EQ(labels_of(path, "{}"), before) << "of 2001 no step has ended; 2006 lies a step after the last";
  EXPECT_EQ(labels_of(path, R"({"labels": "before"})"), before);
  EXPECT_EQ(labels_of(path, R"({"labels": "within"})"), (Labels{{{0, 0}, 1}, {{1, 0}, 1}, {{2, 0}, 0}, {{3, 0}, 0}}));
  write_binary_graph(read_events(path), folder.file("trade.strobe"));
  EXPECT_TRUE(read_events(folder.file("trade.strobe")).labels_before);
  EXPECT_EQ(labels_of(folder.file("trade.strobe"), "{}"), before);
  EXPECT_EQ(complete_workload_parameters(path, Json::object(), "").count("labels"), 0u) << "ids of cases stay";
}

/// A label of midnight is that of the day that begins, whether the first event lies at midnight or after it.
TEST(LabelSteps, OneEventDoesNotDecide) {
  for (const char* first : {"0,u,x,1\n", ""}) {
    const TemporaryFolder folder;
    std::string edges = std::string("ts,user_id,genre,weight\n") + first, labels = "ts,user,genre,weight\n";
    for (int day = 0; day < 5; ++day) {
      const std::string genre = day % 2 == 0 ? "x" : "y";
      edges += std::to_string(day * 86400 + 233) + ",u," + genre + ",1\n";
      labels += std::to_string(day * 86400) + ",u," + genre + ",1\n";
    }
    const std::string path = folder.write("days_edgelist.csv", edges);
    folder.write("days_node_labels.csv", labels);
    // From 0 on, step d ends where day d + 1 begins and has its label. From 233 on, step d ends 233 s into day d + 1,
    // so only the label of the day after that comes later.
    const int shift = *first != 0 ? 1 : 2;
    Labels expected;
    for (int step = 0; step + shift < 5; ++step) expected[{step, 0}] = (step + shift) % 2 == 0 ? 0 : 1;
    EXPECT_EQ(labels_of(path, R"({"window": "1d"})"), expected) << first;
  }
}

/// Twelve events and twelve labels at random times, some before and after the events.
EventGraph random_labelled(std::mt19937& random) {
  std::vector<std::tuple<int, int, double>> rows;
  double time = 0;
  for (int i = 0; i < 12; ++i) {
    time += static_cast<double>(random() % 9);
    rows.emplace_back(0, 1 + i % 3, time);
  }
  EventGraph events = test::make_events(4, rows);
  for (int i = 0; i < 12; ++i) {
    events.timed_labels.vertex.push_back(static_cast<VertexId>(random() % 4));
    events.timed_labels.time.push_back(static_cast<double>(random() % 90) - 10);
    events.timed_labels.label.push_back(i);
    events.timed_labels.share.push_back(1);
  }
  sort_by_time(events.timed_labels);
  return events;
}

/// The labels of steps of length 6 by the rule, asked for every label and step: the newest, of one time the first.
Labels judged_labels(const TimedLabels& labels, const std::vector<double>& step_begin, bool before) {
  Labels judged;
  std::map<std::pair<int, int>, double> newest;
  for (std::size_t i = 0; i < labels.time.size(); ++i) {
    for (std::size_t step = 0; step < step_begin.size(); ++step) {
      const double from = step_begin[step] + (before ? 6 : 0), t = labels.time[i];
      const std::pair<int, int> cell{static_cast<int>(step), labels.vertex[i]};
      if (t < from || t >= from + 6 || (newest.contains(cell) && newest[cell] >= t)) continue;
      newest[cell] = t;
      judged[cell] = labels.label[i];
    }
  }
  return judged;
}

TEST(LabelSteps, AgreeWithTheRuleOnRandomGraphs) {
  std::mt19937 random(3);
  std::size_t judged = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const EventGraph events = random_labelled(random);
    const Windowing windowing{.duration = "6", .partial = trial % 2 == 0 ? "keep" : "drop", .min_edges = trial % 3};
    if (events.time.back() < 12 && windowing.partial == "drop") continue;  // every window may be partial
    for (const bool before : {false, true}) {
      StepCut kept;
      SnapshotGraph graph;
      try {
        graph = make_snapshots(events, windowing, "in", kept);
      } catch (const InvalidRequest&) {
        continue;  // no step has that many edges
      }
      set_cell_labels(events, kept, before ? "before" : "within", graph);
      const Labels expected = judged_labels(events.timed_labels, graph.step_begin, before);
      EXPECT_EQ(labels_of(graph), expected) << trial << (before ? " before" : " within");
      judged += expected.size();
    }
  }
  EXPECT_GT(judged, 1000u);
}

}  // namespace
}  // namespace strobe
