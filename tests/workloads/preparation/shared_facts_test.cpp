// Presence and measures of features that processes of a node share are those that each would compute, bit for bit.
#include "workloads/preparation/shared_facts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/workloads/child_processes.hpp"
#include "tests/workloads/graph/random_steps.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/graph/presence.hpp"
#include "workloads/storage/node_store.hpp"

namespace strobe {
namespace {

using test::endless;
using test::TemporaryFolder;

/// Random features whose sums are rounded. Column 1 is constant.
SnapshotGraph with_features(SnapshotGraph graph, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::test);
  const auto cells = static_cast<std::uint64_t>(graph.steps() * graph.vertices);
  std::vector<float> features;
  for (std::uint64_t i = 0; i < cells; ++i) {
    const double x = random.uniform(2 * i) * std::pow(10.0, 6 * random.uniform(2 * i + 1));
    for (const double value : {x, 0.1, -x / 3}) features.push_back(static_cast<float>(value));
  }
  graph.feature_width = 3;
  graph.features = std::move(features);
  graph.exact_features.clear();
  return graph;
}

/// Mean and deviation with plain loops, column by column.
FeatureMeasures plain_measures(const SnapshotGraph& graph, std::size_t steps, const Presence* presence) {
  FeatureMeasures result;
  const auto n = static_cast<std::size_t>(graph.vertices);
  for (std::size_t f = 0; f < 3; ++f) {
    std::vector<double> values;
    for (std::size_t t = 0; t < steps; ++t)
      for (std::size_t v = 0; v < n; ++v)
        if (presence == nullptr || presence->exists(static_cast<VertexId>(v), static_cast<Step>(t)))
          values.push_back(static_cast<double>(graph.features[(t * n + v) * 3 + f]));
    double sum = 0, squares = 0;
    for (const double x : values) sum += x;
    const double mean = sum / static_cast<double>(values.size());
    for (const double x : values) squares += (x - mean) * (x - mean);
    const bool constant = std::equal(values.begin() + 1, values.end(), values.begin());
    result.mean.push_back(mean);
    result.factor.push_back(constant ? 0 : 1 / std::sqrt(squares / static_cast<double>(values.size())));
  }
  return result;
}

TEST(SharedFacts, MeasuresAreThoseOfPlainLoopsBitForBit) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const SnapshotGraph graph = with_features(test::random_steps(60, 12, 80, seed), seed);
    for (const char* kind : {"all", "seen", "active"}) {
      const std::shared_ptr<const Presence> cells = presence_of(graph, kind);
      for (const std::size_t steps : {1, 5, 12}) {
        const FeatureMeasures expected = plain_measures(graph, steps, cells.get()),
                              found = measure_features(graph, static_cast<std::int64_t>(steps), false, cells.get());
        EXPECT_EQ(found.mean, expected.mean);
        EXPECT_EQ(found.factor, expected.factor);
        const TemporaryFolder folder;
        write_measures(found, folder.file("m"));
        const FeatureMeasures back = read_measures(folder.file("m"));
        EXPECT_EQ(back.mean, expected.mean);
        EXPECT_EQ(back.factor, expected.factor);
      }
    }
  }
}

/// Processes of one node get equal facts from one file, which one of them writes.
TEST(SharedFacts, OneProcessOfSeveralComputesThem) {
  const SnapshotGraph graph = with_features(test::random_steps(4000, 20, 3000, 3), 3);
  const auto presence = presence_of(graph, "lifetime");
  const FeatureMeasures expected = plain_measures(graph, 11, presence.get());
  for (const int count : {1, 2, 3, 4, 8}) {
    const TemporaryFolder folder;
    const auto gets_the_same = [&] {
      NodeStoreSetting setting;
      setting.folders = {folder.file("cache")};
      setting.begin_wait = endless;
      setting.note = [](const std::string&) {};
      const NodeStore store(std::move(setting));
      const auto write = [&](const std::string& path) {
        write_presence(graph, "lifetime", path, endless);
        std::ofstream(folder.file("makers"), std::ios::app) << 'p';
      };
      const auto cells = store.get<std::shared_ptr<const Presence>>("presence", write, read_presence);
      const auto measure = [&](const std::string& path) {
        write_measures(measure_features(graph, 11, false, cells->get()), path);
        std::ofstream(folder.file("makers"), std::ios::app) << 'm';
      };
      const auto read = [](const std::string& path, const std::shared_ptr<const void>&) { return read_measures(path); };
      const auto found = store.get<FeatureMeasures>("measures", measure, read);
      for (int looks = 0; looks < 20'000 && test::read_bytes(folder.file("done")).size() < std::size_t(count);
           ++looks) {
        if (looks == 0) std::ofstream(folder.file("done"), std::ios::app) << 'd';
        usleep(1000);
      }
      bool same = found->mean == expected.mean && found->factor == expected.factor;
      for (Step t = 0; t < graph.steps(); ++t)
        for (VertexId v = 0; v < graph.vertices; ++v) same &= (*cells)->begin(v, t) == presence->begin(v, t);
      return same;
    };
    std::ofstream(folder.file("done"));
    std::vector<pid_t> children;
    for (int i = 0; i < count; ++i) children.push_back(test::start_child(gets_the_same));
    for (const pid_t child : children) EXPECT_EQ(test::status_of_child(child), 0);
    EXPECT_EQ(test::read_bytes(folder.file("makers")).size(), 2u) << count << " processes";
  }
}

}  // namespace
}  // namespace strobe
