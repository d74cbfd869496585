// The cut of chunks, compared with other programs on the same super graph at the same cap. Bundled sets with two
// models' weights are written as METIS files for scripts/compare_chunks. The test is skipped without KaHIP (`pip
// install kahip kaminpar`). STROBE_CHUNK_GRAPHS=FOLDER keeps the files in that folder.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/placement/chunks/chunk_merging.hpp"
#include "harness/placement/chunks/label_propagation.hpp"
#include "harness/request/case.hpp"
#include "tests/harness/plans.hpp"

namespace strobe {
namespace {

/// The file also has the edges between all pairs of a sequence, which the super graph does not list.
void write_metis(const SuperGraph& graph, const std::string& path) {
  std::vector<std::map<NodeId, std::int64_t>> rows(graph.nodes());
  std::size_t entries = 0;
  for (const NodeSequence& sequence : graph.sequences) {
    for (NodeId node = sequence.first; node < sequence.end(); ++node) {
      auto& row = rows[node];
      graph.for_listed(node, sequence, [&row](NodeId other, std::int64_t weight) { row[other] += weight; });
      for (NodeId other = sequence.first; other < sequence.end() && graph.weights.whole_sequence > 0; ++other) {
        if (other != node) row[other] += graph.weights.whole_sequence;
      }
      entries += row.size();
    }
  }
  std::ofstream file(path);
  file << rows.size() << ' ' << entries / 2 << " 1\n";
  for (const auto& row : rows) {
    for (const auto& [other, weight] : row) file << other + 1 << ' ' << weight << ' ';
    file << '\n';
  }
}

/// Median cuts by program, from the script's output.
std::map<std::string, double> medians(const std::string& graph, const std::string& chunks, std::int64_t cap) {
  const std::string command =
      fmt::format("{}/scripts/compare_chunks '{}' '{}' {} 2>&1", STROBE_SOURCE_DIR, graph, chunks, cap);
  std::FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << text;
  std::cout << text;
  std::map<std::string, double> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(','), second = line.find(',', first + 1);
    if (first != std::string::npos && line.rfind("program", 0) != 0)
      found[line.substr(0, first)] = std::atof(line.substr(first + 1, second - first - 1).c_str());
  }
  return found;
}

class ChunkCuts : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(ChunkCuts, AreAtMostATenthAboveKahips) {
  const auto& [workload, model] = GetParam();
  Json request = {
      {"workload", {{"name", workload}}}, {"model", {{"name", model}}}, {"strategy", "chunk"}, {"ranks", 4}};
  if (workload == "chess") request["workload"]["window_count"] = 10;
  const auto plan = test::full_batch_plan(case_from_json(request, ""));
  const PreparedGraph& graph = *plan->data.graph;
  const TrafficWeights weights = traffic_weights(plan->model.layers, graph.first_product_done, "traffic");
  const char* const kept = std::getenv("STROBE_CHUNK_GRAPHS");
  const std::filesystem::path folder = kept != nullptr ? kept : std::filesystem::temp_directory_path();
  const std::string name = fmt::format("strobe-{}-{}-{}", kept != nullptr ? 0 : getpid(), workload, model);
  const std::string metis = folder / (name + ".metis"), chunks_of_seeds = folder / (name + ".chunks");
  std::ofstream parts(chunks_of_seeds);
  std::int64_t cap = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SuperGraph super = super_graph(graph, weights);
    cap = super.nodes() / 64;
    if (seed == 1) write_metis(super, metis);
    ChunkGraph chunks = chunk_graph(super, propagate_labels(super, cap, 30, seed).label);
    merge_chunks(chunks, cap, 15, 30, seed);
    for (const std::uint32_t chunk : chunks.of_node) parts << chunk << ' ';
    parts << '\n';
  }
  parts.close();
  const auto cuts = medians(metis, chunks_of_seeds, cap);
  if (kept == nullptr) std::filesystem::remove(metis), std::filesystem::remove(chunks_of_seeds);
  if (cuts.count("kahip") == 0) GTEST_SKIP() << "KaHIP is not installed: pip install kahip kaminpar";
  EXPECT_LE(cuts.at("strobe"), 1.1 * cuts.at("kahip"));
}

INSTANTIATE_TEST_SUITE_P(All, ChunkCuts,
                         testing::Combine(testing::Values("chess", "ucsocial"), testing::Values("t-gcn", "tm-gcn")),
                         [](const auto& p) {
                           return std::get<0>(p.param) + (std::get<1>(p.param) == "t-gcn" ? "_t_gcn" : "_tm_gcn");
                         });

}  // namespace
}  // namespace strobe
