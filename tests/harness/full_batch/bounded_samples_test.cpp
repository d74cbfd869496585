// Samples that are drawn within a bound of memory: the same as without one, and outside of the private memory.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/system/process_memory.hpp"
#include "harness/full_batch/plan/existing_samples.hpp"
#include "harness/full_batch/plan/samples_file.hpp"
#include "tests/workloads/graph/random_steps.hpp"
#include "tests/workloads/support.hpp"
#include "workloads/storage/reading_bound.hpp"
#include "workloads/workload.hpp"

namespace strobe {
namespace {

std::unique_ptr<Task> task_of(const std::string& name, const Json& options) {
  return TaskRegistry::instance().find(name).value(options);
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

/// A graph with classes of cells, some of them unknown.
SnapshotGraph labelled_graph(std::uint64_t seed) {
  SnapshotGraph graph = test::random_steps(60, 9, 400, seed);
  for (std::int64_t cell = 0; cell < 60 * 9; ++cell)
    graph.cell_label.push_back(static_cast<std::int8_t>((cell * 7 + static_cast<std::int64_t>(seed)) % 4 - 1));
  return graph;
}

TEST(BoundedSamples, HaveTheBytesOfThoseInMemory) {
  const test::TemporaryFolder folder;
  const std::vector<std::pair<std::string, Json>> tasks{
      {"link-prediction", {{"theta", 0.7}}},
      {"link-prediction", {{"theta", 0.5}, {"ranking_negatives", 0}}},
      {"link-prediction", {{"theta", 0.6}, {"split", "60/15/25"}}},
      {"vertex-classification", {{"classes", 3}}},
      {"vertex-classification", {{"classes", 3}, {"class_weights", "none"}, {"split", "50/25/25"}}},
      {"vertex-regression", Json::object()}};
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const SnapshotGraph graph = labelled_graph(seed);
    const auto presence = presence_of(graph, "seen");
    for (const auto& [name, options] : tasks) {
      const std::unique_ptr<Task> task = task_of(name, options);
      const auto draw = [&](const SnapshotGraph& on) { return task->draw(on, seed); };
      for (const bool some : {false, true}) {
        const auto write = [&](const char* file) {
          const TaskData data = some ? draw_existing_samples(*task, draw, graph, *presence, "seen") : draw(graph);
          EXPECT_GT(data.train.count(), 0) << name;
          write_samples_file(data, folder.file(file));
          return content_of(folder.file(file));
        };
        const std::string judge = write("whole.bin");
        const BoundedReading bound(1 << 10, folder.file(""));
        EXPECT_EQ(write("bounded.bin"), judge) << name << options << some << seed;
      }
    }
  }
}

TEST(BoundedSamples, TakeNoPrivateMemoryThatGrowsWithTheirNumber) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take memory of their own";
#endif
  const test::TemporaryFolder folder;
  const SnapshotGraph graph = load_workload("uniform", {{"steps", 8}, {"vertices", 60000}, {"density", 4}}, 3);
  const std::unique_ptr<Task> task = task_of("link-prediction", {{"theta", 1.0}, {"ranking_negatives", 0}});
  const auto private_bytes = [&](bool bounded) {
    std::optional<BoundedReading> bound;
    if (bounded) bound.emplace(std::uint64_t{8} << 20, folder.file(""));
    spare_process_memory(true);
    const std::uint64_t before = process_memory_bytes();
    const TaskData data = task->draw(graph, 3);
    const auto taken = static_cast<double>(process_memory_bytes()) - static_cast<double>(before);
    spare_process_memory(false);
    const std::int64_t all = data.train.count() + data.test.count();
    EXPECT_GT(all, 3000000);
    return taken / static_cast<double>(all);
  };
  EXPECT_GT(private_bytes(false), 12.0) << "bytes a sample in memory";
  EXPECT_LT(private_bytes(true), 3.0) << "bytes a sample within a bound";
}

}  // namespace
}  // namespace strobe
