// Reading within a bound of memory: rows are sorted in files, and the graph is the one that is read without a bound.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <tuple>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "tests/workloads/reading/npy_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/binary/binary_graph.hpp"
#include "workloads/reading/events/duplicates.hpp"
#include "workloads/storage/reading_bound.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;
using test::Threads;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

std::string bytes_of_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The bytes that `strobe convert` writes for the file.
std::string converted(const TemporaryFolder& folder, const std::string& path, const std::string& ids) {
  write_binary_graph(read_events(path, "", ids), folder.file("out.strobe"));
  return bytes_of_file(folder.file("out.strobe"));
}

/// Random rows that a format writes in its own way: ids and times repeat, some rows are loops, some occur twice.
struct RowSource {
  RandomStream random;
  std::uint64_t ids, times;
  std::uint64_t used = 0;

  std::uint64_t below(std::uint64_t end) { return random.below(used++, end); }
  std::string rows(std::size_t count,
                   const std::function<std::string(std::uint64_t, std::uint64_t, std::uint64_t)>& row) {
    std::string text, before;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t source = below(ids), target = below(20) == 0 ? source : below(ids);
      const bool again = below(30) == 0 && !before.empty();
      if (!again) before = row(source, target, below(times));
      text += before;
    }
    return text;
  }
};

struct Example {
  const char* name;
  std::string text;
  const char* ids = "auto";
};

std::vector<Example> examples(std::uint64_t seed) {
  constexpr std::size_t rows = 190'000;  // text in two parts at least
  const auto with = [&](std::uint64_t ids, std::uint64_t times) {
    return RowSource{RandomStream(seed, ids), ids, times};
  };
  std::vector<Example> all;
  all.push_back({"snap.txt", with(3000, 100'000).rows(rows, [](auto u, auto v, auto t) {
                   return fmt::format("{} {} {}\n", u, v, 1'300'000'000 + t);
                 })});
  all.push_back({"sparse.txt", with(90'000, 5).rows(rows, [](auto u, auto v, auto t) {
                   return fmt::format("{} {} {}.25\n", u * 77'777'777'777, v * 77'777'777'777, t);
                 })});
  all.push_back(
      {"weights.csv", "source,target,time,weight\n" + with(500, 40'000).rows(rows, [](auto u, auto v, auto t) {
         return fmt::format("{},{},{},{}\n", u, v, t, t < 20'000 ? "2" : "0.1");
       })});
  all.push_back({"names.csv", "source,target,time\n" + with(800, 700).rows(rows, [](auto u, auto v, auto t) {
                   return fmt::format("n{},m{},{}\n", u, v, t);
                 })});
  all.push_back({"many.csv", "source,target,time\n" + with(150'000, 700).rows(rows, [](auto u, auto v, auto t) {
                   return fmt::format("account of {0}'s {0},account of {1}'s {1},{2}\n", u, v, t);
                 })});
  all.push_back({"genres.csv", "ts,user_id,genre,weight\n" + with(60'000, 700).rows(rows, [](auto u, auto v, auto t) {
                   return fmt::format("{2},listener {0},genre {1},1\n", u, v, t);
                 })});
  all.push_back({"days.csv", "source,target,time\n" + with(800, 28).rows(rows, [](auto u, auto v, auto t) {
                   return fmt::format("{},{},202402{:02}\n", u, v, 1 + t);
                 })});
  all.push_back({"out.sides", "% bip weighted\n" + with(4000, 9000).rows(rows, [](auto u, auto v, auto t) {
                   return fmt::format("{} {} 1 {}\n", u, v, t);
                 })});
  all.push_back({"wiki.csv", "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n" +
                                 with(400, 90'000).rows(rows / 2, [](auto u, auto v, auto t) {
                                   return fmt::format("{},{},{}.0,{},{},{}\n", u, v, t, t % 2, t % 7,
                                                      -0.5 * double(t % 3));
                                 })});
  std::string static_rows = with(300, 1).rows(rows, [](auto u, auto v, auto) { return fmt::format("{} {}\n", u, v); });
  all.push_back({"out.static", "% asym unweighted\n" + static_rows, "offset"});
  return all;
}

/// Compares the file's conversion within these bounds with the one without a bound. Its rows exceed 3 MiB, not 24.
void expect_same_within_bounds(const TemporaryFolder& folder, const Example& example, const std::string& path,
                               const std::vector<std::uint64_t>& limits = {mib, 3 * mib, 24 * mib}) {
  const std::string whole = converted(folder, path, example.ids);
  for (const std::uint64_t limit : limits) {
    const Threads threads(limit == 3 * mib ? 3 : 1);
    const TemporaryFolder aside;
    const BoundedReading bound(limit, std::filesystem::path(aside.file("x")).parent_path().string());
    EXPECT_TRUE(converted(folder, path, example.ids) == whole) << example.name << " within " << limit;
    EXPECT_EQ(reading_bound()->exceeded, limit <= 3 * mib) << example.name << " within " << limit;
    EXPECT_FALSE(std::filesystem::exists(aside.file("strobe-pages")));
    EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(aside.file("x")).parent_path()));
  }
}

TEST(BoundedReading, EveryTextFormatGivesTheFileThatItGivesWithoutABound) {
  for (const std::uint64_t seed : {1, 2}) {
    for (const Example& example : examples(seed)) {
      const TemporaryFolder folder;
      expect_same_within_bounds(folder, example, folder.write(example.name, example.text),
                                {mib, seed == 1 ? 24 * mib : 3 * mib});
    }
  }
}

TEST(BoundedReading, SortedAndCompressedFilesAreTheSameToo) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 250'000; ++i) text += fmt::format("{} {} {}\n", i % 991, i % 77, i / 3);
  expect_same_within_bounds(folder, {"sorted.txt", ""}, folder.write("sorted.txt", text));
  const std::string zipped = folder.file("sorted.txt.gz");
  gzFile file = gzopen(zipped.c_str(), "wb1");
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  gzclose(file);
  expect_same_within_bounds(folder, {"sorted.txt.gz", ""}, zipped);
}

/// Rows of TGL and TGN that take their features from other rows of an array: feature f of array row r is 10 r + f.
TEST(BoundedReading, ArraysOfEdgeFeaturesAreTakenByRowNumberAndGiveTheSameFile) {
  constexpr std::uint64_t rows = 150'000;
  const RandomStream random(11, 1);
  std::string tgl = ",src,dst,time,ext_roll\n", tgn = ",u,i,ts,label,idx\n";
  std::vector<std::pair<std::uint64_t, std::uint64_t>> row_of_time;
  std::vector<float> array;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const std::uint64_t time = random.below(4 * i, 9000), row = random.below(4 * i + 1, rows);
    const std::uint64_t source = random.below(4 * i + 2, 700), target = random.below(4 * i + 3, 700);
    tgl += fmt::format("{},{},{},{},{}\n", row, source, target, time, i % 3);
    tgn += fmt::format("{},{},{},{},{},{}\n", i, source, target, time, i % 2, row);
    row_of_time.emplace_back(time, row);
    for (std::uint64_t f = 0; f < 3; ++f) array.push_back(static_cast<float>(10 * i + f));
  }
  std::stable_sort(row_of_time.begin(), row_of_time.end(), [](auto a, auto b) { return a.first < b.first; });
  for (const auto& [name, text, features] :
       {std::tuple<const char*, std::string, const char*>{"edges.csv", tgl, "edge_features.npy"},
        {"ml_a.csv", tgn, "ml_a.npy"}}) {
    const TemporaryFolder folder;
    const std::string path = folder.write(name, text);
    folder.write(features, test::npy<float>("<f4", fmt::format("({}, 3)", rows), array));
    const EventGraph events = read_events(path);
    ASSERT_EQ(events.edge_features.size(), 3 * rows);
    for (std::size_t i = 0; i < 3 * rows; ++i)
      ASSERT_EQ(events.edge_features[i], static_cast<float>(10 * row_of_time[i / 3].second + i % 3)) << i;
    expect_same_within_bounds(folder, {name, ""}, path);
  }
}

TEST(BoundedReading, DuplicatesOfManyEventsOfOneTimeAreThoseOfASet) {
  const RandomStream random(5, 1);
  EventGraph graph;
  std::vector<VertexId> source, target;
  std::vector<double> times;
  std::set<std::tuple<double, VertexId, VertexId>> distinct;
  constexpr std::uint64_t events = 900'000;
  for (std::uint64_t e = 0; e < events; ++e) {
    times.push_back(e < 1000 ? static_cast<double>(e / 10) : 500);
    source.push_back(static_cast<VertexId>(random.below(2 * e, e % 3 == 0 ? 2 : 900)));
    target.push_back(static_cast<VertexId>(random.below(2 * e + 1, 900)));
    distinct.emplace(times.back(), source.back(), target.back());
  }
  graph.source = std::move(source), graph.target = std::move(target), graph.time = std::move(times);
  const auto expected = static_cast<std::int64_t>(events - distinct.size());
  EXPECT_EQ(count_duplicates(graph), expected);
  const TemporaryFolder folder;
  const BoundedReading bound(mib, folder.file(""));  // three passes
  EXPECT_EQ(count_duplicates(graph), expected);
}

TEST(BoundedReading, ComplaintsAreTheSame) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 250'000; ++i) text += fmt::format("{} {} {}\n", i % 991, i % 77, 9'000'000 - i);
  const std::string path = folder.write("late.txt", text + "1 x 3\n" + text);
  const auto complaint = [&] {
    try {
      read_events(path);
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string whole = complaint();
  EXPECT_NE(whole.find("250001"), std::string::npos) << whole;
  const BoundedReading bound(mib, folder.file(""));
  EXPECT_EQ(complaint(), whole);
  EXPECT_TRUE(reading_bound()->exceeded);
}

TEST(BoundedReading, ADiskWithoutRoomIsNamedWithWhatWasNeeded) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 250'000; ++i) text += fmt::format("{} {} {}\n", i % 991, i % 77, i);
  const std::string path = folder.write("rows.txt", text);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 17, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    const BoundedReading bound(mib, folder.file(""));
    read_events(path);
  } catch (const SystemError& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old);
  EXPECT_NE(message.find("needs"), std::string::npos) << message;
  EXPECT_NE(message.find("are free"), std::string::npos) << message;
}

}  // namespace
}  // namespace strobe
