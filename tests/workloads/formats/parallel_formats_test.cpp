// Formats with more data per line than an event read files of several parts exactly, on any number of threads. Names
// are numbered by their first appearance in the file, rows of feature files stay with their events, complaints name the
// first bad line. Expected values come from the rule that made the file, not from a reader.
#include <gtest/gtest.h>

#include <map>

#include "core/errors.hpp"
#include "tests/workloads/reading/npy_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/storage/parallel.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;
using test::Threads;

constexpr int lines = 200'000;  // 3 to 6 MB, several parts

/// A file of `header` and line(i) for every i.
template <class Line>
std::string text_of(const std::string& header, Line&& line) {
  std::string text = header;
  for (int i = 0; i < lines; ++i) text += line(i) + "\n";
  return text;
}

std::string number(std::int64_t i) { return std::to_string(i); }

/// A source that appears late and in no order.
std::int64_t source_of(std::int64_t i) { return i * 7919 % (i / 40 + 10); }
std::int64_t target_of(std::int64_t i) { return i * 104729 % (i / 20 + 7); }

/// Numbers by first appearance.
struct FirstSeen {
  std::map<std::string, std::int64_t> number;
  std::int64_t of(const std::string& name) {
    return number.try_emplace(name, static_cast<std::int64_t>(number.size())).first->second;
  }
};

std::int64_t original(const EventGraph& graph, VertexId v) { return graph.original_id[v]; }

/// Names `n0`, `n1`, ... of the sources and targets of a file with them in `text`, at one and at three threads.
void expect_names_by_first_appearance(const std::string& name, const std::string& text) {
  const TemporaryFolder folder;
  const std::string path = folder.write(name, text);
  for (const int count : {1, 3}) {
    const Threads threads(count);
    const EventGraph graph = read_events(path);
    ASSERT_EQ(graph.events(), lines);
    FirstSeen names;
    std::int64_t wrong = 0, loops = 0;
    for (int i = 0; i < lines; ++i) {
      const std::size_t e = i;
      const std::int64_t source = names.of("n" + number(source_of(i))), target = names.of("n" + number(target_of(i)));
      wrong += original(graph, graph.source[e]) != source || original(graph, graph.target[e]) != target;
      loops += source == target;
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(loops, 0);
    EXPECT_EQ(graph.provenance.self_loops, loops);
    EXPECT_EQ(graph.vertices, static_cast<std::int64_t>(names.number.size()));
  }
}

TEST(ParallelFormats, TgbNamesAreNumberedByFirstAppearance) {
  expect_names_by_first_appearance("a.csv", text_of("ts,src,dst\n", [](int i) {
                                     return number(i / 3) + ",n" + number(source_of(i)) + ",n" + number(target_of(i));
                                   }));
}

TEST(ParallelFormats, CsvNamesAreNumberedByFirstAppearance) {
  expect_names_by_first_appearance("a.csv", text_of("source,target,time\n", [](int i) {
                                     return "n" + number(source_of(i)) + ",n" + number(target_of(i)) + "," +
                                            number(i / 3);
                                   }));
}

TEST(ParallelFormats, TgbSidesAndClassesAreNumberedApart) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x_edgelist.csv", text_of("ts,user,genre,weight\n", [](int i) {
                                          return number(i) + ",u" + number(source_of(i)) + ",g" + number(target_of(i)) +
                                                 "," + number(i % 9) + ".5";
                                        }));
  folder.write("x_node_labels.csv", text_of("ts,user,genre,weight\n", [](int i) {
                 return number(i) + ",u" + number(source_of(i)) + ",g" + number(target_of(i) + 3) + ",0.25";
               }));
  FirstSeen users, genres;
  std::vector<std::int64_t> user(lines), genre(lines), label(lines);
  for (std::size_t i = 0; i < lines; ++i) {
    user[i] = users.of("u" + number(source_of(static_cast<std::int64_t>(i))));
    genre[i] = genres.of("g" + number(target_of(static_cast<std::int64_t>(i))));
  }
  for (std::size_t i = 0; i < lines; ++i)
    label[i] = genres.of("g" + number(target_of(static_cast<std::int64_t>(i)) + 3));
  for (const int count : {1, 3}) {
    const Threads threads(count);
    const EventGraph graph = read_events(path);
    ASSERT_EQ(graph.events(), lines);
    ASSERT_EQ(graph.timed_labels.label.size(), static_cast<std::size_t>(lines));
    const auto first_genre = static_cast<VertexId>(users.number.size());
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < lines; ++i) {
      wrong += graph.source[i] != user[i] || graph.target[i] - first_genre != genre[i];
      wrong += graph.weight[i] != static_cast<float>(i % 9) + 0.5f;
      wrong += graph.timed_labels.label[i] != label[i] || graph.timed_labels.vertex[i] != user[i];
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(ParallelFormats, TgnRowsKeepTheirFeatures) {
  const TemporaryFolder folder;
  const auto row_of = [](int i) { return (i * 31 + 5) % lines; };  // a permutation
  const std::string path = folder.write("ml_x.csv", text_of(",u,i,ts,label,idx\n", [&](int i) {
                                          return number(i) + "," + number(source_of(i)) + "," + number(target_of(i)) +
                                                 "," + number(lines - i) + ",0," + number(row_of(i));
                                        }));
  std::vector<float> features(lines);
  for (std::size_t i = 0; i < lines; ++i) features[i] = static_cast<float>(i) * 0.5f;
  folder.write("ml_x.npy", test::npy<float>("<f4", "(200000, 1)", features));
  for (const int count : {1, 3}) {
    const Threads threads(count);
    const EventGraph graph = read_events(path);
    ASSERT_EQ(graph.edge_features.size(), static_cast<std::size_t>(lines));
    std::int64_t wrong = 0;
    for (int i = 0; i < lines; ++i) {  // times fall, so the last line is the first event
      const std::size_t e = lines - 1 - i;
      wrong += graph.edge_features[e] != static_cast<float>(row_of(i)) * 0.5f;
      wrong += original(graph, graph.source[e]) != source_of(i);
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(ParallelFormats, TglCountsRollsAndKeepsLabelsInOrder) {
  const TemporaryFolder folder;
  const std::string path = folder.write("edges.csv", text_of(",src,dst,time,ext_roll\n", [](int i) {
                                          return number(i) + "," + number(source_of(i)) + "," + number(target_of(i)) +
                                                 "," + number(i) + "," +
                                                 (i < 100    ? "0"
                                                  : i < 1000 ? "1"
                                                             : "2");
                                        }));
  folder.write("labels.csv", text_of(",node,time,label,ext_roll\n", [](int i) {
                 return number(i) + "," + number(source_of(i)) + ",5," + number(i) + ",0";
               }));
  for (const int count : {1, 3}) {
    const Threads threads(count);
    const EventGraph graph = read_events(path);
    EXPECT_EQ(graph.provenance.notes.front(), "ext_roll: 100 train, 900 validation, 199000 test events");
    ASSERT_EQ(graph.timed_labels.label.size(), static_cast<std::size_t>(lines));
    for (std::size_t i = 0; i < lines; ++i) ASSERT_EQ(graph.timed_labels.label[i], static_cast<std::int32_t>(i));
  }
}

TEST(ParallelFormats, TheFirstBadLineIsNamed) {
  const TemporaryFolder folder;
  const auto blanks = [](int i) { return number(20 * i) + " " + number(i % 50) + " " + number(i % 70) + "      "; };
  const auto commas = [](int i) { return number(i) + "," + number(i % 50) + "," + number(i % 70); };
  const std::map<std::string, std::string> good_ends{
      {"sociopatterns", ""}, {"tgb", ",1.5"}, {"tgl", ",7,0"}, {"tgn", ",7,0,1"}};
  const std::map<std::string, std::string> headers{{"sociopatterns", "# t i j\n"},
                                                   {"tgb", "ts,src,dst,weight\n"},
                                                   {"tgl", ",src,dst,time,ext_roll\n"},
                                                   {"tgn", ",u,i,ts,label,idx\n"}};
  constexpr int bad = 150'000;
  for (const auto& [format, end] : good_ends) {
    std::string text = headers.at(format), at_fault;
    for (int i = 0; i < lines; ++i) {
      std::string line = format == "sociopatterns" ? blanks(i) : commas(i) + end;
      if (i == bad || i == bad + 40'000) line += ",x";
      if (i == bad) at_fault = line;
      text += line + "\n";
    }
    const std::string path = folder.write(format + ".csv", text);
    for (const int count : {1, 3}) {
      const Threads threads(count);
      try {
        read_events(path, format);
        ADD_FAILURE() << format << ": the bad line was read";
      } catch (const InvalidInput& error) {
        EXPECT_EQ(error.line(), static_cast<std::uint64_t>(bad) + 2) << format;
        EXPECT_EQ(error.column(), at_fault.size() - (format == "sociopatterns" ? 1 : 0)) << format;
      }
    }
  }
}

}  // namespace
}  // namespace strobe
