// Tables whose columns are found by looking at them. Small files of known data sets are judged by what they mean,
// random ones by the events that they were written from: a file is read as these, or refused; never read as others.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/table/table_guess.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::TemporaryFolder;
using DeviceEvent = std::tuple<std::string, std::string, double>;

EventGraph read_file(const std::string& path, Json parameters = Json::object()) {
  parameters["cache"] = "off";
  return *load_events(path, parameters);
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::vector<DeviceEvent> events_of(const EventGraph& graph) {
  const auto name = [&](VertexId v) {
    const std::size_t i = v;
    return graph.vertex_name.empty() ? std::to_string(graph.original_id[i]) : std::string(graph.vertex_name[i]);
  };
  std::vector<DeviceEvent> events;
  for (std::size_t e = 0; e < graph.time.size(); ++e)
    events.emplace_back(name(graph.source[e]), name(graph.target[e]), graph.time[e]);
  return events;
}

using Events = std::vector<DeviceEvent>;
constexpr double new_year = 1388534400;  // 2014-01-01

TEST(Table, ReadsTheActionsOfMooc) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("clicks.tsv", "ACTIONID\tUSERID\tTARGETID\tTIMESTAMP\n0\t0\t0\t0.0\n1\t0\t1\t6.0\n2\t1\t2\t41.0\n");
  const EventGraph apart = read_file(path);  // users 0, 1 and targets 0, 1, 2
  EXPECT_EQ(apart.vertices, 5);
  EXPECT_EQ(apart.source, (std::vector<VertexId>{0, 0, 1}));
  EXPECT_EQ(apart.target, (std::vector<VertexId>{2, 3, 4}));
  EXPECT_EQ(apart.time, (std::vector<double>{0, 6, 41}));
  EXPECT_TRUE(any_note(apart, "columns=source:USERID/target:TARGETID/time:TIMESTAMP,ids=offset"));
  EXPECT_TRUE(any_note(apart, "'ACTIONID'"));
  const EventGraph one = read_file(path, {{"ids", "shared"}});
  EXPECT_EQ(events_of(one), (Events{{"0", "0", 0}, {"0", "1", 6}, {"1", "2", 41}}));
  const EventGraph same =
      read_file(path, {{"columns", "source:USERID/target:TARGETID/time:TIMESTAMP"}, {"ids", "offset"}});
  EXPECT_EQ(same.target, apart.target);
  EXPECT_EQ(same.original_id, apart.original_id);
}

TEST(Table, ReadsTheHyperlinksOfReddit) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("hyperlinks.tsv",
                   "SOURCE_SUBREDDIT\tTARGET_SUBREDDIT\tPOST_ID\tTIMESTAMP\tLINK_SENTIMENT\tPROPERTIES\n"
                   "gardening\tcooking\t1u4nrps\t2014-01-02 16:39:58\t1\t3.5,0.1\n"
                   "cooking\tbread\t1u4qkd\t2014-01-05 18:18:37\t-1\t2,1\n");
  EXPECT_EQ(events_of(read_file(path)),
            (Events{{"gardening", "cooking", 1388680798}, {"cooking", "bread", 1388945917}}));
}

TEST(Table, ReadsAHeaderAfterAComment) {
  const TemporaryFolder folder;
  const EventGraph graph =
      read_file(folder.write("edges.csv", "# source, target, weight, time\n0,1,3,10\n1,2,4,20\n2,0,1,35\n"));
  EXPECT_EQ(events_of(graph), (Events{{"0", "1", 10}, {"1", "2", 20}, {"2", "0", 35}}));
  EXPECT_EQ(graph.weight, (std::vector<float>{3, 4, 1}));
  const EventGraph later =
      read_file(folder.write("more.csv", "% made by hand\n% FromNodeId\tToNodeId\tTime\n4\t7\t5\n7\t4\t6\n"));
  EXPECT_EQ(events_of(later), (Events{{"4", "7", 5}, {"7", "4", 6}}));
}

TEST(Table, DistinguishesRelationsFromWeights) {
  const TemporaryFolder folder;
  const std::string quadruples = "12\t3\t40\t0\n12\t5\t41\t24\n40\t3\t12\t24\n41\t7\t40\t48\n";
  const EventGraph graph = read_file(folder.write("quads.edges", quadruples));
  EXPECT_EQ(graph.vertices, 3);
  EXPECT_EQ(events_of(graph), (Events{{"12", "40", 0}, {"12", "41", 24}, {"40", "12", 24}, {"41", "40", 48}}));
  EXPECT_TRUE(any_note(graph, "column 2 looks like a relation and is not read"));
  EXPECT_EQ(read_file(folder.write("w.edges", "1 2 5 10\n2 3 4 11\n3 1 5 12\n")).provenance.format,
            "network-repository");
  const std::string text = message_of([&] { read_file(folder.write("quads.txt", quadruples)); });
  EXPECT_NE(text.find("columns=source:1/target:3/time:4"), std::string::npos) << text;
  EXPECT_EQ(events_of(read_file(folder.file("quads.txt"), {{"columns", "source:1/target:3/time:4"}})),
            events_of(graph));
  // Heads and tails that are numbered from 0, as in ICEWS14: their ids could be weights as well.
  std::string dense;
  for (int i = 0; i < 60; ++i) dense += fmt::format("{} {} {} {}\n", i * 7 % 50, i % 4, i * 11 % 50, i / 3);
  EXPECT_NE(message_of([&] { read_file(folder.write("icews.edges", dense)); }).find("source:1/target:3/time:4"),
            std::string::npos);
}

TEST(Table, RefusesDatedQuadruplesWithTheLinesThatReadThem) {
  const TemporaryFolder folder;
  const std::string path = folder.write("quads.txt", "12\t3\t40\t2014-01-01\n12\t5\t41\t2014-01-02\n");
  const std::string text = message_of([&] { read_file(path); });
  const std::string command = "strobe inspect '" + path + ":columns=source:1/target:";
  EXPECT_NE(text.find("type " + command + "2/weight:3/time:4' for source, target, weight and time, or " + command +
                      "3/time:4' for facts"),
            std::string::npos)
      << text;
  EXPECT_EQ(events_of(read_file(path, {{"columns", "source:1/target:3/time:4"}})),
            (Events{{"12", "40", new_year}, {"12", "41", new_year + 86400}}));
  const std::string words = folder.write("words.txt",
                                         "Ann\tmeets\tBob\t2014-01-01\nBob\tcalls\tEve\t2014-01-01\n"
                                         "Eve\tmeets\tAnn\t2014-01-02\n");
  EXPECT_EQ(events_of(read_file(words)),
            (Events{{"Ann", "Bob", new_year}, {"Bob", "Eve", new_year}, {"Eve", "Ann", new_year + 86400}}));
}

TEST(Table, TakesLargeNumbersForPartsOfSeconds) {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> files = {
      {"1388534400", "s"}, {"1388534400500", "ms"}, {"1388534400500000", "us"}};
  for (const auto& [time, unit] : files) {
    const EventGraph graph = read_file(folder.write(unit + ".csv", "src;dst;timestamp\n1;2;" + time + "\n"));
    EXPECT_EQ(graph.time[0], unit == "s" ? new_year : new_year + 0.5) << unit;
    EXPECT_EQ(any_note(graph, "since 1970, because they are too large for seconds"), unit != "s");
  }
  const std::string commas = folder.write("ms.csv", "src,dst,timestamp\n1,2,1388534400500\n");
  EXPECT_EQ(read_file(commas).time[0], new_year + 0.5);
  EXPECT_EQ(read_file(commas, {{"columns", "source:src/target:dst/time:timestamp"}}).time[0], new_year + 0.5);
}

TEST(Table, ReadsWithoutAHeaderWhereDatesAreTheTime) {
  const TemporaryFolder folder;
  const Events expected{{"5", "6", new_year}, {"6", "7", new_year + 43200}};
  for (const std::string separator : {"\t", ";", "|", "::", ",", " "}) {
    const std::string rows =
        "5" + separator + "6" + separator + "2014-01-01\r\n6" + separator + "7" + separator + "2014-01-01T12:00:00Z";
    EXPECT_EQ(events_of(read_file(folder.write("a.txt", rows))), expected) << separator;
    EXPECT_EQ(events_of(read_file(folder.write("b.txt", "\xEF\xBB\xBF// made by hand\r\n" + rows))), expected)
        << separator;
  }
}

TEST(Table, AHeaderThatOnlyHintsAtTheVerticesIsReadByCells) {
  const TemporaryFolder folder;
  std::string rows = "no,a1,b1,when,amount,channel\n";  // a channel may be a vertex elsewhere, as an item of users
  for (int i = 0; i < 40; ++i) rows += fmt::format("{},{},{},2014-01-{:02},0.5,web\n", i, i % 7, i * 3 % 8, 1 + i % 28);
  const std::string text = message_of([&] { read_file(folder.write("hints.csv", rows)); });
  EXPECT_NE(text.find("its columns are no, a1, b1, when, amount, channel; "), std::string::npos) << text;
  EXPECT_NE(text.find(":columns=source:a1/target:b1/weight:amount/time:when'"), std::string::npos) << text;
  const std::string one = folder.write("one.csv", "from,whom,date\n1,2,2014-01-01\n2,3,2014-01-02\n");
  EXPECT_NE(message_of([&] { read_file(one); }).find(":columns=source:from/target:whom/time:date'"), std::string::npos);
}

TEST(Table, RefusesTablesWithTwoReadings) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> files = {
      {"1,2,10\n2,3,20\n", "no column is plainly the time"},
      {"a\tb\t2014-01-01\t2015-01-01\nb\ta\t2014-01-02\t2015-01-02\n", "may both be the time"},
      {"src\tdst\tfrom\ttime\n1\t2\t3\t4\n", "may both be the source"},
      {"age\theight\twhen\n25\t180\t2014-01-01\n", "the header does not say which columns are the vertices"},
      {"a b 2014-01-01 12:00:00\nb a 2014-01-01 13:00:00\n", "the time of day"},
      {"src;dst;time\n1;2;10,5\n", "neither a number nor a date"},
      {"src;dst;time\n1.5;2;10\n", "that are no ids"},
      {"src;dst;time\n1;;10\n", "has empty cells"},
      {"#cats\tdogs\t2014-01-01\nbirds\tdogs\t2014-01-02\n", "begins with '#'"},
      {"% a\n1\t2\t2014-01-01\n% b\t2\t3\n", "lies between rows"},
  };
  for (const auto& [content, fragment] : files) {
    const std::string text = message_of([&] { read_file(folder.write("x.txt", content)); });
    EXPECT_NE(text.find(fragment), std::string::npos) << content << text;
  }
}

TEST(Table, RefusesBadRowsWithTheirPlace) {
  const TemporaryFolder folder;
  std::string rows = "src\tdst\ttime\n";
  for (int i = 0; i < 20000; ++i) rows += "1\t2\t10\n";  // beyond what is looked at
  const std::vector<std::pair<std::string, std::string>> files = {
      {"1\t2\n", "20002:4: expected 3 columns, found 2"},
      {"1\tx\t3\n", "20002:3: target vertex id 'x' is not a whole number"},
      {"\"1\t2\t3\n", "20002:1: the quote is not closed on its line"},
      {std::string(std::size_t{2} << 20, '1') + "\n", "20002:1: the line is longer than 1 MiB"},
      {"1\t2\t31.01.2014\n", "20002:5: '31.01.2014' leaves open which is the day"},
  };
  for (const auto& [row, fragment] : files) {
    const std::string text = message_of([&] { read_file(folder.write("x.tsv", rows + row)); });
    EXPECT_NE(text.find(fragment), std::string::npos) << text;
  }
}

TEST(Table, LooksAtAnyBytesWithoutHarm) {
  std::mt19937 random(7);
  const std::string letters = "0123456789,;\t|: \n\r\"#%/-TZsrctimed\xEF\xBB\xBF";
  int tables = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = round % 3 == 0 ? "src\tdst\ttime\n1\t2\t3\n" : round % 3 == 1 ? "# a b\n1,2,2014-01-01\n" : "";
    for (std::size_t i = random() % 60; i-- > 0;)
      text.insert(random() % (text.size() + 1), 1, letters[random() % letters.size()]);
    const auto guess = guess_table(text, random() % 2 == 0, "x.edges");
    if (!guess) continue;
    ++tables;
    EXPECT_EQ(guess->columns.size(), guess->layout.columns);
    EXPECT_EQ(guess->certain, guess->doubt.empty());
    if (guess->certain) {
      EXPECT_FALSE(guess->options.empty()) << text;
    }
  }
  EXPECT_GT(tables, 1000);
}

/// A file of a seed and the events that it was written from.
class RandomTable {
 public:
  explicit RandomTable(unsigned seed) : random_(seed) {
    make_events();
    make_columns();
    header_ = static_cast<int>(pick(3));
    order_columns();
    write();
  }

  std::string content;
  Events events;
  bool has_header() const { return header_ > 0; }

 private:
  struct Column {
    std::string name;
    std::vector<std::string> cells;
  };

  std::size_t pick(std::size_t count) { return random_() % count; }
  template <class T>
  T one_of(const std::vector<T>& values) {
    return values[pick(values.size())];
  }

  void make_events() {
    const std::size_t ids = 4 + pick(80), rows = 3 + pick(200);
    const bool names = pick(3) == 0, two_kinds = pick(3) == 0, sparse = pick(2) == 0;
    time_kind_ = pick(6);
    double time = time_kind_ == 0 ? static_cast<double>(pick(50)) : new_year;
    const auto id = [&](std::size_t v) { return (names ? "n" : "") + std::to_string(sparse ? 1000 + v * v * 13 : v); };
    for (std::size_t i = 0; i < rows; ++i) {
      time += static_cast<double>(time_kind_ == 3 ? 86400 * pick(3) : pick(4000));
      events.emplace_back(id(pick(ids)), id((two_kinds ? ids : 0) + pick(ids)), time);
    }
    separator_ = one_of<std::string>({",", "\t", ";", "|", "::", " "});
  }

  std::string time_text(double time) const {
    const auto seconds = static_cast<long long>(time);
    const long long day = seconds / 86400, rest = seconds % 86400;
    const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(day))};
    const std::string text = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                         static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    const std::string clock = fmt::format("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    switch (time_kind_) {
      case 0:
      case 1:
        return std::to_string(seconds);
      case 2:
        return std::to_string(seconds * 1000);
      case 3:
        return text;
      case 4:
        return text + (separator_ == " " ? "T" : " ") + clock;
      default:
        return text + "T" + clock + "+00:00";
    }
  }

  void make_columns() {
    const auto words = one_of<std::vector<std::string>>({{"source", "target", "timestamp"},
                                                         {"SRC", "DST", "TS"},
                                                         {"from", "to", "date"},
                                                         {"FromNodeId", "ToNodeId", "Time"},
                                                         {"head", "tail", "created_at"},
                                                         {"alpha", "beta", "gamma"}});
    columns_ = {{words[0], {}}, {words[1], {}}, {words[2], {}}};
    for (const auto& [source, target, time] : events) {
      columns_[0].cells.push_back(source);
      columns_[1].cells.push_back(target);
      columns_[2].cells.push_back(time_text(time));
    }
    const std::vector<std::pair<std::string, std::function<std::string(std::size_t)>>> kinds = {
        {"weight", [&](std::size_t) { return std::to_string(1 + pick(9)); }},
        {"mass", [&](std::size_t) { return fmt::format("{}.5", pick(20)); }},
        {"relation", [&](std::size_t) { return std::to_string(pick(8)); }},
        {"kind", [&](std::size_t) { return "r" + std::to_string(pick(5)); }},
        {"label", [&](std::size_t) { return std::to_string(pick(2)); }},
        {"id", [](std::size_t i) { return std::to_string(i); }}};
    for (std::size_t more = pick(3); more > 0; --more) {
      const auto& [name, cell] = kinds[pick(kinds.size())];
      if (std::any_of(columns_.begin(), columns_.end(), [&](const Column& c) { return c.name == name; })) continue;
      columns_.push_back({name, {}});
      for (std::size_t i = 0; i < events.size(); ++i) columns_.back().cells.push_back(cell(i));
    }
  }

  /// Without a header nothing tells a source from a target but their order; numbers between blanks, tabs or commas that
  /// other formats know by their order keep it.
  void order_columns() {
    const std::string source = columns_[0].name;
    const bool known =
        header_ != 1 && (separator_ == " " || separator_ == "," || separator_ == "\t") && columns_.size() < 5;
    if (known && columns_.size() == 4) std::swap(columns_[2], columns_[3]);
    if (known) return;
    std::shuffle(columns_.begin(), columns_.end(), random_);
    if (header_ == 1 || (header_ == 2 && source != "alpha")) return;
    const auto at = [&](const std::vector<std::string>& cells) {
      return std::find_if(columns_.begin(), columns_.end(), [&](const Column& c) { return c.cells == cells; });
    };
    std::vector<std::string> sources, targets;
    for (const auto& [s, t, time] : events) sources.push_back(s), targets.push_back(t);
    if (at(targets) < at(sources)) std::iter_swap(at(targets), at(sources));
  }

  void write() {
    const std::string end = pick(2) == 0 ? "\n" : "\r\n";
    const auto line = [&](const std::function<std::string(const Column&)>& cell) {
      std::string text;
      for (const Column& column : columns_) text += (&column == &columns_.front() ? "" : separator_) + cell(column);
      return text;
    };
    if (pick(8) == 0) content = "\xEF\xBB\xBF";
    const std::string mark = one_of<std::string>({"#", "%", "//"});
    if (header_ != 1 && pick(2) == 0) content += mark + " made from a seed" + end;
    if (header_ == 2) content += mark + " ";
    if (header_ > 0) content += line([](const Column& c) { return c.name; }) + end;
    for (std::size_t i = 0; i < events.size(); ++i)
      content += line([&](const Column& c) { return c.cells[i]; }) + (i + 1 < events.size() || pick(4) != 0 ? end : "");
  }

  std::mt19937 random_;
  std::size_t time_kind_ = 0;
  std::string separator_;
  std::vector<Column> columns_;
  int header_ = 0;  // 0 = none, 1 = in the first line, 2 = after a comment mark
};

TEST(Table, ReadsRandomFilesRightlyOrNotAtAll) {
  const TemporaryFolder folder;
  int read_with_header = 0, with_header = 0, read_without = 0, without = 0;
  constexpr unsigned files = 1200;
  for (unsigned seed = 0; seed < files; ++seed) {
    RandomTable table(seed);
    const std::string path = folder.write("x.txt", table.content);
    (table.has_header() ? with_header : without)++;
    Events found;
    try {
      found = events_of(read_file(path));
    } catch (const InvalidInput&) {
      continue;
    }
    (table.has_header() ? read_with_header : read_without)++;
    std::stable_sort(table.events.begin(), table.events.end(),
                     [](const DeviceEvent& a, const DeviceEvent& b) { return std::get<2>(a) < std::get<2>(b); });
    ASSERT_EQ(found, table.events) << "seed " << seed << "\n" << table.content.substr(0, 300);
  }
  RecordProperty("read_with_header", fmt::format("{} of {}", read_with_header, with_header));
  RecordProperty("read_without_header", fmt::format("{} of {}", read_without, without));
  EXPECT_GT(read_with_header * 10, with_header * 7);  // one set of names in six says nothing
  EXPECT_GT(read_without * 10, without * 2);
}

}  // namespace
}  // namespace strobe
