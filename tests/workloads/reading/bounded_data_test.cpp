// Labels with times, events without outlying ones, and files of steps within a bound of memory: the same as without
// one, and outside of the private memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "core/random.hpp"
#include "tests/workloads/reading/bounded_support.hpp"
#include "workloads/reading/events/vertex_data.hpp"

namespace strobe {
namespace {

using test::bounded_mib;
using test::most_private_bytes_within;
using test::TemporaryFolder;

/// An edge list of TGB with names and node labels next to it; the first rows lie at time 0, some with vertices of their
/// own.
std::string tgb_files(const TemporaryFolder& folder, std::uint64_t seed, std::uint64_t rows, std::uint64_t labels) {
  const RandomStream random(seed, 21);
  std::string text = "ts,user_id,genre,weight\n", classes = "ts,user_id,genre,weight\n";
  for (std::uint64_t i = 0; i < rows; ++i) {
    const bool early = i < 40;
    text += fmt::format("{},user {},genre {},{}\n", early ? 0 : 1'300'000'000 + random.below(4 * i, 900'000),
                        early ? 100'000 + i : random.below(4 * i + 1, 9000), random.below(4 * i + 2, 700),
                        0.1 * double(random.below(4 * i + 3, 9)));
  }
  for (std::uint64_t i = 0; i < labels; ++i)
    classes += fmt::format("{},user {},genre {},0.{}\n", 1'300'000'000 + random.below(3 * i + 7, 900'000),
                           i % 50 == 0 ? 100'000 + i % 40 : random.below(3 * i + 8, 9000), random.below(3 * i + 9, 700),
                           i % 9);
  folder.write("g_node_labels.csv", classes);
  return folder.write("g_edgelist.csv", text);
}

TEST(BoundedData, LabelsWithTimesAndEventsWithoutOutlyingOnes) {
  for (const std::uint64_t seed : {1, 2}) {
    const TemporaryFolder folder;
    const std::string path = tgb_files(folder, seed, 60'000, 120'000);
    test::expect_same_files(folder, path);
    test::expect_same_within_bounds([&] { return test::events_of(folder, path, {{"outliers", "drop"}}); }, path);
    test::expect_same_files(folder, path, Json{{"window_count", 9}, {"outliers", "drop"}});
    EXPECT_TRUE(test::any_note(*load_events(path, {{"outliers", "drop"}, {"cache", "off"}}), "were left out"));
    const TemporaryFolder aside;
    const BoundedReading bound(bounded_mib, test::folder_of(aside));
    const EventGraph graph = *load_events(path, {{"outliers", "drop"}, {"cache", "off"}});
    for (const void* data : std::initializer_list<const void*>{
             graph.source.data(), graph.time.values().data(), graph.exact_weight.data(), graph.timed_labels.time.data(),
             graph.timed_labels.vertex.data(), graph.timed_labels.label.data(), graph.timed_labels.share.data()})
      EXPECT_TRUE(test::lies_in_file(data));
  }
}

TEST(BoundedData, OutlyingEventsWithFeaturesAndClasses) {
  const RandomStream random(4, 2);
  std::string text = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n";
  for (std::uint64_t i = 0; i < 60'000; ++i)
    text += fmt::format("{},{},{}.0,{},{},{}\n", random.below(2 * i, 400), random.below(2 * i + 1, 400),
                        i < 5 ? 0 : 1'000'000'000 + i, i % 2, i % 7, -0.5 * double(i % 3));
  const TemporaryFolder folder;
  const std::string path = folder.write("wiki.csv", text);
  test::expect_same_within_bounds([&] { return test::events_of(folder, path, {{"outliers", "drop"}}); }, path);
}

TEST(BoundedData, SortedLabelsAreThoseOfAStableSort) {
  std::mt19937 random(7);
  std::vector<std::tuple<double, VertexId, std::int32_t>> judge;
  TimedLabels labels;
  for (int i = 0; i < 90'000; ++i) {
    judge.emplace_back(random() % 400, static_cast<VertexId>(random() % 999), i);
    labels.vertex.push_back(std::get<1>(judge.back()));
    labels.time.push_back(std::get<0>(judge.back()));
    labels.label.push_back(i);
    labels.share.push_back(1);
  }
  std::stable_sort(judge.begin(), judge.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  const TemporaryFolder aside;
  for (const bool bounded : {false, true}) {
    std::optional<BoundedReading> bound;
    if (bounded) bound.emplace(bounded_mib, test::folder_of(aside));
    TimedLabels sorted = labels;
    sort_by_time(sorted);
    EXPECT_EQ(test::lies_in_file(sorted.time.data()), bounded);
    for (std::size_t i = 0; i < judge.size(); ++i)
      ASSERT_EQ(std::tuple(sorted.time[i], sorted.vertex[i], sorted.label[i]), judge[i]) << i;
  }
}

/// The four shapes of pyg-temporal (pyg_temporal.cpp), each with `vertices` vertices.
std::vector<std::string> pyg_texts(std::uint64_t seed, int vertices, int steps, int edges) {
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto list = [&](int count, const auto& one) {
    std::string text = "[";
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + one();
    return text + "]";
  };
  const auto number = [&] { return fmt::format("{}", 0.1 * double(random() % 900)); };
  const auto edge = [&] { return fmt::format("[{}, {}]", random() % vertices, random() % vertices); };
  const auto row = [&] { return list(vertices, number); };
  const auto cell = [&] { return list(2, number); };
  std::string mapping = "{\"edge_mapping\": {\"edge_index\": {", by_step = "{", weights, nodes, links;
  for (int t = 0; t < steps; ++t) {
    const std::string comma = t == 0 ? "" : ", ";
    mapping += fmt::format("{}\"{}\": {}", comma, t, list(edges, edge));
    weights += fmt::format("{}\"{}\": {}", comma, t, list(edges, number));
    by_step += fmt::format("\"{}\": {{\"edges\": {}, \"weights\": {}, \"X\": {}, \"y\": {}}}, ", t, list(edges, edge),
                           list(edges, number), list(vertices, cell), row());
  }
  for (int v = 0; v < vertices; ++v)
    nodes += fmt::format("{}{{\"id\": \"n{}\", \"y\": {}, \"X\": {{\"a\": {}, \"b\": {}}}}}", v == 0 ? "" : ", ", v,
                         list(steps, number), list(steps, number), list(steps, number));
  for (int e = 0; e < edges; ++e)
    links += fmt::format("{}{{\"source\": \"n{}\", \"target\": \"n{}\", \"weight\": {}}}", e == 0 ? "" : ", ",
                         random() % vertices, random() % vertices, number());
  return {mapping + "}, \"edge_weight\": {" + weights + fmt::format("}}}}, \"time_periods\": {}, \"y\": ", steps) +
              list(steps, row) + "}",
          by_step + fmt::format("\"time_periods\": {}}}", steps),
          "{\"directed\": true, \"nodes\": [" + nodes + "], \"links\": [" + links + "]}",
          "{\"edges\": " + list(edges, edge) + ", \"weights\": " + list(edges, number) +
              ", \"FX\": " + list(steps, row) + "}"};
}

TEST(BoundedData, FilesOfStepsOfPygTemporal) {
  for (const std::string& text : pyg_texts(3, 2500, 16, 9000)) {
    const TemporaryFolder folder;
    const std::string path = folder.write("steps.json", text);
    test::expect_same_files(folder, path, Json::object());
    test::expect_same_files(folder, path, Json{{"orientation", "both"}});
  }
}

/// T-GCN's pair of files.
std::string tgcn_files(const TemporaryFolder& folder, int vertices, int steps) {
  std::mt19937 random(5);
  std::string adjacency, speed;
  for (int v = 0; v < vertices; ++v) {
    for (int u = 0; u < vertices; ++u)
      adjacency += fmt::format("{}{}", u == 0 ? "" : ",", random() % 2 == 0 ? 0.0 : 0.1 * double(random() % 90));
    adjacency += "\n";
    speed += fmt::format("{}s{}", v == 0 ? "" : ",", v);
  }
  for (int i = 0; i < vertices * steps; ++i)
    speed += fmt::format("{}{}", i % vertices == 0 ? "\n" : ",", 0.1 * double(random() % 900));
  folder.write("a_speed.csv", speed + "\n");
  return folder.write("a_adj.csv", adjacency);
}

TEST(BoundedData, FilesOfStepsOfTgcn) {
  const TemporaryFolder folder;
  const std::string path = tgcn_files(folder, 500, 120);
  test::expect_same_files(folder, path, Json::object());
  test::expect_same_files(folder, path, Json{{"orientation", "out"}});
}

TEST(BoundedDataMemory, LabelsOutliersAndStepsTakeNoPrivateMemoryThatGrows) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const test::Threads threads(1);
  const TemporaryFolder folder;
  const std::string tgb = tgb_files(folder, 3, 500'000, 1'000'000), tgcn = tgcn_files(folder, 1500, 1000),
                    pyg = folder.write("steps.json", pyg_texts(4, 20'000, 4, 80'000)[1]);
  const std::uint64_t limit = 4 * bounded_mib;
  const auto expect_bounded = [&](const std::string& path, const Json& options, double least_without) {
    const auto read = [&](Json all) {
      all["cache"] = "off";
      if (const auto events = load_events(path, all)) return static_cast<double>(events->events());
      return static_cast<double>(load_workload(path, all, 1).steps());
    };
    const double without = most_private_bytes_within(0, [&] { EXPECT_GT(read(options), 3); });
    const double within = most_private_bytes_within(limit, [&] { EXPECT_GT(read(options), 3); });
    RecordProperty(path.substr(path.rfind('/') + 1),
                   fmt::format("{:.1f} MiB, {:.1f} MiB within the bound", without / bounded_mib, within / bounded_mib));
    EXPECT_GT(without, least_without * bounded_mib) << path;
    EXPECT_LT(within, 16.0 * bounded_mib) << path << " takes " << without / bounded_mib << " MiB without a bound";
  };
  expect_bounded(tgb, {{"outliers", "drop"}}, 40);
  expect_bounded(tgcn, Json::object(), 40);
  expect_bounded(pyg, Json::object(), 50);
}

}  // namespace
}  // namespace strobe
