#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

void expect_same_events(const EventGraph& a, const EventGraph& b) {
  EXPECT_EQ(a.vertices, b.vertices);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.original_id, b.original_id);
  EXPECT_EQ(a.stepped, b.stepped);
}

/// Five events, an odd number of everything, times that need all their digits.
EventGraph awkward_graph() {
  EventGraph graph =
      test::make_events(3, {{0, 1, -0.1}, {2, 1, 1.0 / 3}, {1, 1, 885635999.999997}, {0, 2, 1e9 + 1e-6}, {2, 0, 2e11}},
                        {0.1f, -3.0f, 0.0f, 1e-30f, 16777217.0f});
  graph.original_id = {7, 8, 9223372036854775807};
  graph.vertex_label = {0, 1, 0};
  graph.provenance.name = "awkward \"name\"\n";
  graph.provenance.rows = 5;
  graph.provenance.notes = {"one", "two"};
  return graph;
}

TEST(BinaryGraph, RoundTripIsExact) {
  const TemporaryFolder folder;
  const EventGraph graph = awkward_graph();
  write_binary_graph(graph, folder.file("g.bin"));
  const EventGraph back = read_binary_graph(folder.file("g.bin"));
  expect_same_events(graph, back);
  EXPECT_EQ(back.vertex_label, graph.vertex_label);
  EXPECT_EQ(back.provenance.name, graph.provenance.name);
  EXPECT_EQ(back.provenance.notes, graph.provenance.notes);
  EXPECT_EQ(back.provenance.rows, 5);
}

/// Also without the graph, which is then a file of its own, and without any event.
TEST(BinaryGraph, EventsAndNeighboursPassToOtherProcessesUnchanged) {
  const TemporaryFolder folder;
  const EventGraph graph = awkward_graph();
  const TimeCsr neighbours = make_time_csr(graph);
  const auto keeper = std::make_shared<const int>(0);
  for (const bool whole : {true, false}) {
    write_passing_events(whole ? &graph : nullptr, neighbours, folder.file("passing"));
    const PassingEvents back = read_passing_events(folder.file("passing"), keeper);
    EXPECT_EQ(back.neighbours.offsets, neighbours.offsets);
    EXPECT_EQ(back.neighbours.entries, neighbours.entries);
    EXPECT_EQ(back.neighbours.entries.own_bytes(), 0u);
    if (whole) expect_same_events(back.graph, graph);
    EXPECT_EQ(back.graph.events(), whole ? graph.events() : 0);
  }
  EXPECT_EQ(keeper.use_count(), 1);
  write_passing_events(nullptr, make_time_csr(EventGraph{}), folder.file("empty"));
  EXPECT_EQ(read_passing_events(folder.file("empty"), nullptr).neighbours.entries.size(), 0u);
}

TEST(BinaryGraph, OfBundledDataEqualsTheSourceAndIsAWorkload) {
  const TemporaryFolder folder;
  for (const std::string& name : DatasetRegistry::instance().names()) {
    const EventGraph graph = load_events(name, Json::object()).value();
    write_binary_graph(graph, folder.file(name));
    const EventGraph back = read_events(folder.file(name));
    expect_same_events(graph, back);
    EXPECT_EQ(back.provenance.format, "strobe-binary");
    EXPECT_EQ(back.provenance.sha256, graph.provenance.sha256);
    EXPECT_EQ(load_workload(folder.file(name), Json::object(), 1).edges(),
              make_snapshots(graph, graph.stepped ? Windowing{} : Windowing{.count = 20}).edges());
  }
}

TEST(BinaryGraph, EveryTruncationAndEveryFlippedByteIsRefused) {
  const TemporaryFolder folder;
  write_binary_graph(awkward_graph(), folder.file("g.bin"));
  const std::string bytes = test::read_bytes(folder.file("g.bin"));
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_THROW(read_binary_graph(folder.write("cut.bin", bytes.substr(0, size))), InvalidInput) << size;
  }
  EXPECT_THROW(read_binary_graph(folder.write("longer.bin", bytes + "x")), InvalidInput);
  for (std::size_t at = 0; at < bytes.size(); at += 5) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_THROW(read_binary_graph(folder.write("flip.bin", damaged)), InvalidInput) << at;
  }
}

/// Copies bytes into a new file, which therefore has another inode and time than its header says.
std::string copy_of(const TemporaryFolder& folder, const std::string& name) {
  return folder.write("copy-of-" + name, test::read_bytes(folder.file(name)));
}

/// Changes the byte before the last of a file, and puts its times back as far as its owner can.
void damage_and_put_time_back(const std::string& path) {
  struct stat before {};
  ASSERT_EQ(stat(path.c_str(), &before), 0);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-2, std::ios::end).put('?').flush();
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(BinaryGraph, AChangedFileIsCheckedInFullForAllTimes) {
  const TemporaryFolder folder;
  write_binary_graph(awkward_graph(), folder.file("g.bin"));
  expect_same_events(awkward_graph(), read_binary_graph(copy_of(folder, "g.bin")));
  expect_same_events(awkward_graph(), read_binary_graph(folder.file("g.bin")));
  damage_and_put_time_back(folder.file("g.bin"));
  EXPECT_THROW(read_binary_graph(folder.file("g.bin")), InvalidInput);
}

/// A seal as its file's owner could write it now, for the file as it is.
void seal_again(const TemporaryFolder& folder, const std::string& name) {
  struct stat status {};
  ASSERT_EQ(stat(folder.file(name).c_str(), &status), 0);
  const auto nanoseconds = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
  const std::string digest = test::read_bytes(folder.file(name)).substr(48, 64);
  folder.write(name + ".seal", "strobe seal 2\n" + std::to_string(status.st_ino) + ' ' +
                                   std::to_string(nanoseconds(status.st_mtim)) + ' ' +
                                   std::to_string(nanoseconds(status.st_ctim)) + ' ' + digest + '\n');
}

TEST(BinaryGraph, ASealSavesTheChecksumsOnly) {
  const TemporaryFolder folder;
  write_binary_graph(awkward_graph(), folder.file("g.bin"));
  damage_and_put_time_back(folder.file("g.bin"));
  seal_again(folder, "g.bin");
  EXPECT_NO_THROW(read_binary_graph(folder.file("g.bin"))) << "the damage is in a label, which no reader minds";
  EXPECT_THROW(read_binary_graph(folder.file("g.bin"), true), InvalidInput) << "verify did not verify";
}

TEST(BinaryGraph, ImpossibleValuesAreRefusedFromASealedFileToo) {
  const TemporaryFolder folder;
  const auto refused = [&](const char* what, const std::function<void(EventGraph&)>& spoil) {
    EventGraph graph = test::make_events(4, {{0, 1, 0}, {1, 2, 1}, {2, 3, 2}});
    graph.weight = std::vector<float>{1, 2, 3};
    graph.event_label = std::vector<std::int8_t>{0, 1, 0};
    graph.timed_labels = {{0, 1}, {0, 1}, {1, 2}, {1, 1}};
    write_binary_graph(graph, folder.file("good.bin"));
    EXPECT_NO_THROW(read_binary_graph(folder.file("good.bin")));
    spoil(graph);
    write_binary_graph(graph, folder.file("bad.bin"));  // sealed, with checksums that are right
    EXPECT_THROW(read_binary_graph(folder.file("bad.bin")), InvalidInput) << what;
  };
  refused("an id that is no vertex", [](EventGraph& g) { g.source = std::vector<VertexId>{0, 1 << 30, 2}; });
  refused("a negative id", [](EventGraph& g) { g.target = std::vector<VertexId>{1, -1, 3}; });
  refused("times out of order", [](EventGraph& g) { g.time = std::vector<double>{0, 2, 1}; });
  refused("a time that is no number", [](EventGraph& g) { g.time = std::vector<double>{0, 1, std::nan("")}; });
  refused("an endless weight", [](EventGraph& g) { g.weight = std::vector<float>{1, HUGE_VALF, 3}; });
  refused("a negative class", [](EventGraph& g) { g.event_label = std::vector<std::int8_t>{0, -3, 0}; });
  refused("a label of no vertex", [](EventGraph& g) { g.timed_labels.vertex.edit()[1] = 4; });
  refused("a negative class of a vertex", [](EventGraph& g) { g.timed_labels.label.edit()[0] = -1; });
  refused("labels out of order", [](EventGraph& g) { g.timed_labels.time.edit()[0] = 9; });
}

TEST(BinaryGraph, EqualGraphsAreEqualFiles) {
  const TemporaryFolder folder;
  write_binary_graph(awkward_graph(), folder.file("a.bin"));
  write_binary_graph(awkward_graph(), folder.file("b.bin"));
  EXPECT_EQ(test::read_bytes(folder.file("a.bin")), test::read_bytes(folder.file("b.bin")));
  EXPECT_NE(test::read_bytes(folder.file("a.bin.seal")), test::read_bytes(folder.file("b.bin.seal")));
}

TEST(BinaryGraph, ALinkInTheSealsPlaceLeadsNowhere) {
  const TemporaryFolder folder;
  folder.write("victim", "precious");
  std::filesystem::create_symlink("victim", folder.file("a.bin.seal"));
  std::filesystem::create_symlink("new", folder.file("b.bin.seal"));
  write_binary_graph(awkward_graph(), folder.file("a.bin"));
  write_binary_graph(awkward_graph(), folder.file("b.bin"));
  EXPECT_EQ(test::read_bytes(folder.file("victim")), "precious");
  EXPECT_FALSE(std::filesystem::exists(folder.file("new")));
}

TEST(BinaryGraph, ASealIsGoodForItsFileAlone) {
  const TemporaryFolder folder;
  write_binary_graph(awkward_graph(), folder.file("a.bin"));
  std::string damaged = test::read_bytes(folder.file("a.bin"));
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  folder.write("b.bin", damaged);
  folder.write("b.bin.seal", test::read_bytes(folder.file("a.bin.seal")));  // of another inode
  EXPECT_THROW(read_binary_graph(folder.file("b.bin")), InvalidInput);
  std::filesystem::remove(folder.file("a.bin.seal"));
  expect_same_events(awkward_graph(), read_binary_graph(folder.file("a.bin")));
  std::filesystem::create_symlink("a.bin", folder.file("link"));
  expect_same_events(awkward_graph(), read_binary_graph(folder.file("link")));
}

/// Writes the inode and time of modification of the file into its header, as files of before have them.
void seal_inside(const std::string& path) {
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  std::string bytes = test::read_bytes(path);
  const std::uint64_t inode = status.st_ino;
  const std::int64_t modified = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  std::memcpy(bytes.data() + 32, &inode, sizeof(inode));
  std::memcpy(bytes.data() + 40, &modified, sizeof(modified));
  std::uint64_t description = 0;
  std::memcpy(&description, bytes.data() + 16, sizeof(description));
  std::string head = bytes.substr(0, 128);
  std::fill_n(head.begin() + 48, 64, '\0');
  bytes.replace(48, 64, sha256_hex(head + bytes.substr(128, description)));
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << bytes;
  const timespec times[2] = {status.st_mtim, status.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(BinaryGraph, TheSealInsideOlderFilesIsNotTrusted) {
  const TemporaryFolder folder;
  write_binary_graph(awkward_graph(), folder.file("old.bin"));
  std::filesystem::remove(folder.file("old.bin.seal"));
  seal_inside(folder.file("old.bin"));
  expect_same_events(awkward_graph(), read_binary_graph(folder.file("old.bin")));
  damage_and_put_time_back(folder.file("old.bin"));
  EXPECT_THROW(read_binary_graph(folder.file("old.bin")), InvalidInput);
}

/// A file with packed times whose first place, or first word of ones, was replaced; all checksums are right.
std::string with_damaged_times(const TemporaryFolder& folder, std::uint64_t place, std::uint64_t ones) {
  EventGraph graph = test::make_events(2, {{0, 1, 0}});
  std::vector<double> times(1000);
  std::iota(times.begin(), times.end(), 5.0);
  graph.source = std::vector<VertexId>(1000, 0), graph.target = graph.source;
  const PackedTimes packed = test::pack(times);
  std::vector<std::uint64_t> places = packed.places().copy(), words = packed.words().copy();
  places[0] = place != 0 ? place : places[0];
  words[1] = ones != 0 ? ones : words[1];
  graph.time = PackedTimes(times.size(), packed.bases(), places, words);
  write_binary_graph(graph, folder.file("times"));
  return copy_of(folder, "times");
}

TEST(BinaryGraph, DamagedPackedTimesWithValidChecksumsAreRefused) {
  const TemporaryFolder folder;
  const EventGraph sound = read_binary_graph(with_damaged_times(folder, 0, 0));
  ASSERT_TRUE(sound.time.compact());
  for (std::size_t e = 0; e < 1000; ++e) ASSERT_EQ(sound.time[e], 5.0 + static_cast<double>(e));
  for (const std::uint64_t place :
       {std::uint64_t{1} << 60, std::uint64_t{9} << 16, std::uint64_t{8} << 16 | 64 << 8, std::uint64_t{8} << 16 | 11,
        std::uint64_t{7} << 16, std::uint64_t{1} << 24 | 8 << 16})
    EXPECT_THROW(read_binary_graph(with_damaged_times(folder, place, 0)), InvalidInput) << place;
  EXPECT_THROW(read_binary_graph(with_damaged_times(folder, 0, 1)), InvalidInput);
  EXPECT_THROW(read_binary_graph(with_damaged_times(folder, 0, ~std::uint64_t{0})), InvalidInput);
}

TEST(BinaryGraph, KeepsEveryColumn) {
  const TemporaryFolder folder;
  EventGraph graph = awkward_graph();
  graph.event_label = {1, -1, 0, 5, 127};
  graph.edge_feature_width = 2;
  graph.edge_features = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  graph.vertex_feature_width = 1;
  graph.vertex_features = {0.5f, -1, 3};
  graph.timed_labels = {{0, 2}, {1.5, 2.5}, {3, 0}, {1, 0.25f}};
  graph.two_sided = true;
  write_binary_graph(graph, folder.file("g.bin"));
  const EventGraph back = read_binary_graph(copy_of(folder, "g.bin"));
  expect_same_events(graph, back);
  EXPECT_EQ(back.event_label, graph.event_label);
  EXPECT_EQ(back.edge_features, graph.edge_features);
  EXPECT_EQ(back.vertex_features, graph.vertex_features);
  EXPECT_EQ(back.timed_labels.vertex, graph.timed_labels.vertex);
  EXPECT_EQ(back.timed_labels.time, graph.timed_labels.time);
  EXPECT_EQ(back.timed_labels.label, graph.timed_labels.label);
  EXPECT_EQ(back.timed_labels.share, graph.timed_labels.share);
  EXPECT_TRUE(back.two_sided);
}

TEST(BinaryGraph, ColumnsOutliveTheNameOfTheFile) {
  const TemporaryFolder folder;
  write_binary_graph(awkward_graph(), folder.file("g.bin"));
  EventGraph back = read_binary_graph(folder.file("g.bin"));
  std::filesystem::remove(folder.file("g.bin"));
  const Column<VertexId> kept = back.source;
  back.source.edit()[0] = 2;
  EXPECT_EQ(kept[0], 0) << "a change went into the view";
  back = EventGraph();
  EXPECT_EQ(kept, awkward_graph().source);
}

TEST(BinaryGraph, ValidChecksumsOverImpossibleContentAreRefused) {
  const TemporaryFolder folder;
  EventGraph outside = awkward_graph(), unsorted = awkward_graph();
  outside.source.edit()[2] = 3;
  unsorted.time = {2, 1, 3, 4, 5};
  write_binary_graph(outside, folder.file("outside"));
  write_binary_graph(unsorted, folder.file("unsorted"));
  EXPECT_THROW(read_binary_graph(copy_of(folder, "outside")), InvalidInput);
  EXPECT_THROW(read_binary_graph(copy_of(folder, "unsorted")), InvalidInput);
}

TEST(BinaryGraph, FailedWritesLeaveNoFile) {
  const TemporaryFolder folder;
  EXPECT_THROW(write_binary_graph(awkward_graph(), folder.file("missing/g.bin")), SystemError);
  mkdir(folder.file("taken").c_str(), 0755);
  EXPECT_THROW(write_binary_graph(awkward_graph(), folder.file("taken")), SystemError) << "a folder is in the way";
  EXPECT_THROW(write_csv(awkward_graph(), "/dev/full/g.csv"), SystemError);
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("."))) entries += entry.is_regular_file();
  EXPECT_EQ(entries, 0) << "a temporary file was left";
}

TEST(Csv, RoundTripIsExact) {
  const TemporaryFolder folder;
  const EventGraph graph = awkward_graph();
  write_csv(graph, folder.file("g.csv"));
  expect_same_events(graph, read_events(folder.file("g.csv")));
  EventGraph bare = graph;
  bare.weight.clear();
  bare.stepped = true;
  bare.time = {0, 1, 1, 7, 2000000000};
  write_csv(bare, folder.file("bare.csv"));
  EXPECT_EQ(test::read_bytes(folder.file("bare.csv")).substr(0, 26), "source,target,step\n7,8,0\n9");
  expect_same_events(bare, read_events(folder.file("bare.csv")));
}

TEST(Csv, OfBundledDataEqualsTheSource) {
  const TemporaryFolder folder;
  for (const std::string& name : DatasetRegistry::instance().names()) {
    const EventGraph graph = load_events(name, Json::object()).value();
    write_csv(graph, folder.file(name + ".csv"));
    expect_same_events(graph, read_events(folder.file(name + ".csv")));
  }
}

}  // namespace
}  // namespace strobe
