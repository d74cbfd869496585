// The throughput of an epoch counts edges of the workload in the trained steps, without edges that a model adds.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <vector>

#include "core/random.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"

namespace strobe {
namespace {

/// A file of events (source, target, step), removed by the destructor.
class EventFile {
 public:
  explicit EventFile(const std::vector<std::tuple<int, int, int>>& events) {
    static int number = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("strobe-throughput-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".csv"))
                .string();
    std::ofstream file(path_);
    file << "source,target,time\n";
    for (const auto& [source, target, time] : events) file << source << ',' << target << ',' << time << '\n';
  }
  ~EventFile() { std::filesystem::remove(path_); }
  Json workload(const Json& more = Json::object()) const {
    Json json = {{"name", path_}, {"window", "1s"}};
    json.update(more);
    return json;
  }

 private:
  std::string path_;
};

CaseResult result_of(const Json& workload, const Json& model, const Json& more = Json::object()) {
  Json json = {{"workload", workload}, {"model", model}, {"epochs", 1}, {"warmup", 0}};
  json["task"] = {{"name", "link-prediction"}, {"theta", 1}};
  json.update(more);
  const CaseResult result = run_case(case_from_json(json, ""));
  EXPECT_EQ(result.status, "ok") << result.reason;
  return result;
}

TEST(Throughput, CountsEdgesOfTheTrainedStepsForEveryModel) {
  // Steps of 2, 2 and 2 edges among 3 vertices; the last step is the test step.
  const EventFile file({{0, 1, 0}, {1, 2, 0}, {0, 1, 1}, {2, 0, 1}, {1, 2, 2}, {2, 1, 2}});
  for (const auto& [model, nonzeros] : {std::pair{Json{{"name", "tm-gcn"}, {"window", 1}}, 10.0},  // and 3 x 2 loops
                                        {Json{{"name", "tm-gcn"}, {"window", 2}}, 11.0},           // and 1 smoothed
                                        {Json{{"name", "dcrnn"}}, 4.0}}) {
    const CaseResult result = result_of(file.workload(), model);
    EXPECT_EQ(result.throughput_unit, "edges_per_second");
    EXPECT_EQ(result.items_per_epoch, 4) << model;
    EXPECT_EQ(result.nonzeros_per_epoch, nonzeros) << model;
    EXPECT_EQ(result.cells_per_epoch, 2 * 3) << model;
    EXPECT_EQ(result.iterations_per_epoch, 1) << model;
  }
}

TEST(Throughput, EdgesAreThoseOfTheStepsAsTheWorkloadHasThem) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const RandomStream random(seed, random_purpose::partition);
    std::vector<std::tuple<int, int, int>> events;
    constexpr int steps = 7;
    for (std::uint64_t i = 0; i < 200; ++i) {
      events.emplace_back(random.below(3 * i, 12), random.below(3 * i + 1, 12), random.below(3 * i + 2, steps));
    }
    events.emplace_back(0, 1, 0);
    events.emplace_back(0, 1, steps - 1);
    std::vector<std::set<std::pair<int, int>>> distinct(steps), so_far(steps);
    for (const auto& [source, target, step] : events) {
      distinct[step].emplace(source, target);
      for (int t = step; t < steps; ++t) so_far[t].emplace(source, target);
    }
    const auto trained = [](const std::vector<std::set<std::pair<int, int>>>& of) {
      double sum = 0;
      for (std::size_t t = 0; t + 1 < of.size(); ++t) sum += static_cast<double>(of[t].size());
      return sum;
    };
    const EventFile file(events);
    const Json model = {{"name", "tm-gcn"}, {"window", 3}};
    for (const int ranks : {1, 2, 3}) {
      const Json more = {{"ranks", ranks}, {"strategy", ranks == 1 ? "sequential" : "vertex"}};
      EXPECT_EQ(result_of(file.workload(), model, more).items_per_epoch, trained(distinct)) << seed;
    }
    EXPECT_EQ(result_of(file.workload({{"cumulative", true}}), model).items_per_epoch, trained(so_far)) << seed;
    const Json simulated = {{"device", "sim"}, {"cluster", "aimos-v100"}};
    EXPECT_EQ(result_of(file.workload(), model, simulated).items_per_epoch, trained(distinct)) << seed;
  }
}

TEST(Throughput, AShapeHasTheEdgesOfItsSteps) {
  // Training uses 199 of 200 steps, and the published sum of edges is spread evenly.
  const Json simulated = {{"device", "sim"},
                          {"cluster", "aimos-v100"},
                          {"strategy", "snapshot"},
                          {"ranks", 64},
                          {"task", {{"name", "link-prediction"}, {"theta", 0.1}}}};
  const CaseResult result = result_of("aml-sim", {{"name", "tm-gcn"}, {"window", 20}}, simulated);
  EXPECT_EQ(result.items_per_epoch, 199 * (124e6 / 200));
  EXPECT_EQ(result.cells_per_epoch, 199 * 1e6);
  EXPECT_GT(result.nonzeros_per_epoch, result.items_per_epoch);
}

}  // namespace
}  // namespace strobe
