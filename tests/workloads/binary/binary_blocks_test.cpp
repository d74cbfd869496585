// Blocks of a binary graph: what is read is what the whole file says, and only what is read is checked.
#include "workloads/binary/binary_blocks.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/random.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/binary/binary_graph.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

constexpr std::int64_t blocks_events = 2 * block_events + 12'345;

/// Events of three blocks; `scale` decides whether times are packed.
EventGraph three_blocks(double scale) {
  const RandomStream random(3, 1);
  EventGraph graph;
  graph.vertices = 1000;
  std::vector<VertexId> source, target;
  std::vector<double> time, exact;
  std::vector<float> weight;
  std::vector<std::int64_t> ids;
  for (std::uint64_t e = 0; e < static_cast<std::uint64_t>(blocks_events); ++e) {
    source.push_back(static_cast<VertexId>(random.below(2 * e, 1000)));
    target.push_back(static_cast<VertexId>(random.below(2 * e + 1, 1000)));
    time.push_back(scale * static_cast<double>(e / 5));
    exact.push_back(0.1 * static_cast<double>(e % 9));
    weight.push_back(static_cast<float>(exact.back()));
  }
  for (std::int64_t v = 0; v < 1000; ++v) ids.push_back(v);
  PackedTimes packed = test::pack(time);
  graph.time = packed.empty() ? TimeColumn(std::move(time)) : TimeColumn(std::move(packed));
  graph.source = std::move(source), graph.target = std::move(target);
  graph.weight = std::move(weight), graph.exact_weight = std::move(exact);
  graph.original_id = std::move(ids);
  return graph;
}

void expect_part(const EventGraph& part, const EventGraph& whole, std::int64_t first) {
  ASSERT_LE(first + part.events(), whole.events());
  bool same = true;
  for (std::int64_t e = 0; e < part.events(); ++e) {
    const std::size_t i = e, j = first + e;
    same = same && part.source[i] == whole.source[j] && part.target[i] == whole.target[j] &&
           part.time[i] == whole.time[j] && part.weight[i] == whole.weight[j] &&
           part.exact_weight[i] == whole.exact_weight[j];
  }
  EXPECT_TRUE(same) << "from event " << first;
}

TEST(BinaryBlocks, PartsOfAFileAreThoseOfTheWhole) {
  for (const double scale : {1.0, 0.1234567890123}) {
    const TemporaryFolder folder;
    const EventGraph graph = three_blocks(scale);
    write_binary_graph(graph, folder.file("a.strobe"));
    expect_part(read_binary_graph(folder.file("a.strobe"), true), graph, 0);
    const BinaryBlocks file(folder.file("a.strobe"));
    ASSERT_EQ(file.blocks(), 3);
    expect_part(file.read(0, 3), graph, 0);
    expect_part(file.read(1, 1), graph, block_events);
    expect_part(file.read(2, 1), graph, 2 * block_events);
    EXPECT_EQ(file.read(2, 1).events(), 12'345);
    EXPECT_THROW(file.read(3, 1), InvalidRequest);
  }
}

TEST(BinaryBlocks, ARangeOfTimeNamesExactlyTheBlocksWithItsEvents) {
  const TemporaryFolder folder;
  const EventGraph graph = three_blocks(1);
  write_binary_graph(graph, folder.file("a.strobe"));
  const BinaryBlocks file(folder.file("a.strobe"));
  const double border = graph.time[block_events], last = graph.time[blocks_events - 1];
  for (const auto& [begin, end] : {std::pair{0.0, 1.0},
                                   {0.0, border},
                                   {border, border + 0.5},
                                   {border + 1, last},
                                   {last, last + 1},
                                   {last + 1, last + 9},
                                   {-5.0, 0.0},
                                   {-5.0, last + 1}}) {
    std::int64_t least = 3, most = -1;
    for (std::int64_t e = 0; e < blocks_events; ++e) {
      if (graph.time[e] < begin || graph.time[e] >= end) continue;
      least = std::min(least, e / block_events), most = std::max(most, e / block_events);
    }
    const auto [first, count] = file.find(begin, end);
    EXPECT_EQ(count, std::max<std::int64_t>(0, most - least + 1)) << begin << " to " << end;
    EXPECT_EQ(count > 0 ? first : least, least) << begin << " to " << end;
  }
}

/// Flips a bit of event `event` in a section of 4-byte values.
void damage(const std::string& path, const std::string& section, std::int64_t event) {
  const BinaryFile file(binary_graph_kind, path);
  std::uint64_t at = 0;
  for (const Json& entry : file.description().at("sections"))
    if (entry.at("name") == section) at = entry.at("offset").get<std::uint64_t>();
  const std::uint64_t size = std::filesystem::file_size(path);
  const Json& last = file.description().at("sections").back();
  const std::uint64_t width = last.at("type") == "i8" ? 1 : 8;
  const std::uint64_t begin =
      size - last.at("offset").get<std::uint64_t>() - width * last.at("count").get<std::uint64_t>();
  std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto place = static_cast<std::streamoff>(begin + at + 4 * static_cast<std::uint64_t>(event));
  stream.seekg(place);
  const int byte = stream.get();
  stream.seekp(place);
  stream.put(static_cast<char>(byte ^ 1));
}

TEST(BinaryBlocks, ADamagedBlockIsFoundWhereItIsReadAndOthersAreRead) {
  for (const char* section : {"source", "target", "weight"}) {
    const TemporaryFolder folder;
    const EventGraph graph = three_blocks(1);
    const std::string path = folder.file("a.strobe");
    write_binary_graph(graph, path);
    damage(path, section, block_events + 7);
    const BinaryBlocks file(path);
    expect_part(file.read(0, 1), graph, 0);
    expect_part(file.read(2, 1), graph, 2 * block_events);
    EXPECT_THROW(file.read(1, 1), InvalidInput) << section;
    EXPECT_THROW(file.read(0, 3), InvalidInput) << section;
    EXPECT_THROW(read_binary_graph(path), InvalidInput) << section;
  }
}

TEST(BinaryBlocks, ASmallFileHasNoIndexAndIsCheckedWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.strobe");
  EventGraph graph;
  graph.vertices = 2;
  graph.source = {0, 1, 0}, graph.target = {1, 0, 1}, graph.time = {1.0, 2.0, 2.5};
  graph.original_id = {4, 9};
  write_binary_graph(graph, path);
  EXPECT_FALSE(BinaryFile(binary_graph_kind, path).description().contains("block_events"));
  const BinaryBlocks file(path);
  EXPECT_EQ(file.find(2, 3), (std::pair<std::int64_t, std::int64_t>{0, 1}));
  EXPECT_TRUE(file.read(0, 1).time == graph.time);
  damage(path, "target", 1);
  EXPECT_THROW(BinaryBlocks{path}, InvalidInput);
}

}  // namespace
}  // namespace strobe
