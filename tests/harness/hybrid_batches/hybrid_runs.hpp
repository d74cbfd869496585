// Cases of hybrid batches, and random graphs for them.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"

namespace strobe::test {

/// A csv file of random events, removed by the destructor.
class RandomEvents {
 public:
  explicit RandomEvents(int seed, int vertices = 40, int events = 500)
      : path_((std::filesystem::temp_directory_path() / fmt::format("strobe-hybrid-{}-{}.csv", getpid(), seed))
                  .string()) {
    std::mt19937 draw(static_cast<unsigned>(seed));
    const auto below = [&](int n) { return static_cast<int>(draw() % static_cast<unsigned>(n)); };
    std::ofstream file(path_);
    file << "source,target,time,weight\n";
    for (int i = 0; i < events; ++i) {
      // Half of the graphs have hubs.
      const int source = seed % 2 == 0 ? below(vertices) : below(1 + below(vertices));
      file << fmt::format("{},{},{},{}\n", source, below(vertices), i, 1 + below(3));
    }
  }
  ~RandomEvents() { std::filesystem::remove(path_); }
  RandomEvents(const RandomEvents&) = delete;
  RandomEvents& operator=(const RandomEvents&) = delete;

  Json workload(int steps) const { return {{"name", path_}, {"window_count", steps}}; }

 private:
  std::string path_;
};

inline Json hybrid_case(const Json& workload, const Json& model, const Json& strategy, int ranks, int epochs = 3) {
  return {{"workload", workload}, {"model", model},
          {"strategy", strategy}, {"ranks", ranks},
          {"epochs", epochs},     {"warmup", 0},
          {"precision", "fp64"},  {"optimizer", {{"name", "adam"}, {"rate", 0.01}}}};
}

inline CaseResult run(const Json& request) { return run_case(case_from_json(request, "")); }

}  // namespace strobe::test
