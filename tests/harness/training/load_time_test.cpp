// The time of reading and preparing, against amounts that are counted on the graph itself.
#include "harness/training/load_time.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

LoadWork work_of(const Json& workload) {
  const Case c = case_from_json({{"workload", workload}, {"model", "t-gcn"}}, "");
  const DataCache cache;
  return load_work(c, load_data(c, choose_model(c), cache)).value();
}

TEST(LoadTime, GeneratedGraphsAreMadeAndPrepared) {
  for (const int seed : {3, 4, 5}) {
    const Json workload{{"name", "uniform"}, {"vertices", 100 * seed}, {"steps", 9}, {"density", seed}};
    const LoadWork work = work_of(workload);
    EXPECT_EQ(work.text_bytes + work.binary_bytes, 0);
    EXPECT_NEAR(work.made_entries / (100.0 * seed * 9 * seed), 1, 0.03);
    EXPECT_NEAR(work.prepared_entries / (100.0 * seed * 8 * (seed + 1)), 1, 0.03) << "with self-loops, of 8 steps";
    EXPECT_EQ(work.prepared_features, 100.0 * seed * 8 * 2);
  }
}

TEST(LoadTime, FilesCountByTheirBytes) {
  const test::TemporaryFolder folder;
  std::string rows = "source,target,time\n";
  for (int i = 0; i < 4000; ++i)
    rows += std::to_string(i % 53) + "," + std::to_string(i % 41) + "," + std::to_string(i) + "\n";
  const std::string text = folder.write("events.csv", rows), binary = folder.file("events.strobe");
  write_binary_graph(read_events(text), binary);
  const LoadWork of_text = work_of({{"name", text}}), of_binary = work_of({{"name", binary}});
  EXPECT_EQ(of_text.text_bytes, static_cast<double>(rows.size()));
  EXPECT_EQ(of_text.binary_bytes + of_text.made_entries, 0);
  EXPECT_EQ(of_binary.binary_bytes, static_cast<double>(test::read_bytes(binary).size()));
  EXPECT_EQ(of_binary.text_bytes + of_binary.made_entries, 0);
  EXPECT_EQ(of_text.prepared_entries, of_binary.prepared_entries);
}

TEST(LoadTime, AddsUpAndWaitsForASlowDisk) {
  HostModel host;
  host.text_bytes_per_second = 100, host.binary_bytes_per_second = 200, host.made_entries_per_second = 10;
  host.prepared_entries_per_second = 4, host.prepared_features_per_second = 5;
  const LoadWork work{1000, 400, 30, 8, 10};
  EXPECT_EQ(load_seconds(work, host), 10 + 2 + 3 + 2 + 2);
  host.disk_bytes_per_second = 28;
  EXPECT_EQ(load_seconds(work, host), 50);
  host.made_entries_per_second = 0;
  EXPECT_FALSE(load_seconds(work, host).has_value()) << "a rate is missing";
  EXPECT_TRUE(load_seconds({1000, 400, 0, 8, 10}, host).has_value()) << "it is not needed";
}

}  // namespace
}  // namespace strobe
