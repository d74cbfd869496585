// Columns, packing, numbering, sorting and parallel parsing: everything between a line of text and an event graph.
#include "workloads/reading/events/event_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/storage/parallel.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;
using test::Threads;

struct Row {
  std::int64_t source, target;
  double time;
};

/// The promises of `finish`, computed with a map and the standard library's stable sort.
EventGraph judge(std::vector<Row> rows) {
  std::map<std::int64_t, VertexId> number;
  for (const Row& row : rows) number[row.source] = number[row.target] = 0;
  EventGraph graph;
  for (auto& [id, vertex] : number) {
    vertex = static_cast<VertexId>(graph.original_id.size());
    graph.original_id.push_back(id);
  }
  graph.vertices = static_cast<std::int64_t>(number.size());
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows[a].time < rows[b].time; });
  for (const std::size_t i : order) {
    graph.source.push_back(number[rows[i].source]);
    graph.target.push_back(number[rows[i].target]);
    graph.time.push_back(rows[i].time);
    graph.weight.push_back(static_cast<float>(i));
  }
  return graph;
}

EventGraph build(const std::vector<Row>& rows, const std::string& path) {
  EventBuilder builder;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    builder.add(rows[i].source, rows[i].target, rows[i].time);
    builder.add_weight(static_cast<float>(i));
    builder.add_label(static_cast<std::int8_t>(i % 100));
    for (std::size_t f = 0; f < 3; ++f) builder.add_feature(static_cast<float>(3 * i + f));
  }
  return builder.finish(path, "test");
}

void expect_equal(const EventGraph& graph, const EventGraph& expected) {
  EXPECT_EQ(graph.vertices, expected.vertices);
  EXPECT_TRUE(graph.original_id == expected.original_id);
  EXPECT_TRUE(graph.source == expected.source);
  EXPECT_TRUE(graph.target == expected.target);
  EXPECT_TRUE(graph.time == expected.time);
  EXPECT_TRUE(graph.weight == expected.weight) << "ties are not in the order of the rows";
  bool extras = graph.edge_feature_width == 3;
  for (std::size_t e = 0; e < graph.source.size() && extras; ++e) {
    const std::size_t row = graph.weight[e];
    extras = graph.event_label[e] == static_cast<std::int8_t>(row % 100);
    for (std::size_t f = 0; f < 3; ++f)
      extras = extras && graph.edge_features[3 * e + f] == static_cast<float>(3 * row + f);
  }
  EXPECT_TRUE(extras) << "labels or features left their event";
}

/// `count` rows; ids below `ids` times `spread`, times among `times` values.
std::vector<Row> random_rows(std::size_t count, std::uint64_t ids, std::int64_t spread, std::uint64_t times,
                             double scale) {
  const RandomStream random(11, 1);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back({static_cast<std::int64_t>(random.below(3 * i, ids)) * spread,
                    static_cast<std::int64_t>(random.below(3 * i + 1, ids)) * spread,
                    scale * static_cast<double>(random.below(3 * i + 2, times))});
  }
  return rows;
}

TEST(EventBuilder, EqualsTheJudgeForEveryKindOfIdAndTimeOnAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const std::string path = folder.write("source.txt", "bytes to hash");
  constexpr std::size_t count = 300'000;  // several blocks and buckets
  const std::vector<std::vector<Row>> inputs{
      random_rows(count, 5000, 1, 1'000'000, 1),                 // compact ids and times
      random_rows(count, 5000, 1, 1'000'000, 0.1),               // times with fractions
      random_rows(count, 5000, 1, 3, 1000),                      // few times: buckets of one time
      random_rows(count, 60'000, 999'983, 50'000, 1),            // sparse ids within 32 bits
      random_rows(count, 700, 13'000'000'000'000'000, 9999, 1),  // sparse ids beyond
      random_rows(count, 900, 1, 1000, 1e12),                    // whole times beyond 32 bits of distance
  };
  for (const std::vector<Row>& rows : inputs) {
    const EventGraph expected = judge(rows);
    for (const int count_of_threads : {1, 3}) {
      const Threads threads(count_of_threads);
      const EventGraph graph = build(rows, path);
      expect_equal(graph, expected);
      EXPECT_FALSE(graph.provenance.was_sorted);
      EXPECT_EQ(graph.provenance.rows, static_cast<std::int64_t>(count));
    }
  }
}

TEST(EventBuilder, SortedRowsStayAndSkewedTimesAreSorted) {
  const TemporaryFolder folder;
  const std::string path = folder.write("source.txt", "bytes to hash");
  std::vector<Row> rows = random_rows(300'000, 100, 1, 5'000'000, 1);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.time < b.time; });
  const EventGraph sorted = build(rows, path);
  expect_equal(sorted, judge(rows));
  EXPECT_TRUE(sorted.provenance.was_sorted);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].time = i % 10 != 0 ? 7 : rows[i].time;  // 90% have one time
  std::swap(rows.front(), rows.back());
  const EventGraph skewed = build(rows, path);
  expect_equal(skewed, judge(rows));
  EXPECT_FALSE(skewed.provenance.was_sorted);
}

TEST(EventBuilder, TimesOfTwoEventsAreExactAtTheBordersOfTheirForms) {
  const TemporaryFolder folder;
  const std::string path = folder.write("source.txt", "x");
  const auto check = [&](double first, double last) {
    EventBuilder builder;
    builder.add(0, 1, first);
    builder.add(0, 1, last);
    const EventGraph graph = builder.finish(path, "test");
    EXPECT_EQ(graph.time, (std::vector<double>{first, last}));
  };
  check(1.2e9, 1.3e9);
  check(-5, 4294967290.0);
  check(-5, 4294967291.0);  // a distance of 2^32
  check(0, 0.5);
  check(9007199254740992.0, 9007199254740994.0);  // whole, but sums would not be exact everywhere
}

TEST(EventBuilder, TimesThatNeedMoreThanFourBytesAreNoted) {
  const TemporaryFolder folder;
  const std::string path = folder.write("source.txt", "x");
  const auto notes = [&](double scale) {
    EventBuilder builder;
    for (int i = 0; i < 5000; ++i) builder.add(0, 1, i * scale);
    return builder.finish(path, "test").provenance.notes;
  };
  EXPECT_TRUE(notes(1).empty());
  EXPECT_TRUE(notes(0.25).empty());
  ASSERT_EQ(notes(0.1234567890123).size(), 1u);
  EXPECT_NE(notes(0.1234567890123)[0].find("bytes in memory instead of at most 4"), std::string::npos);
}

TEST(ParallelTasks, EveryTaskRunsOnceAndTheFirstFailureIsThrown) {
  for (const int count : {1, 4}) {
    const Threads threads(count);
    std::vector<std::atomic<int>> calls(1000);
    parallel_tasks(1000, [&](std::int64_t i) { ++calls[i]; });
    EXPECT_TRUE(std::all_of(calls.begin(), calls.end(), [](const std::atomic<int>& n) { return n == 1; }));
    try {
      parallel_tasks(1000, [](std::int64_t i) {
        if (i % 7 == 6) throw InvalidInput("f", static_cast<std::uint64_t>(i), 0, "");
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const InvalidInput& error) {
      EXPECT_EQ(error.line(), 6u);
    }
  }
}

TEST(EventBuilder, CountsLoopsAndDuplicates) {
  const TemporaryFolder folder;
  EventBuilder builder;
  for (const Row& row : std::vector<Row>{{1, 2, 5}, {3, 3, 1}, {1, 2, 5}, {1, 2, 6}, {2, 1, 5}, {1, 2, 5}, {3, 3, 1}})
    builder.add(row.source, row.target, row.time);
  const EventGraph graph = builder.finish(folder.write("x", "x"), "test");
  EXPECT_EQ(graph.provenance.self_loops, 2);
  EXPECT_EQ(graph.provenance.duplicates, 3);
}

TEST(EventBuilder, SomeRowsWithoutAWeightAreRefused) {
  const TemporaryFolder folder;
  EventBuilder builder, later;
  builder.add(0, 1, 0);
  builder.add_weight(1);
  later.add(0, 1, 1);
  builder.append(std::move(later));
  EXPECT_THROW(builder.finish(folder.write("x", "x"), "test"), InvalidInput);
}

TEST(Column, CopiesShareUntilOneIsChanged) {
  Column<int> a{1, 2, 3};
  Column<int> b = a;
  EXPECT_EQ(a.data(), b.data());
  b.edit()[1] = 9;
  EXPECT_EQ(a, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(b, (std::vector<int>{1, 9, 3}));
  const Column<int> moved = std::move(b);
  EXPECT_TRUE(b.empty());
  EXPECT_EQ(moved.size(), 3u);
  static const int fixed[] = {4, 5};
  Column<int> view(nullptr, fixed, 2);
  view.push_back(6);
  EXPECT_EQ(view, (std::vector<int>{4, 5, 6}));
  TimeColumn time(test::pack(std::vector<double>(300, 107)));
  ASSERT_TRUE(time.compact());
  const TimeColumn packed = time;
  time.push_back(200.5);
  EXPECT_EQ(time.size(), 301u);
  EXPECT_EQ(time.back(), 200.5);
  EXPECT_EQ(packed, std::vector<double>(300, 107)) << "a copy changed";
  EXPECT_EQ(std::upper_bound(time.begin(), time.end(), 107) - time.begin(), 300);
}

/// A SNAP file of `lines` rows, above one part of the parser.
std::string long_text(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i)
    text += std::to_string(i % 977) + " " + std::to_string(i % 1009) + " " + std::to_string(1'000'000 + i / 3) + "\n";
  return text;
}

constexpr int text_lines = 400'000;  // 6.7 MB, six parts

TEST(ParallelParsing, GivesTheSameGraphOnAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const std::string text = long_text(text_lines);
  const std::string plain = folder.write("plain.txt", text), packed = test::write_gzip(folder.file("p.gz"), text);
  const std::string crlf = [&] {
    std::string lines;
    for (const char c : text) lines += c == '\n' ? std::string("\r\n") : std::string(1, c);
    return folder.write("crlf.txt", lines + "\r\n\n");
  }();
  const EventGraph expected = [&] {
    const Threads threads(1);
    return read_events(plain, "snap");
  }();
  ASSERT_EQ(expected.events(), text_lines);
  for (const std::string& path : {plain, packed, crlf}) {
    for (const int count : {1, 2, 7}) {
      const Threads threads(count);
      const EventGraph graph = read_events(path, "snap");
      EXPECT_TRUE(graph.source == expected.source && graph.target == expected.target && graph.time == expected.time);
      EXPECT_EQ(graph.original_id, expected.original_id);
    }
  }
}

/// Line and column of the complaint about `text`.
std::pair<std::uint64_t, std::uint64_t> place(const TemporaryFolder& folder, const std::string& text) {
  try {
    read_events(folder.write("bad.txt", text), "snap");
  } catch (const InvalidInput& error) {
    return {error.line(), error.column()};
  }
  return {0, 0};
}

TEST(ParallelParsing, TheFirstComplaintOfTheFileIsThrownWithItsPlace) {
  const TemporaryFolder folder;
  const std::string text = long_text(text_lines);
  const auto damaged = [&](std::vector<int> lines, const std::string& line) {
    std::string result = text;
    std::sort(lines.rbegin(), lines.rend());
    for (const int number : lines) {  // from the back, so that earlier places stay
      std::size_t at = 0;
      for (int i = 1; i < number; ++i) at = result.find('\n', at) + 1;
      result.insert(at, line + "\n");
    }
    return result;
  };
  for (const int count : {1, 2, 5}) {
    const Threads threads(count);
    EXPECT_EQ(place(folder, damaged({5}, "1 x 3")), (std::pair<std::uint64_t, std::uint64_t>{5, 3}));
    EXPECT_EQ(place(folder, damaged({399'990}, "1 2 3z")), (std::pair<std::uint64_t, std::uint64_t>{399'990, 5}));
    EXPECT_EQ(place(folder, damaged({200'000, 300'000, 399'000}, "1 \x01 3")).first, 200'000u);
    EXPECT_EQ(place(folder, damaged({250'000, 250'001}, "")), (std::pair<std::uint64_t, std::uint64_t>{250'000, 1}))
        << "an empty line";
    EXPECT_EQ(place(folder, damaged({100'000}, std::string((1 << 20) + 5, '7'))).first, 100'000u)
        << "a line above 1 MiB";
  }
}

TEST(ParallelParsing, EmptyLinesAtThePartsEndAreSeen) {
  const TemporaryFolder folder;
  // Part ends fall somewhere into a long run of empty lines; only the run's begin counts.
  const std::string text = long_text(30'000), empty(3 << 20, '\n');
  for (const int count : {1, 4}) {
    const Threads threads(count);
    EXPECT_EQ(place(folder, text + empty + "1 2 3\n"), (std::pair<std::uint64_t, std::uint64_t>{30'001, 1}));
    EXPECT_EQ(read_events(folder.write("good.txt", text + empty), "snap").events(), 30'000);
  }
}

}  // namespace
}  // namespace strobe
