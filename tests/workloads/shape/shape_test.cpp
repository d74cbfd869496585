// Shapes: their counts compared with counting by hand, their files, and the published ones.
#include "workloads/shape/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "core/errors.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/inspect.hpp"
#include "workloads/preparation/preprocess.hpp"
#include "workloads/storage/strict_json.hpp"

namespace strobe {
namespace {

using test::TemporaryFolder;

/// steps: {0>1, 1>2}, {0>1, 2>2}, {}, {2>0, 0>1}
SnapshotGraph small_graph() {
  EventGraph events =
      test::make_events(4, {{0, 1, 0}, {1, 2, 0}, {0, 1, 1}, {0, 1, 1}, {2, 2, 1}, {2, 0, 3}, {0, 1, 3}});
  events.stepped = true;
  return make_snapshots(events, {});
}

std::vector<std::int64_t> values_of(const Histogram& histogram) {
  std::vector<std::int64_t> values;  // all below 16, so bins are values
  for (const Histogram::Bin& bin : histogram.bins)
    values.insert(values.end(), static_cast<std::size_t>(bin.count), bin.low);
  return values;
}

TEST(Shape, CountsASmallGraphByHand) {
  const GraphStatistics shape = measure_statistics(small_graph(), "small", {1, 2, 3});
  EXPECT_EQ(shape.vertices, 4);
  EXPECT_EQ(shape.steps, 4);
  EXPECT_EQ(shape.feature_width, 2);
  EXPECT_EQ(shape.edges, 6);
  EXPECT_EQ(shape.edges_per_step, (std::vector<std::int64_t>{2, 2, 0, 2}));
  EXPECT_EQ(shape.active_vertices_per_step, (std::vector<std::int64_t>{3, 3, 0, 3}));
  EXPECT_EQ(shape.active_cells, 9);
  EXPECT_EQ(shape.self_loops_per_step, (std::vector<std::int64_t>{0, 1, 0, 0}));
  EXPECT_TRUE(std::isnan(shape.overlap_per_step[0]));
  EXPECT_EQ(shape.overlap_per_step[1], 0.5);
  EXPECT_TRUE(std::isnan(shape.overlap_per_step[2]));
  EXPECT_EQ(shape.overlap_per_step[3], 0.0);
  EXPECT_EQ(shape.overlap_mean, 0.25);
  // 0>1 comes again after 1 and 2 steps and ends with the graph; 1>2 stays 4 steps, 2>2 3, 2>0 1.
  EXPECT_EQ(shape.edge_lives, (std::vector<std::int64_t>{3, 1, 1, 1}));
  EXPECT_EQ(values_of(*shape.sequence_length), (std::vector<std::int64_t>{0, 3, 3, 3}));
  EXPECT_EQ(values_of(*shape.vertex_in_degree), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(values_of(*shape.vertex_out_degree), (std::vector<std::int64_t>{0, 1, 2, 3}));
  ASSERT_EQ(shape.smoothed.size(), 3u);
  EXPECT_EQ(values_of(*shape.smoothed[0].in_degree),
            (std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
}

/// The degrees and sizes of every union against the smoothing that trains.
TEST(Shape, UnionsAreThoseOfEdgeLife) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<std::tuple<int, int, double>> rows;
    for (int i = 0; i < 120; ++i) rows.emplace_back(random() % 9, random() % 9, i / 12);
    EventGraph events = test::make_events(9, rows);
    events.stepped = true;
    const SnapshotGraph graph = make_snapshots(events, {});
    const GraphStatistics shape = measure_statistics(graph, "random", {1, 2, 3, 5, 7, 10, 11});
    ASSERT_EQ(shape.smoothed.size(), 6u) << "a window beyond the steps is left out";
    for (const SmoothedStatistics& smoothed : shape.smoothed) {
      const SnapshotGraph united = edge_life(graph, *smoothed.window);
      EXPECT_EQ(smoothed.edges, united.edges()) << *smoothed.window;
      const GraphStatistics direct = measure_statistics(united, "united", {1});
      EXPECT_EQ(*smoothed.in_degree, *direct.smoothed[0].in_degree) << *smoothed.window;
      EXPECT_EQ(*smoothed.out_degree, *direct.smoothed[0].out_degree) << *smoothed.window;
    }
    EXPECT_EQ(smoothed_edges(shape, 4), edge_life(graph, 4).edges()) << "a window without a histogram";
  }
}

/// NumPy's inverted_cdf: the smallest value that at least this share of the values does not exceed.
TEST(Histogram, QuantilesAreOfTheNearestRank) {
  const auto of = [](std::initializer_list<std::int64_t> values, double share) {
    HistogramBuilder builder;
    for (const std::int64_t value : values) builder.add(value);
    return builder.finish().quantile(share);
  };
  for (const double share : {0.76, 0.9, 0.95, 0.99, 1.0}) EXPECT_EQ(of({1, 2, 3, 1000}, share), 1000) << share;
  EXPECT_EQ(of({1, 2, 3, 1000}, 0.75), 3);
  EXPECT_EQ(of({1, 2, 3, 1000}, 0.5), 2);
  EXPECT_EQ(of({1, 2, 3, 1000}, 0.25), 1);
  EXPECT_EQ(of({1, 2, 3, 1000}, 0), 1);
  EXPECT_EQ(of({77}, 0.5), 77);
  for (const auto& [share, rank] : {std::pair{0.25, 3}, {0.75, 8}, {0.9, 9}, {0.95, 10}, {0.99, 10}})
    EXPECT_EQ(of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, share), rank) << share;
  // Every hundredth of every small count against whole numbers: ceil(percent count / 100).
  for (std::int64_t count = 1; count <= 300; ++count) {
    for (std::int64_t percent = 1; percent <= 100; ++percent)
      EXPECT_EQ(nearest_rank(static_cast<double>(percent) / 100, count), (percent * count + 99) / 100);
  }
}

TEST(Histogram, IsExactBelowSixteenAndCloseAbove) {
  HistogramBuilder builder;
  std::vector<double> values;
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    const auto value = static_cast<std::int64_t>(std::exp(static_cast<double>(random() % 1200) / 100.0)) - 1;
    values.push_back(static_cast<double>(value));
    builder.add(value);
  }
  const Histogram histogram = builder.finish();
  std::sort(values.begin(), values.end());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value, squares += value * value;
  EXPECT_EQ(histogram.count(), 5000);
  EXPECT_EQ(static_cast<double>(histogram.sum()), sum);
  EXPECT_NEAR(histogram.variance(), squares / 5000 - sum / 5000 * (sum / 5000), 1e-6 * squares / 5000);
  EXPECT_EQ(static_cast<double>(histogram.minimum), values.front());
  EXPECT_EQ(static_cast<double>(histogram.maximum), values.back());
  for (const double share : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
    const double exact = values[static_cast<std::size_t>(std::max(1.0, std::ceil(share * 5000))) - 1];
    EXPECT_NEAR(histogram.quantile(share), exact, exact < 16 ? 0 : 0.13 * exact) << share;
  }
  EXPECT_EQ(histogram_from_json(to_json(histogram), ""), histogram);
  for (const Histogram::Bin& bin : histogram.bins) EXPECT_LE(bin.low * bin.count, bin.sum);
}

/// The stated model of halo volumes against dealing out the vertices of real and generated graphs.
TEST(Shape, HaloOfAHashPartitionIsPredicted) {
  const std::pair<const char*, Json> workloads[] = {{"ucsocial", Json::object()},
                                                    {"chess", Json::object()},
                                                    {"uniform", {{"vertices", 2000}, {"steps", 5}, {"density", 4}}}};
  for (const auto& [name, parameters] : workloads) {
    const SnapshotGraph graph = load_workload(name, parameters, 1);
    const GraphStatistics shape = measure_statistics(graph, name, {1, 3});
    for (const SmoothedStatistics& smoothed : shape.smoothed) {
      const SnapshotGraph united = edge_life(graph, *smoothed.window);
      for (const int ranks : {2, 4, 16}) {
        std::mt19937 random(static_cast<unsigned>(ranks));
        std::vector<int> owner(graph.vertices);
        for (std::size_t v = 0; v < owner.size(); ++v) owner[v] = static_cast<int>(v) % ranks;
        std::shuffle(owner.begin(), owner.end(), random);
        std::int64_t rows = 0;
        for (const auto& snapshot : united.snapshots) {
          std::set<std::pair<VertexId, int>> needed;
          for (std::size_t v = 0; v < owner.size(); ++v) {
            for (std::int64_t i = snapshot->row_offsets[v]; i < snapshot->row_offsets[v + 1]; ++i) {
              const VertexId u = snapshot->columns[i];
              if (owner[u] != owner[v]) needed.emplace(u, owner[v]);
            }
          }
          rows += static_cast<std::int64_t>(needed.size());
        }
        const double predicted = expected_halo_rows(*smoothed.out_degree, ranks);
        EXPECT_NEAR(predicted / static_cast<double>(rows), 1, 0.03)
            << name << " window " << *smoothed.window << " ranks " << ranks;
      }
    }
  }
}

TEST(Shape, RoundTripThroughAFile) {
  const TemporaryFolder folder;
  const Inspection chess = inspect("chess", Json::object(), 1, {1, 2, 3, 5});
  const std::string text = to_json(chess.shape).dump(1);
  const GraphStatistics again = load_shape(folder.write("chess.json", text));
  EXPECT_EQ(to_json(again).dump(1), text);
  EXPECT_TRUE(is_shape_file(folder.file("chess.json")));
  EXPECT_EQ(again.events, 65053);
  EXPECT_EQ(again.edges, chess.report["edges"].get<std::int64_t>());
  EXPECT_EQ(*again.smoothed[3].out_degree, *chess.shape.smoothed[3].out_degree);
  EXPECT_FALSE(is_shape_file(folder.write("other.json", R"({"vertices": 3})")));
  EXPECT_FALSE(is_shape_file(folder.write("empty.json", "")));
}

/// Where the reader finds fault with a changed shape, or "" when it finds none.
std::string shape_fault(const std::function<void(Json&)>& change) {
  Json json = to_json(measure_statistics(small_graph(), "small", {1, 2}));
  change(json);
  try {
    shape_from_json(json, "F#");
  } catch (const InvalidRequest& error) {
    return error.where();
  }
  return "";
}

TEST(Shape, EveryFaultHasItsPointer) {
  EXPECT_EQ(shape_fault([](Json&) {}), "");
  EXPECT_EQ(shape_fault([](Json& s) { s.erase("steps"); }), "F#/steps");
  EXPECT_EQ(shape_fault([](Json& s) { s["stepz"] = 3; }), "F#/stepz");
  EXPECT_EQ(shape_fault([](Json& s) { s["strobe_shape"] = 2; }), "F#/strobe_shape");
  EXPECT_EQ(shape_fault([](Json& s) { s["vertices"] = -1; }), "F#/vertices");
  EXPECT_EQ(shape_fault([](Json& s) { s["vertices"] = "4"; }), "F#/vertices");
  EXPECT_EQ(shape_fault([](Json& s) { s["vertices"] = 1e300; }), "F#/vertices");
  EXPECT_EQ(shape_fault([](Json& s) { s["vertices"] = nullptr; }), "F#/unknown/vertices");
  EXPECT_EQ(shape_fault([](Json& s) { s["unknown"]["vertices"] = "why"; }), "F#/unknown/vertices");
  EXPECT_EQ(shape_fault([](Json& s) { s["unknown"]["events"] = ""; }), "F#/unknown/events");
  EXPECT_EQ(shape_fault([](Json& s) { s["unknown"]["evnts"] = "why"; }), "F#/unknown/evnts");
  EXPECT_EQ(shape_fault([](Json& s) { s["sources"].erase("*"); }), "F#/sources/vertices");
  EXPECT_EQ(shape_fault([](Json& s) { s["edges"] = 7; }), "F#/edges");
  EXPECT_EQ(shape_fault([](Json& s) { s["edges_per_step"].push_back(0); }), "F#/edges_per_step");
  EXPECT_EQ(shape_fault([](Json& s) { s["edges_per_step"][2] = 0.5; }), "F#/edges_per_step/2");
  EXPECT_EQ(shape_fault([](Json& s) { s["edges_per_step"] = Json::array(); }), "F#/edges_per_step");
  EXPECT_EQ(shape_fault([](Json& s) { s["overlap_per_step"][1] = 1.5; }), "F#/overlap_per_step/1");
  EXPECT_EQ(shape_fault([](Json& s) { s["overlap_mean"] = -0.5; }), "F#/overlap_mean");
  EXPECT_EQ(shape_fault([](Json& s) { s["edge_lives"][0] = 9; }), "F#/edge_lives");
  EXPECT_EQ(shape_fault([](Json& s) { s["sequence_length"]["bins"][1][2] = 1; }), "F#/sequence_length/bins/1/2");
  EXPECT_EQ(shape_fault([](Json& s) { s["sequence_length"]["bins"][1][0] = 0; }), "F#/sequence_length/bins/1/0");
  EXPECT_EQ(shape_fault([](Json& s) { s["sequence_length"]["count"] = 5; }), "F#/sequence_length/count");
  EXPECT_EQ(shape_fault([](Json& s) { s["sequence_length"]["max"] = 9; }), "F#/sequence_length/max");
  EXPECT_EQ(shape_fault([](Json& s) { s["smoothed"][1]["window"] = 0; }), "F#/smoothed/1/window");
  EXPECT_EQ(shape_fault([](Json& s) { s["smoothed"][1]["smooth"] = "unoin"; }), "F#/smoothed/1/smooth");
  EXPECT_EQ(shape_fault([](Json& s) { s["smoothed"][0].erase("edges"); }), "F#/smoothed/0/edges");
  EXPECT_EQ(shape_fault([](Json& s) { s = Json::array(); }), "F#");
}

TEST(Shape, FilesThatAreNotJsonOrRepeatAKeyAreRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(load_shape(folder.write("a.json", "{\"strobe_shape\": 1,\n")), InvalidInput);
  try {
    read_strict_json(folder.write("b.json", "{\n  \"a\": 1,\n  oops\n}"));
    FAIL() << "no JSON was read";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.line(), 3u);
  }
  try {
    read_strict_json(folder.write("c.json", R"({"a": {"b": 1, "b": 2}})"));
    FAIL() << "a key that occurs twice was read";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), folder.file("c.json") + "#/a/b");
  }
  EXPECT_THROW(read_strict_json(folder.file("none.json")), InvalidInput);
  try {
    load_shape("epinion");
    FAIL() << "an unknown shape was found";
  } catch (const InvalidRequest& error) {
    EXPECT_NE(std::string(error.what()).find("'epinions'"), std::string::npos);
  }
}

/// The numbers that the papers print, typed in again from their tables.
struct Printed {
  const char* name;
  double vertices, steps, edges, smoothed;  // 0 = not printed
};
constexpr Printed printed[] = {{"epinions", 755e3, 501, 13e6, 653e6},
                               {"flickr", 2.3e6, 134, 33e6, 963e6},
                               {"youtube", 3.2e6, 203, 12e6, 851e6},
                               {"aml-sim", 1e6, 200, 124e6, 1094e6},
                               {"aml-sim-large-1", 0, 200, 2.2e9, 0},
                               {"aml-sim-large-2", 0, 200, 3.2e9, 0},
                               {"amazon", 0, 121, 5.7e6, 0},
                               {"epinions-dgc", 0, 500, 13e6, 0},
                               {"movie", 0, 289, 27e6, 0},
                               {"stack", 0, 93, 47e6, 0},
                               {"cora-t", 0.05e6, 50, 0.27e6, 1.30e6},
                               {"pubmed-t", 0.39e6, 50, 1.77e6, 8.86e6},
                               {"slashdot", 0.05e6, 80, 0.14e6, 3.69e6},
                               {"stackexch", 0.55e6, 170, 1.30e6, 33.6e6},
                               {"ratings", 2.15e6, 70, 5.84e6, 125e6},
                               {"flickr-dynahb", 2.30e6, 70, 33.1e6, 263e6},
                               {"youtube-dynahb", 3.22e6, 80, 12.2e6, 332e6},
                               {"bitcoin", 24.6e6, 90, 122e6, 1.05e9}};

TEST(Published, ShapesEqualTheNumbersOfThePapers) {
  for (const Printed& row : printed) {
    const GraphStatistics shape = load_shape(row.name);
    const auto near = [&](const std::optional<std::int64_t>& value, double expected, const char* what) {
      if (expected == 0) return;
      ASSERT_TRUE(value) << row.name << " " << what;
      EXPECT_NEAR(static_cast<double>(*value) / expected, 1, 0.0105) << row.name << " " << what;  // three digits
    };
    near(shape.vertices, row.vertices, "vertices");
    near(shape.edges, row.edges, "edges");
    EXPECT_EQ(shape.steps, row.steps) << row.name;
    if (row.smoothed > 0) {
      near(shape.smoothed.at(0).edges, row.smoothed, "smoothed");
    }
    EXPECT_EQ(step_edges(shape).size(), static_cast<std::size_t>(row.steps)) << row.name;
  }
  EXPECT_EQ(load_shape("wikipedia").events, 157474);
  EXPECT_EQ(load_shape("reddit").vertices, 10984);
  EXPECT_EQ(load_shape("mooc").events, 411749);
  EXPECT_EQ(load_shape("flights").events, 1927145);
  EXPECT_EQ(load_shape("gdelt").edge_feature_width, 130);
  EXPECT_EQ(shape_names().size(), std::size(printed) + 5);
}

TEST(Published, EveryShapeIsReadableNamedLikeItsFileAndComplete) {
  for (const std::string& name : shape_names()) {
    const GraphStatistics shape = load_shape(name);
    EXPECT_EQ(shape.name, name);
    EXPECT_FALSE(shape.description.empty());
    EXPECT_EQ(shape.sources.count("*"), 0u) << name << ": every published number has a source of its own";
    EXPECT_TRUE(shape.vertices || shape.edges) << name;
    EXPECT_EQ(shape_from_json(to_json(shape), name).sources, shape.sources);
  }
}

TEST(Shape, StepEdgesAreSpreadEvenlyWhenOnlyTheSumIsKnown) {
  GraphStatistics shape;
  EXPECT_TRUE(step_edges(shape).empty());
  shape.steps = 4, shape.edges = 10;
  EXPECT_EQ(step_edges(shape), (std::vector<std::int64_t>{3, 3, 2, 2}));
  EXPECT_EQ(smoothed_edges(shape, 2), std::nullopt);
}

}  // namespace
}  // namespace strobe
