// Processes that hold the events of their node alone: what they hold, and that a run goes on after a stop.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/random.hpp"
#include "tests/cli/launch/mpi_program.hpp"
#include "tests/cli/launch/private_memory.hpp"
#include "workloads/binary/binary_graph.hpp"

namespace strobe::cli_test {
namespace {

class EventsInParts : public MpiProgram {
 protected:
  void SetUp() override {
    MpiProgram::SetUp();
    setenv("STROBE_CACHE", "off", 1);  // a cached graph is a mapped file even in one process
  }
  void write_visits(int events, int features) {
    const RandomStream random(8, random_purpose::test);
    std::string text = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n";
    for (int e = 0; e < events; ++e) {
      const auto at = static_cast<std::uint64_t>(2 * e);
      text += fmt::format("{},{},{},0", random.below(at, 300), random.below(at + 1, 200), e / 2);
      for (int f = 0; f < features; ++f) text += fmt::format(",{}", (e * 7 + f) % 9);
      text += "\n";
    }
    write_text(folder_ / "visits.csv", text);
  }
  void TearDown() override { unsetenv("STROBE_CACHE"); }

  std::vector<std::string> run(const std::string& ways, int ranks, const std::string& epochs, const std::string& out,
                               const std::vector<std::string>& more = {},
                               const std::string& model = "tgn-attn:memory=8,time=4,neighbours=3") {
    std::vector<std::string> all;
    std::istringstream words("run --workload " + workload_ + " --model " + model +
                             " --task future-links:candidates=4 --comm mpi --strategy event_batch:batch=200,k=1," +
                             ways + " --ranks " + std::to_string(ranks) + " --epochs " + epochs + " --out " + out);
    for (std::string word; words >> word;) all.push_back(word);
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::string workload_ = "visits.csv:format=jodie";

  Json row_of(int ranks, const std::vector<std::string>& words, const std::string& out) {
    const Outcome outcome = mpirun(std::to_string(ranks), words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    const Json row = rows(out).at(0);
    EXPECT_EQ(row.at("status"), "ok") << row.at("reason");
    return row;
  }
};

/// With random ends, an event has one of them on a given node of four with probability 7/16.
TEST_F(EventsInParts, AProcessOfFourHoldsItsNodesPart) {
  constexpr int event_count = 30000, feature_count = 64;
  write_visits(event_count, feature_count);
  const Json alone = row_of(1, run("i=1", 1, "1", "alone"), "alone").at("memory_bytes");
  const Json four = row_of(4, run("i=4,memory_layout=distributed,nodes=4", 4, "1", "four"), "four").at("memory_bytes");
  const auto held = [](const Json& memory, const char* part, std::size_t rank) {
    return memory.at("host").at(part).at(rank).get<double>();
  };
  const double features = held(alone, "features", 0), graph = held(alone, "graph", 0);
  ASSERT_EQ(features, 4.0 * event_count * feature_count);
  const double neighbours = 16.0 * event_count;
  ASSERT_GT(graph, neighbours);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_NEAR(held(four, "features", rank) / features, 7.0 / 16, 0.02) << rank;
    // The numbers of the events with features take 4 bytes each.
    EXPECT_NEAR((held(four, "graph", rank) - held(four, "features", rank) / feature_count) / neighbours, 0.25, 0.02)
        << rank;
    const double less = alone.at("process").at(0).get<double>() - four.at("process").at(rank).get<double>();
    EXPECT_GT(less, 0.25 * features) << rank;
  }
}

TEST_F(EventsInParts, AProcessOfFourHoldsFeaturesOfItsVertices) {
  constexpr std::int64_t vertex_count = 20001, width = 40, events = 3000;
  const RandomStream random(9, random_purpose::test);
  EventGraph graph;
  graph.vertices = vertex_count, graph.vertex_feature_width = width;
  for (std::uint64_t e = 0; e < events; ++e) {
    graph.source.push_back(static_cast<VertexId>(random.below(2 * e, vertex_count)));
    graph.target.push_back(static_cast<VertexId>(random.below(2 * e + 1, vertex_count)));
    graph.time.push_back(static_cast<double>(e / 2));
  }
  for (std::int64_t i = 0; i < vertex_count * width; ++i)
    graph.vertex_features.push_back(static_cast<float>(i % 13) / 8.0F);
  graph.original_id = std::vector<std::int64_t>(vertex_count, 7);
  write_binary_graph(graph, (folder_ / "featured.strobe").string());
  workload_ = "featured.strobe";
  const Json copy = row_of(4, run("i=4", 4, "2", "copy"), "copy");
  const Json apart = row_of(4, run("i=4,memory_layout=distributed,nodes=4", 4, "2", "apart"), "apart");
  EXPECT_EQ(apart.at("loss"), copy.at("loss"));
  EXPECT_EQ(apart.at("metrics"), copy.at("metrics"));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const std::int64_t own = (vertex_count - static_cast<std::int64_t>(rank) + 3) / 4;
    EXPECT_EQ(apart.at("memory_bytes").at("host").at("features").at(rank), 4 * own * width) << rank;
  }
}

/// Static memory and node memory of a process's own vertices. Two processes have 200,000 vertices each; then four have.
/// Under a limit, what planning has freed goes back to the system.
TEST_F(EventsInParts, AProcessTrainsStaticMemoryOfItsVerticesAlone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  constexpr std::int64_t own = 200'000, width = 8;
  const auto most = [&](int nodes) {
    EventGraph graph;
    graph.vertices = nodes * own;
    for (std::int64_t e = 0; e < 2000; ++e) {
      graph.source.push_back(static_cast<VertexId>(e * 131 % 500)), graph.target.push_back(500 + e % 37);
      graph.time.push_back(static_cast<double>(e));
    }
    graph.original_id = std::vector<std::int64_t>(static_cast<std::size_t>(graph.vertices), 7);
    workload_ = fmt::format("of{}.strobe", nodes);
    write_binary_graph(graph, (folder_ / workload_).string());
    const std::string count = std::to_string(nodes);
    std::vector<std::string> words = run("i=" + count + ",memory_layout=distributed,nodes=" + count, nodes, "1",
                                         "of" + count, {"--threads", "1", "--host-memory-limit-gib", "8"},
                                         "tgn-attn:memory=8,time=4,neighbours=3,static=pretrained,static_epochs=1");
    words.insert(words.begin(), {"mpirun", "-n", count, STROBE_BINARY});
    Outcome outcome;
    const pid_t command = start(words);
    std::vector<double> bytes;
    for (const auto& [rank, of_rank] : most_private_bytes(command, [&] { outcome = finish(command); }))
      bytes.push_back(of_rank);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(bytes.size(), static_cast<std::size_t>(nodes));
    return *std::max_element(bytes.begin(), bytes.end());
  };
  const double of_two = most(2), of_four = most(4);
  const double trained = 4.0 * sizeof(float) * own * width;  // values, gradients and two moments
  EXPECT_GT(of_two, trained);
  EXPECT_LT(of_four, of_two + 0.25 * trained) << of_two;
}

TEST_F(EventsInParts, AStoppedRunOfFourProcessesGoesOnBitForBit) {
  write_visits(3000, 3);
  const std::string tgn = "tgn-attn:memory=8,time=4,neighbours=3";
  const std::vector<std::string> models{tgn, "tgat:hidden=8,time=4,neighbours=3",
                                        tgn + ",static=pretrained,static_epochs=2"};
  for (std::size_t m = 0; m < models.size(); ++m) {
    const std::string &model = models[m], name = std::to_string(m);
    const std::string copy = "i=2,j=2", ways = copy + ",memory_layout=distributed,nodes=4";
    const std::vector<std::string> keep{"--checkpoint", "state-" + name};
    const Json whole = row_of(4, run(ways, 4, "3", "whole-" + name, {}, model), "whole-" + name);
    row_of(4, run(ways + ",prefetch=3", 4, "1", "begun-" + name, keep, model), "begun-" + name);
    const std::vector<std::string> on{"--checkpoint", "state-" + name, "--resume-training"};
    const Json rest = row_of(4, run(ways + ",prefetch=3", 4, "3", "rest-" + name, on, model), "rest-" + name);
    const Json all = row_of(4, run(copy, 4, "3", "all-" + name, {}, model), "all-" + name);
    EXPECT_EQ(rest.at("loss").back(), whole.at("loss").back()) << model;
    EXPECT_EQ(rest.at("metrics"), whole.at("metrics")) << model;
    EXPECT_EQ(all.at("loss"), whole.at("loss")) << model;
    EXPECT_EQ(all.at("metrics"), whole.at("metrics")) << model;  // rank 0 evaluates alone, or all together
  }
}

}  // namespace
}  // namespace strobe::cli_test
