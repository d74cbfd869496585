// Runs of walked chunks, and what tests read from them: losses, counted rows, embeddings.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"
#include "workloads/reading/text/npy.hpp"

namespace strobe::test {

inline CaseResult fused_run(const Json& request) {
  CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result;
}

/// Losses of all epochs, each within the relative `tolerance` of the judge's.
inline void expect_curve_of(const CaseResult& result, const CaseResult& judge, double tolerance,
                            const std::string& what) {
  ASSERT_EQ(result.loss.per_epoch.size(), judge.loss.per_epoch.size()) << what;
  for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
    EXPECT_NEAR(result.loss.per_epoch[e] / judge.loss.per_epoch[e], 1.0, tolerance) << what << ", epoch " << e;
}

/// The sum of the rows that all ranks counted in one epoch.
inline StageRows rows_counted(const CaseResult& result) {
  StageRows sum;
  for (const EpochSample& sample : result.samples) {
    if (sample.epoch != 1) continue;
    sum.loaded_bytes += sample.stage_rows.loaded_bytes;
    sum.bin_rows += sample.stage_rows.bin_rows;
    sum.filled_rows += sample.stage_rows.filled_rows;
  }
  return sum;
}

/// All embeddings of the weights as they were drawn: one epoch is trained at a rate that moves no weight.
inline std::vector<double> embeddings_of(Json request) {
  request["epochs"] = 1, request["warmup"] = 0;
  request["optimizer"] = {{"name", "sgd"}, {"rate", 1e-300}};
  const auto path = std::filesystem::temp_directory_path() / ("strobe-fusion-" + std::to_string(getpid()) + ".npy");
  ModelOutputs outputs;
  outputs.files["embeddings"] = path.string();
  EXPECT_EQ(run_case(case_from_json(request, ""), nullptr, outputs).status, "ok") << request.dump();
  const NpyArray array = read_npy(path.string());
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.shape.at(0) * array.shape.at(1) * array.shape.at(2); ++i)
    values.push_back(array.at(i));
  std::filesystem::remove(path);
  return values;
}

}  // namespace strobe::test
