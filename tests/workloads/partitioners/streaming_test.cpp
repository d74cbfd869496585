// One-pass partitioners compared with a Python form of their papers, with the promised balance, and with planted
// communities. The merged lists that they read compared with a count of all entries.
#include "workloads/partitioners/streaming.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/random.hpp"
#include "tests/results/python.hpp"
#include "tests/workloads/partitioners/random_graphs.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"
#include "workloads/partitioners/vertex_lists.hpp"

namespace strobe {
namespace {

const std::vector<std::string> streamed = {"ldg", "fennel"};

std::vector<Rank> part_with(const std::string& name, const PreparedGraph& graph, int parts) {
  return PartitionerRegistry::instance().find(name).value(graph, parts, 1);
}

nlohmann::json steps_of(const PreparedGraph& graph) {
  nlohmann::json steps = nlohmann::json::array();
  for (std::int64_t row = 0; row < graph.steps * graph.vertices; ++row) {
    if (row % graph.vertices == 0) steps.push_back(nlohmann::json::array());
    for (std::int64_t e = graph.row_offsets[row]; e < graph.row_offsets[static_cast<std::size_t>(row) + 1]; ++e)
      steps.back().push_back({row % graph.vertices, graph.columns[e]});
  }
  return steps;
}

/// Random graphs with hubs, with self-loops and with many parts.
std::vector<std::pair<PreparedGraph, int>> judged_graphs() {
  std::vector<std::pair<PreparedGraph, int>> graphs;
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    const std::int64_t vertices = 20 + 17 * static_cast<std::int64_t>(seed);
    graphs.emplace_back(testing_partitioners::random_graph(vertices, 1 + seed % 4, 1 + seed % 7, seed), 2 + seed % 6);
  }
  for (std::uint32_t seed = 0; seed < 6; ++seed)
    graphs.emplace_back(testing_partitioners::planted_graph(180, 6, 5, 1, seed), 3 + seed);
  return graphs;
}

/// Parts of every graph under every rule, by the Python form; empty without Python.
nlohmann::json parts_by_python(const nlohmann::json& request) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("strobe-streaming-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "graphs.json") << request;
  const std::string script = std::string(STROBE_TEST_DIR) + "/workloads/partitioners/streaming_judge.py";
  const std::string output = (folder / "parts.json").string();
  const int status = testing_results::run_program(
      {testing_results::find_python("json"), "-B", script, (folder / "graphs.json").string()}, output);
  std::ifstream file(output);
  const std::string said((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::filesystem::remove_all(folder);
  EXPECT_EQ(status, 0) << said;
  return status == 0 ? nlohmann::json::parse(said) : nlohmann::json();
}

TEST(StreamedParts, AreThoseOfThePythonForm) {
  if (testing_results::find_python("json").empty()) GTEST_SKIP() << "no Python here";
  nlohmann::json request = {{"graphs", nlohmann::json::array()}};
  std::vector<std::vector<Rank>> own;
  for (const auto& [graph, parts] : judged_graphs()) {
    for (const std::string& rule : streamed) {
      request["graphs"].push_back(
          {{"vertices", graph.vertices}, {"steps", steps_of(graph)}, {"parts", parts}, {"rule", rule}});
      own.push_back(part_with(rule, graph, parts));
    }
  }
  const nlohmann::json judge = parts_by_python(request);
  ASSERT_EQ(judge.size(), own.size());
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_EQ(judge[i].get<std::vector<Rank>>(), own[i]) << "case " << i;
}

TEST(StreamedParts, HoldAtMostTheAllowedWorkOrOneVertexMoreThanTheMean) {
  for (const auto& [graph, parts] : judged_graphs()) {
    const std::vector<std::int64_t> work = vertex_work(graph);
    const double mean = std::accumulate(work.begin(), work.end(), 0.0) / parts;
    const auto heaviest = static_cast<double>(*std::max_element(work.begin(), work.end()));
    for (const std::string& rule : streamed) {
      const std::vector<Rank> part = part_with(rule, graph, parts);
      EXPECT_LE(work_imbalance(work, part, parts) * mean, std::max(1.03 * mean, mean + heaviest) + 1e-9) << rule;
    }
  }
}

/// Edges of communities that are cut, as a share of what even shares at random cut, which is 1 - 1 / parts of all.
double cut_over_random(const std::string& rule, const PreparedGraph& graph, int parts) {
  const std::vector<Rank> part = part_with(rule, graph, parts);
  const VertexLists lists = merged_lists(graph, {0, graph.vertices});
  double cut = 0, all = 0;
  for (std::size_t v = 0; v < part.size(); ++v) {
    for (std::int64_t e = lists.offsets[v]; e < lists.offsets[v + 1]; ++e) {
      all += lists.weights[e];
      cut += part[v] == part[lists.neighbours[e]] ? 0 : lists.weights[e];
    }
  }
  return cut / all / (1 - 1.0 / parts);
}

TEST(StreamedParts, CutLessThanHash) {
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    const PreparedGraph mixed = testing_partitioners::random_graph(3000, 2, 4, seed);
    const PreparedGraph planted = testing_partitioners::planted_graph(4000, 8, 14, 1, seed);
    EXPECT_NEAR(cut_over_random("hash", planted, 8), 1, 0.02);
    for (const std::string& rule : streamed) {
      EXPECT_LT(cut_over_random(rule, mixed, 8), 0.9) << rule << seed;
      EXPECT_LT(cut_over_random(rule, planted, 8), 0.5) << rule << seed;
    }
  }
}

/// Large enough for several blocks of the pass.
TEST(StreamedParts, DoNotDependOnTheBlocksThatAreRead) {
  const PreparedGraph graph = testing_partitioners::random_graph(150'000, 1, 2, 9);
  const VertexLists whole = merged_lists(graph, {0, graph.vertices});
  const StreamTotals totals{graph.vertices, std::accumulate(whole.work.begin(), whole.work.end(), std::int64_t{0}), 0,
                            4};
  const StreamRule most_neighbours{[](const StreamTotals&, double load) { return -load; },
                                   [](double weight, double, double price) { return weight * 1e12 + price; }};
  const ShareHolders alone;
  StreamedParts placed(most_neighbours, totals);
  for (VertexId v = 0; v < graph.vertices; ++v) {
    const std::int64_t first = whole.offsets[v];
    const auto count = static_cast<std::size_t>(whole.offsets[static_cast<std::size_t>(v) + 1] - first);
    placed.place(v, whole.work[v], {whole.neighbours.data() + first, count}, {whole.weights.data() + first, count});
  }
  EXPECT_EQ(stream_vertices(share_of(graph, alone), 4, most_neighbours), placed.owner);
}

TEST(VertexLists, CountTheEntriesBetweenTwoVertices) {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    const PreparedGraph graph = testing_partitioners::random_graph(40 + seed, 3, 5, seed);
    std::vector<std::map<VertexId, std::int32_t>> judge(graph.vertices);
    for (std::int64_t row = 0; row < graph.steps * graph.vertices; ++row) {
      const auto v = static_cast<VertexId>(row % graph.vertices);
      for (std::int64_t e = graph.row_offsets[row]; e < graph.row_offsets[static_cast<std::size_t>(row) + 1]; ++e) {
        if (graph.columns[e] == v) continue;
        ++judge[v][graph.columns[e]];
        ++judge[graph.columns[e]][v];
      }
    }
    for (const int shares : {1, 2, 7}) {
      for (int share = 0; share < shares; ++share) {
        const VertexLists lists = merged_lists(graph, even_share(graph.vertices, shares, share));
        for (std::int64_t i = 0; i < lists.vertices.count; ++i) {
          std::map<VertexId, std::int32_t> list;
          for (std::int64_t e = lists.offsets[i]; e < lists.offsets[static_cast<std::size_t>(i) + 1]; ++e)
            list[lists.neighbours[e]] = lists.weights[e];
          EXPECT_EQ(list, judge[lists.vertices.first + i]);
          EXPECT_EQ(lists.work[i], vertex_work(graph)[lists.vertices.first + i]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace strobe
