// A random graph as a file, for tests of cells that exist: its vertices appear, pause and disappear.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace strobe::test {

/// Events of 24 vertices, each active in some of nine windows. Most are active in the last three, so that samples of
/// the test steps read cells that exist.
inline std::string write_comings_and_goings(unsigned seed) {
  std::mt19937 draw(seed);
  std::vector<std::vector<bool>> there(24, std::vector<bool>(9));
  for (auto& vertex : there) {
    const unsigned from = draw() % 5, until = draw() % 4 == 0 ? 5 + draw() % 4 : 9;
    for (unsigned t = 0; t < 9; ++t) vertex[t] = t >= from && t < until && (t > 5 || draw() % 4 != 0);
  }
  const auto name = fmt::format("strobe-presence-{}-{}.csv", getpid(), seed);
  const std::string path = (std::filesystem::temp_directory_path() / name).string();
  std::ofstream file(path);
  file << "source,target,time\n";
  for (unsigned t = 0; t < 9; ++t) {
    for (int i = 0, written = 0; i < 4000 && written < 60; ++i) {
      const auto u = draw() % 24, v = draw() % 24;
      if (u == v || !there[u][t] || !there[v][t]) continue;
      file << u << ',' << v << ',' << t * 100 + static_cast<unsigned>(written++) << '\n';
    }
  }
  return path;
}

class ComingsAndGoings {
 public:
  explicit ComingsAndGoings(unsigned seed) : path_(write_comings_and_goings(seed)), seed_(seed) {}
  ComingsAndGoings(const ComingsAndGoings&) = delete;
  ComingsAndGoings& operator=(const ComingsAndGoings&) = delete;
  ~ComingsAndGoings() { std::filesystem::remove(path_); }

  Json request(const Json& model, const std::string& presence) const {
    return {{"workload", {{"name", path_}, {"window_count", 9}}},
            {"model", model},
            {"presence", presence},
            {"seed", seed_},
            {"epochs", 2},
            {"warmup", 1},
            {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
            {"precision", "fp64"}};
  }

 private:
  std::string path_;
  unsigned seed_;
};

}  // namespace strobe::test
