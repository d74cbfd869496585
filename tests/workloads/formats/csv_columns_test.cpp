// Csv files of other programs: columns in any order, under other names, with others between them and with the index
// that pandas writes. Every such file must give the same events as the plain file.
#include "workloads/reading/text/csv_columns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;

EventGraph read_with(const std::string& path, const std::string& columns) {
  Json parameters{{"cache", "off"}};
  if (!columns.empty()) parameters["columns"] = columns;
  return *load_events(path, parameters);
}

void expect_equal_events(const EventGraph& graph, const EventGraph& plain, const std::string& what) {
  EXPECT_EQ(graph.source, plain.source) << what;
  EXPECT_EQ(graph.target, plain.target) << what;
  EXPECT_TRUE(graph.time == plain.time) << what;
  EXPECT_EQ(graph.weight, plain.weight) << what;
  EXPECT_EQ(graph.original_id, plain.original_id) << what;
  EXPECT_EQ(graph.stepped, plain.stepped) << what;
  EXPECT_EQ(graph.dated, plain.dated) << what;
}

std::string message_of(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

/// Events of a seed as three files: as Strobe writes them; with columns in another order and others between them; and
/// the same under other names.
struct RandomFiles {
  explicit RandomFiles(std::uint64_t seed) : random(seed, random_purpose::partition) {
    header = {"source", "target", seed % 4 == 0 ? "step" : "time"};
    if (seed % 3 == 0) header.emplace_back("weight");
    order.resize(header.size() + 3);  // cells past the header are not read
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random.below(1000 + i, i + 1)]);
    const std::string letter = seed % 2 == 0 ? "v" : "";
    const std::vector<std::string> titles{"", "note", "mass"}, cells{"7", "\"Doe, \"\"J\"\"\"", "0.5e3"};
    std::vector<std::string> mine = header;
    for (std::string& name : mine) {
      columns += (columns.empty() ? "" : "/") + name + ":my " + name;
      name = "my " + name;
    }
    add(header, titles, plain, other);
    std::string ignored;
    add(mine, titles, ignored, renamed);
    for (std::uint64_t i = 0; i < 40; ++i) {
      const std::vector<std::string> row{
          letter + std::to_string(random.below(4 * i, 9)), letter + std::to_string(random.below(4 * i + 1, 9)),
          std::to_string(random.below(4 * i + 2, 1000)), std::to_string(1 + random.below(4 * i + 3, 5))};
      add(row, cells, plain, other);
      add(row, cells, ignored, renamed);
    }
  }
  void add(const std::vector<std::string>& own, const std::vector<std::string>& foreign, std::string& straight,
           std::string& mixed) const {
    for (std::size_t i = 0; i < header.size(); ++i) straight += (i > 0 ? "," : "") + own[i];
    for (std::size_t k = 0; k < order.size(); ++k)
      mixed += (k > 0 ? "," : "") + (order[k] < header.size() ? own[order[k]] : foreign[order[k] - header.size()]);
    straight += "\n", mixed += "\n";
  }
  RandomStream random;
  std::vector<std::string> header;
  std::vector<std::size_t> order;
  std::string plain, other, renamed, columns;
};

TEST(CsvColumns, InAnyOrderWithOthersBetweenThem) {
  const TemporaryFolder folder;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const RandomFiles files(seed);
    const EventGraph judge = read_with(folder.write("plain.csv", files.plain), "");
    const EventGraph found = read_with(folder.write("other.csv", files.other), "");
    expect_equal_events(found, judge, files.other.substr(0, 60));
    EXPECT_TRUE(any_note(found, "columns that are not read: '")) << seed;
    EXPECT_TRUE(any_note(found, "one without a name (an index)")) << seed;
    EXPECT_FALSE(any_note(judge, "not read"));
    expect_equal_events(read_with(folder.write("renamed.csv", files.renamed), files.columns), judge, files.columns);
  }
}

TEST(CsvColumns, ReadFilesThatPandasWrites) {
  const TemporaryFolder folder;
  const std::string path = folder.write("df.csv",
                                        ",from,to,when,amount\n0,Anna Czerny,Bo,2023-01-01 10:00,2.5\n"
                                        "1,Bo,Cy,2023-01-01 12:00:00+02:00,1\n2,Cy,Bo,2023/01/02,4\n");
  const std::string plain = folder.write("plain.csv",
                                         "source,target,time,weight\nAnna Czerny,Bo,1672567200,2.5\n"
                                         "Bo,Cy,1672567200,1\nCy,Bo,1672617600,4\n");
  EventGraph judge = read_with(plain, "");
  judge.dated = true;
  expect_equal_events(read_with(path, "source:from/target:to/time:when/weight:amount"), judge, "with slashes");
  expect_equal_events(read_with(path, "source:from,target:to,time:when,weight:amount"), judge, "with commas");
  EXPECT_TRUE(read_with(path, "source:from/target:to/time:when").weight.empty())
      << "a weight is read where it is named";
}

TEST(CsvColumns, OfLargeFilesAreTheSameWhenReadInParts) {
  const TemporaryFolder folder;
  std::string plain = "source,target,time\n", other = "when,\"a, b\",to,from\n";
  for (std::int64_t i = 0; i < 60000; ++i) {
    const std::int64_t u = i * 7919 % 1009, v = i * 104729 % 997;
    plain += std::to_string(u) + "," + std::to_string(v) + "," + std::to_string(i) + "\n";
    other += std::to_string(i) + ",\"x, y\"," + std::to_string(v) + "," + std::to_string(u) + "\n";
  }
  for (const int threads : {1, 3}) {
    const test::Threads limit(threads);
    const EventGraph judge = read_with(folder.write("plain.csv", plain), "");
    expect_equal_events(read_with(folder.write("other.csv", other), "source:from/target:to/time:when"), judge, "parts");
  }
}

TEST(CsvColumns, ThatAreMissingOrTwiceAreRefusedByName) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", "from,to,to,when\n1,2,3,4\n");
  const std::string missing = message_of([&] { read_with(path, "source:frm/target:to/time:when"); });
  EXPECT_NE(missing.find("there is no column 'frm' for the source; the columns are 'from', 'to', 'to', 'when'"),
            std::string::npos)
      << missing;
  EXPECT_NE(message_of([&] { read_with(path, "source:from/target:to/time:when"); }).find("has the column 'to' twice"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read_with(path, "source:from/target:from/time:when"); }).find("cannot be two things"),
            std::string::npos);
  const std::string row = folder.write("b.csv", "from,to,when,x\n1,2,3,4\n1,2,3\n");
  const std::string cells = message_of([&] { read_with(row, "source:from/target:to/time:when"); });
  EXPECT_NE(cells.find("b.csv:3"), std::string::npos) << cells;
  EXPECT_NE(cells.find("expected 4 columns, found 3"), std::string::npos) << cells;
  const std::string word = folder.write("c.csv", "when,to,from\n1,2,3\n4,x,6\n");
  EXPECT_NE(message_of([&] { read_with(word, "source:from/target:to/time:when"); }).find("c.csv:3:3"),
            std::string::npos);
}

TEST(CsvColumns, DatesOfOneOrderAreReadAndOfOthersExplained) {
  const TemporaryFolder folder;
  const auto time_of = [&](const std::string& text) {
    return read_with(folder.write("t.csv", "source,target,time\n1,2," + text + "\n"), "").time.front();
  };
  const double noon = 1672574400;  // 2023-01-01 12:00 UTC
  for (const char* text : {"2023-01-01 12:00", "2023-01-01T12:00:00", "2023/01/01 12:00", "2023-01-01 14:00+02:00",
                           "2023-01-01T07:00:00-05:00", "2023-01-01T12:00:00Z", "2023-01-01 12:00:00.0", "1672574400"})
    EXPECT_EQ(time_of(text), noon) << text;
  for (const char* text : {"01.02.2023", "1/2/2023", "01/02/2023 12:00"})
    EXPECT_NE(message_of([&] { time_of(text); }).find("which is the day and which the month"), std::string::npos)
        << text;
  EXPECT_NE(message_of([&] { time_of("1.2x"); }).find("is not a number"), std::string::npos);
}

TEST(CsvColumns, AreNamedByRolesOnce) {
  EXPECT_EQ(column_names("source:a/time:b c", "").at("time"), "b c");
  for (const auto& [columns, complaint] :
       std::vector<std::pair<std::string, std::string>>{{"sorce:a", "did you mean 'source'"},
                                                        {"source", "names no column"},
                                                        {"source:", "names no column"},
                                                        {"source:a/source:b", "named twice"},
                                                        {"time:a/step:b", "not both"}})
    EXPECT_NE(message_of([&, c = columns] { column_names(c, "/workload/columns"); }).find(complaint), std::string::npos)
        << columns;
  const TemporaryFolder folder;
  const std::string konect = folder.write("out.x", "% sym unweighted\n1 2 1 5\n");
  EXPECT_NE(message_of([&] {
              load_events(konect, {{"format", "konect"}, {"columns", "source:a"}});
            }).find("columns is for csv"),
            std::string::npos);
}

TEST(CsvColumns, LeaveIdsOfCasesAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", "source,target,time\n1,2,3\n");
  EXPECT_FALSE(complete_workload_parameters(path, Json::object(), "").contains("columns"));
  EXPECT_EQ(complete_workload_parameters(path, {{"columns", "time:time"}}, "").at("columns"), "time:time");
}

}  // namespace
}  // namespace strobe
