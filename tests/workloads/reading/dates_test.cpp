#include "workloads/reading/text/dates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

TEST(Dates, KnownDays) {  // GNU date -u -d @N
  EXPECT_EQ(date_text(0), "1970-01-01");
  EXPECT_EQ(date_text(-1), "1969-12-31T23:59:59");
  EXPECT_EQ(date_text(-0.5), "1969-12-31T23:59:59.5");
  EXPECT_EQ(date_text(951782400), "2000-02-29");
  EXPECT_EQ(date_text(951782400, true), "2000-02-29T00:00:00");
  EXPECT_EQ(date_text(1672532220), "2023-01-01T00:17:00");
  EXPECT_EQ(date_text(1672532220.125), "2023-01-01T00:17:00.125");
  EXPECT_EQ(date_text(-62135596800), "0001-01-01");
  EXPECT_EQ(date_text(253402300799), "9999-12-31T23:59:59");
  EXPECT_EQ(date_text(253402300800), "253402300800");  // the year 10000
}

TEST(Dates, EveryNumberReadsBackToItself) {
  const TemporaryFolder folder;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> seconds(-62135596800.0, 253402300799.0), recent(0, 2e9), small(-2, 2);
  EventGraph graph = test::make_events(2, {{0, 1, 0}});
  std::vector<double> times = {1e-7, 0.1, 59.999999, 1672532220.123456, 86399.9999999};
  for (int i = 0; i < 3000; ++i) {
    const double time = i % 3 == 0 ? seconds(random) : i % 3 == 1 ? recent(random) : small(random);
    times.push_back(i % 2 == 0 ? std::floor(time) : time);
  }
  std::sort(times.begin(), times.end());
  graph.source = std::vector<VertexId>(times.size(), 0), graph.target = std::vector<VertexId>(times.size(), 1);
  graph.time = Column<double>(times);
  graph.dated = true;
  write_csv(graph, folder.file("dates.csv"));
  const EventGraph back = read_events(folder.file("dates.csv"));
  ASSERT_EQ(back.events(), graph.events());
  EXPECT_TRUE(back.dated);
  for (std::size_t e = 0; e < times.size(); ++e) ASSERT_EQ(back.time[e], times[e]) << e;
}

TEST(Dates, ComeBackAsTheFileWroteThem) {
  const TemporaryFolder folder;
  const std::string days = "source,target,time\n3,5,2023-01-01\n5,3,2023-02-28\n",
                    hours = "source,target,time,weight\n0,1,2023-01-01T00:00:00,1\n1,0,2023-01-01T00:17:00.5,2.5\n",
                    numbers = "source,target,time\n3,5,1672531200\n";
  for (const std::string& text : {days, hours, numbers}) {
    const EventGraph graph = read_events(folder.write("in.csv", text));
    EXPECT_EQ(graph.dated, text != numbers);
    write_csv(graph, folder.file("out.csv"));
    EXPECT_EQ(test::read_bytes(folder.file("out.csv")), text);
    write_binary_graph(graph, folder.file("g.strobe"));
    write_csv(read_events(folder.file("g.strobe")), folder.file("again.csv"));
    EXPECT_EQ(test::read_bytes(folder.file("again.csv")), text);
  }
  const Json report = inspect_workload(folder.write("hours.csv", hours), Json::object(), 1);
  EXPECT_EQ(report.at("first_date"), "2023-01-01");
  EXPECT_EQ(report.at("last_date"), "2023-01-01T00:17:00.5");
  EXPECT_EQ(report.at("first_time"), 1672531200.0);
  EXPECT_FALSE(inspect_workload(folder.write("n.csv", numbers), Json::object(), 1).contains("first_date"));
}

}  // namespace
}  // namespace strobe
