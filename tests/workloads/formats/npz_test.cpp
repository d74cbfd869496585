// NumPy archives: every way to name ends and times, both orders of memory, and archives that are damaged or odd.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "core/errors.hpp"
#include "tests/workloads/reading/npy_support.hpp"
#include "tests/workloads/reading/npz_support.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/reading/text/zip_archive.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

using test::any_note;
using test::archive;
using test::little;
using test::npy;
using test::TemporaryFolder;

using Ints = std::vector<std::int64_t>;
std::string ints(const Ints& values, const std::string& shape = "") {
  return npy("<i8", shape.empty() ? fmt::format("({},)", values.size()) : shape, values);
}

EventGraph read(const std::string& path) { return *load_events(path, {{"cache", "off"}}); }

std::string refusal(const std::string& path) {
  try {
    read(path);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing was refused";
}

void expect_events(const EventGraph& graph, const std::string& what) {
  EXPECT_EQ(graph.original_id, (std::vector<std::int64_t>{3, 5, 9})) << what;
  EXPECT_EQ(graph.source, (std::vector<VertexId>{0, 1, 2})) << what;
  EXPECT_EQ(graph.target, (std::vector<VertexId>{1, 2, 0})) << what;
  EXPECT_TRUE(graph.time == (std::vector<double>{10, 20, 40})) << what;
}

TEST(Npz, ReadsEveryFormOfEnds) {
  const TemporaryFolder folder;
  const std::string times = ints({10, 20, 40});
  std::string transposed = ints({3, 5, 9, 5, 9, 3}, "(3, 2)");  // the memory of [2, 3]
  transposed.replace(transposed.find("False"), 5, "True ");
  const std::vector<std::vector<std::pair<std::string, std::string>>> files = {
      {{"edge_index", ints({3, 5, 9, 5, 9, 3}, "(2, 3)")}, {"t", times}},
      {{"x", ints({1})}, {"edge_index", ints({3, 5, 5, 9, 9, 3}, "(3, 2)")}, {"edge_timestamp", times}},
      {{"edge_index", transposed}, {"edge_timestamp", times}},
      {{"src", ints({3, 5, 9})}, {"dst", ints({5, 9, 3})}, {"t", npy<double>("<f8", "(3, 1)", {10, 20, 40})}},
      {{"sources", npy<std::int32_t>("<i4", "(3,)", {3, 5, 9})},
       {"destinations", npy<float>("<f4", "(3,)", {5, 9, 3})},
       {"timestamps", times}}};
  for (std::size_t i = 0; i < files.size(); ++i)
    for (const bool packed : {false, true})
      expect_events(read(folder.write(fmt::format("{}{}.npz", i, packed), archive(files[i], packed))),
                    fmt::format("file {} packed {}", i, packed));
}

TEST(Npz, ReadsWeightsAndFeaturesAndNamesTheRest) {
  const TemporaryFolder folder;
  const EventGraph graph = read(folder.write("a.npz", archive({{"src", ints({3, 5, 9})},
                                                               {"dst", ints({5, 9, 3})},
                                                               {"t", ints({40, 20, 10})},
                                                               {"weight", npy<double>("<f8", "(3,)", {0.5, 1.5, 2.5})},
                                                               {"msg", npy<float>("<f4", "(3, 2)", {1, 2, 3, 4, 5, 6})},
                                                               {"y", ints({0, 1, 0})}},
                                                              true)));
  EXPECT_TRUE(graph.time == (std::vector<double>{10, 20, 40}));
  EXPECT_EQ(graph.weight, (std::vector<float>{2.5, 1.5, 0.5}));
  EXPECT_EQ(graph.edge_feature_width, 2);
  EXPECT_EQ(graph.edge_features, (std::vector<float>{5, 6, 3, 4, 1, 2}));
  EXPECT_TRUE(any_note(graph, "arrays that are not read: y"));
}

TEST(Npz, RefusesFilesThatHoldNoEvents) {
  const TemporaryFolder folder;
  const auto pair = std::pair<std::string, std::string>("edge_index", ints({3, 5, 9, 5, 9, 3}, "(2, 3)"));
  const std::vector<std::pair<std::vector<std::pair<std::string, std::string>>, std::string>> files = {
      {{pair}, "no array of times"},
      {{{"t", ints({1})}}, "no arrays of edges"},
      {{pair, {"t", ints({1, 2})}}, "times have the shape [2] for 3 edges"},
      {{pair, {"t", ints({1, 2, 3})}, {"ts", ints({1, 2, 3})}}, "t and ts may mean the same"},
      {{{"edge_index", ints({1, 2, 3, 4}, "(2, 2)")}, {"t", ints({1, 2})}}, "not plain which axis is the ends"},
      {{{"edge_index", ints({1, 2, 3}, "(3, 1)")}, {"t", ints({1, 2, 3})}}, "[2, E] or [E, 2] is read"},
      {{{"src", ints({1, -2})}, {"dst", ints({1, 2})}, {"t", ints({1, 2})}}, "a vertex id is -2"},
      {{{"src", ints({1})}, {"dst", ints({1, 2})}, {"t", ints({1})}}, "1 sources and 2 targets"},
      {{pair, {"t", ints({1, 2, 1388534400000})}}, "are these milliseconds?"},
      {{pair, {"t", npy<double>("<f8", "(3,)", {1, 2, NAN})}}, "time nan"},
      {{pair, {"t", npy<std::int16_t>("<i2", "(3,)", {1, 2, 3})}}, "only <f4, <f8, <i4 and <i8"},
      {{pair, {"t", ints({1, 2, 3})}, {"msg", npy<double>("<f8", "(3,)", {1, 2, 1e39})}}, "not a finite fp32"}};
  for (const auto& [arrays, fragment] : files) {
    const std::string text = refusal(folder.write("x.npz", archive(arrays, false)));
    EXPECT_NE(text.find(fragment), std::string::npos) << text;
  }
}

TEST(Npz, RefusesDamagedArchives) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> arrays = {
      {"src", ints({3, 5, 9})}, {"dst", ints({5, 9, 3})}, {"t", ints({10, 20, 40})}};
  std::mt19937 random(5);
  for (const bool packed : {false, true}) {
    const std::string whole = archive(arrays, packed);
    for (std::size_t size = 0; size < whole.size(); size += 7)
      EXPECT_NE(refusal(folder.write("cut.npz", whole.substr(0, size))), "nothing was refused") << size;
    for (int round = 0; round < 500; ++round) {
      std::string changed = whole;
      changed[random() % changed.size()] ^= static_cast<char>(1 << random() % 8);
      try {  // a bit that nothing depends on may change; numbers may not
        expect_events(read(folder.write("flip.npz", changed)), "a flipped bit was read over");
      } catch (const Error&) {
      }
    }
  }
  const std::string text =
      refusal(folder.write("sheet.zip", "PK\3\4" + little(0, 22) + little(5, 2) + little(0, 2) + "a.xml"));
  EXPECT_NE(text.find("zip archive (or a spreadsheet"), std::string::npos) << text;
}

}  // namespace
}  // namespace strobe
