// Archives, companions, networks with removals, and steps within a bound of memory give the same files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/random.hpp"
#include "tests/workloads/reading/bounded_support.hpp"
#include "tests/workloads/reading/npy_support.hpp"
#include "tests/workloads/reading/npz_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/ids/name_table.hpp"
#include "workloads/storage/growing_column.hpp"
#include "workloads/storage/reading_bound.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::bounded_mib;
using test::expect_same_files;
using test::folder_of;
using test::lies_in_file;
using test::npy;
using test::TemporaryFolder;

TEST(BoundedFormats, ArchivesOfArraysStoredAndDeflated) {
  constexpr std::uint64_t rows = 100'000;
  const RandomStream random(3, 1);
  std::vector<std::int64_t> ends(2 * rows);
  std::vector<double> times, weights;
  std::vector<float> features;
  for (std::uint64_t i = 0; i < rows; ++i) {
    ends[i] = static_cast<std::int64_t>(random.below(6 * i, 5000));
    ends[rows + i] = static_cast<std::int64_t>(random.below(6 * i + 1, 5000));
    times.push_back(static_cast<double>(random.below(6 * i + 2, 90'000)));
    weights.push_back(random.uniform(6 * i + 3));
    for (std::uint64_t f = 0; f < 2; ++f) features.push_back(static_cast<float>(random.uniform(6 * i + 4 + f)));
  }
  const std::vector<std::int64_t> source(ends.begin(), ends.begin() + rows), target(ends.begin() + rows, ends.end());
  const std::string one = fmt::format("({},)", rows), two = fmt::format("({}, 2)", rows);
  for (const bool packed : {false, true}) {
    const TemporaryFolder folder;
    expect_same_files(
        folder, folder.write("pairs.npz", test::archive({{"edge_index", npy("<i8", fmt::format("(2, {})", rows), ends)},
                                                         {"t", npy("<f8", one, times)},
                                                         {"msg", npy("<f4", two, features)}},
                                                        packed)));
    expect_same_files(folder, folder.write("sides.npz", test::archive({{"src", npy("<i8", one, source)},
                                                                       {"dst", npy("<i8", one, target)},
                                                                       {"t", npy("<f8", one, times)},
                                                                       {"weight", npy("<f8", one, weights)}},
                                                                      packed)));
  }
}

TEST(BoundedFormats, EllipticWithItsThreeFiles) {
  constexpr std::uint64_t transactions = 40'000, steps = 20;
  const RandomStream random(4, 1);
  std::string features, edges = "txId1,txId2\n", classes = "txId,class\n";
  const auto id_of = [](std::uint64_t i) { return 7 + (i * 7919) % transactions * 3; };
  for (std::uint64_t i = 0; i < transactions; ++i) {
    features += fmt::format("{},{},{},{}\n", id_of(i), i % steps + 1, i % 77, 0.25 * double(i % 9));
    classes += fmt::format("{},{}\n", id_of(i), i % 5 == 0 ? "1" : i % 5 == 1 ? "2" : "unknown");
  }
  for (std::uint64_t e = 0; e < 80'000; ++e) {
    const std::uint64_t from = random.below(2 * e, transactions),
                        to = random.below(2 * e + 1, transactions / steps) * steps + from % steps;
    edges += fmt::format("{},{}\n", id_of(from), id_of(to));
  }
  const TemporaryFolder folder;
  folder.write("elliptic_txs_features.csv", features);
  folder.write("elliptic_txs_classes.csv", classes);
  const std::string path = folder.write("elliptic_txs_edgelist.csv", edges);
  expect_same_files(folder, path);
  expect_same_files(folder, path, Json{{"features", "own"}});
}

TEST(BoundedFormats, NetworksWhoseRowsRemoveEdges) {
  for (const std::uint64_t seed : {1, 2}) {
    const RandomStream random(seed, 7);
    std::string text = "% sym dynamic\n";
    for (std::uint64_t e = 0; e < 150'000; ++e)
      text += fmt::format("{} {} {} {}\n", 1 + random.below(4 * e, 900), 1 + random.below(4 * e + 1, 900),
                          random.below(4 * e + 2, 3) == 0 ? "-1" : "+1", random.below(4 * e + 3, 50'000));
    const TemporaryFolder folder;
    const std::string path = folder.write("out.changes", text);
    expect_same_files(folder, path);
    expect_same_files(folder, path, Json{{"window_count", 7}});
    expect_same_files(folder, path, Json{{"window_count", 5}, {"cumulative", true}});
    expect_same_files(folder, path, Json{{"window_count", 6}, {"edge_life", 3}});
  }
}

TEST(BoundedFormats, FeaturesInGzip) {
  constexpr std::uint64_t rows = 120'000;
  const RandomStream random(8, 1);
  std::string text = ",u,i,ts,label,idx\n";
  std::vector<float> of_rows, of_vertices;
  for (std::uint64_t i = 0; i < rows; ++i) {
    text += fmt::format("{},{},{},{},{},{}\n", i, random.below(3 * i, 900), random.below(3 * i + 1, 900), i / 3, i % 2,
                        random.below(3 * i + 2, rows));
    for (std::uint64_t f = 0; f < 4; ++f) of_rows.push_back(static_cast<float>(random.uniform(4 * i + f)));
  }
  for (std::uint64_t i = 0; i < 300 * 900; ++i) of_vertices.push_back(static_cast<float>(random.uniform(i)));
  const TemporaryFolder folder;
  const std::string path = folder.write("ml_a.csv", text);
  test::write_gzip(folder.file("ml_a.npy"), npy("<f4", fmt::format("({}, 4)", rows), of_rows));
  test::write_gzip(folder.file("ml_a_node.npy"), npy("<f4", "(900, 300)", of_vertices));
  expect_same_files(folder, path);
  const TemporaryFolder aside;
  const BoundedReading bound(bounded_mib, folder_of(aside));
  const EventGraph graph = read_events(path);
  EXPECT_TRUE(lies_in_file(graph.edge_features.data()));
  EXPECT_TRUE(lies_in_file(graph.vertex_features.data()));
}

TEST(BoundedFormats, StepsOfEvents) {
  const RandomStream random(5, 1);
  std::string text;
  for (std::uint64_t e = 0; e < 100'000; ++e)
    text += fmt::format("{} {} {}\n", random.below(3 * e, 4000), random.below(3 * e + 1, 4000),
                        random.below(3 * e + 2, 1'000'000));
  const TemporaryFolder folder;
  const std::string path = folder.write("rows.txt", text);
  std::vector<double> features;
  for (std::uint64_t i = 0; i < 12 * 4000 * 2; ++i) features.push_back(random.uniform(i));
  test::write_gzip(folder.file("features.npy"), npy("<f8", "(12, 4000, 2)", features));
  expect_same_files(folder, path, Json{{"window_count", 12}});
  expect_same_files(folder, path, Json{{"window_count", 12}, {"cumulative", true}, {"orientation", "both"}});
  expect_same_files(folder, path, Json{{"window_count", 12}, {"edge_life", 3}});
  expect_same_files(folder, path, Json{{"window_count", 90}, {"min_edges", 1108}});
  expect_same_files(folder, path, Json{{"window_count", 40}, {"steps", "3:21"}});
  expect_same_files(folder, path, Json{{"window_count", 12}, {"features", folder.file("features.npy")}});
  const SnapshotGraph whole = load_workload(path, {{"window_count", 12}, {"cache", "off"}}, 1);
  EXPECT_FALSE(lies_in_file(whole.snapshots.back()->columns.data()));
  const TemporaryFolder aside;
  const BoundedReading bound(bounded_mib, folder_of(aside));
  const SnapshotGraph graph = load_workload(path, {{"window_count", 12}, {"cache", "off"}}, 1);
  EXPECT_TRUE(lies_in_file(graph.snapshots.back()->columns.data()));
  EXPECT_TRUE(lies_in_file(graph.features.data()));
}

TEST(BoundedFormats, NamesLieInFilesAndKeepTheirNumbers) {
  const TemporaryFolder aside;
  const BoundedReading bound(bounded_mib, folder_of(aside));
  NameTable table;
  for (std::int64_t i = 0; i < 100'000; ++i) ASSERT_EQ(table.number(fmt::format("name {}", i * i)), i);
  for (std::int64_t i = 0; i < 100'000; i += 17) ASSERT_EQ(table.find(fmt::format("name {}", i * i)), i);
  EXPECT_TRUE(lies_in_file(table.name(5).data()));
  const NameTable small;
  EXPECT_EQ(small.find("x"), -1);
}

TEST(GrowingColumn, IsAVectorOfAnySize) {
  const TemporaryFolder aside;
  const BoundedReading bound(bounded_mib, folder_of(aside));
  GrowingColumn<std::int32_t> in_memory(nullptr), in_file;
  std::vector<std::int32_t> judge;
  const RandomStream random(1, 1);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::vector<std::int32_t> more(random.below(i, 60), static_cast<std::int32_t>(i));
    judge.insert(judge.end(), more.begin(), more.end());
    judge.push_back(-1);
    for (GrowingColumn<std::int32_t>* column : {&in_memory, &in_file}) {
      column->append(more.data(), more.size());
      column->push_back(-1);
    }
  }
  EXPECT_FALSE(lies_in_file(in_memory.data()));
  EXPECT_TRUE(lies_in_file(in_file.data()));
  EXPECT_EQ(in_memory.finish(), judge);
  EXPECT_EQ(in_file.finish(), judge);
  EXPECT_TRUE(in_file.empty());
  EXPECT_TRUE(GrowingColumn<char>().finish().empty());
}

TEST(GrowingColumn, TakesReservedMemoryOnceAndLetsTheResultBeEditedInPlace) {
  constexpr std::size_t size = 100'000;
  GrowingColumn<float> values(nullptr);
  values.reserve(size);
  values.push_back(1);
  const float* const first = values.data();
  for (std::size_t i = 1; i < size; ++i) values.push_back(2);
  EXPECT_EQ(values.data(), first);
  Column<float> column = values.finish();
  column.edit()[size - 1] = 3;
  EXPECT_EQ(column.data(), first);
  EXPECT_EQ(column.size(), size);
  EXPECT_EQ(column.back(), 3);
}

TEST(GrowingColumn, ShrinksAndGrowsAgainInMemoryAndInAFile) {
  const TemporaryFolder aside;
  const BoundedReading bound(bounded_mib, folder_of(aside));
  for (const bool in_file : {false, true}) {
    GrowingColumn<std::int64_t> values(50'000, in_file ? reading_bound() : nullptr);
    EXPECT_EQ(lies_in_file(values.data()), in_file);
    values[49'999] = 7;
    values.shrink(2);
    values.push_back(5);
    const std::vector<std::int64_t> more(60'000, 9);
    values.append(more.data(), more.size());
    std::vector<std::int64_t> judge{0, 0, 5};
    judge.insert(judge.end(), more.begin(), more.end());
    EXPECT_EQ(values.finish(), judge);
  }
}

}  // namespace
}  // namespace strobe
