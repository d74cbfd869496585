// Helpers of the tests of captured models: a folder for the file, training, and operations as JSON.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"

namespace strobe {

/// A folder of its own for a test's model.
class CapturedModel : public testing::Test {
 protected:
  CapturedModel() : folder_(std::filesystem::temp_directory_path() / ("strobe-captured-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~CapturedModel() override { std::filesystem::remove_all(folder_); }

  Json model(const Json& graph) const {
    std::ofstream(folder_ / "model.json") << graph.dump();
    return {{"name", "captured"}, {"path", folder_.string()}};
  }

  std::filesystem::path folder_;
};

inline CaseResult train_captured(const Json& model, const std::string& strategy, int ranks, int seed = 1,
                                 const Json& more = Json::object()) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 24}, {"steps", 7}, {"density", 3}}},
                  {"model", model},
                  {"strategy", {{"name", strategy}}},
                  {"ranks", ranks},
                  {"seed", seed},
                  {"epochs", 3},
                  {"warmup", 0},
                  {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
                  {"precision", "fp64"}};
  request.update(more);
  CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << strategy << " at " << ranks << " ranks: " << result.reason;
  return result;
}

inline void expect_equal_losses(const CaseResult& a, const CaseResult& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.loss.per_epoch.size(), 3u) << what;
  ASSERT_EQ(b.loss.per_epoch.size(), 3u) << what;
  for (std::size_t e = 0; e < 3; ++e) EXPECT_NEAR(a.loss.per_epoch[e] / b.loss.per_epoch[e], 1.0, tolerance) << what;
}

inline Json operation(const std::string& name, const std::string& kind, const std::vector<std::string>& of,
                      const Json& more = Json::object()) {
  Json json{{"name", name}, {"kind", kind}, {"of", of}};
  json.update(more);
  return json;
}

}  // namespace strobe
