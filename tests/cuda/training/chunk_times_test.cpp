// Chunks measured on device cuda, for chunk:cost=mlp: rows of the silent rank are cleared in device memory, stages get
// the operations of the pass, and the learned times belong to that device only.
#include "harness/calibration/chunks/chunk_times.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/calibration/chunks/chunk_calibration.hpp"
#include "harness/calibration/chunks/chunk_plan.hpp"
#include "harness/calibration/chunks/random_chunks.hpp"
#include "harness/run/run_case.hpp"
#include "results/run/files.hpp"
#include "tests/cuda/gpu.hpp"

namespace strobe {
namespace {

Json chunk_times_case(const std::string& model, const std::string& device, int ranks) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 60}, {"steps", 9}, {"density", 2.0}}},
          {"model", {{"name", model}}},
          {"device", device},
          {"ranks", ranks}};
}

struct MeasuredChunk {
  StageSeconds seconds;
  double all = 0;                       // seconds of all operations
  std::map<std::string, double> flops;  // by operation
};

/// One pass over a chunk of half of the cells.
MeasuredChunk measured_chunk(const std::string& model, const std::string& device) {
  const Case request = case_from_json(chunk_times_case(model, device, 2), "");
  const FullBatchCase whole = begin_full_batch(request, PlanUse::run);
  const SuperGraph super = super_graph(*whole.data.graph, {1, {{1, 1, 0}}, 0});
  const SizedCells cells(*whole.data.graph, super, false);
  const std::vector<NodeId> nodes = ChunkGrower(super).grow({super.nodes() / 2, 0.5}, RandomStream(3, 7));
  ChunkBench bench(request);
  MeasuredChunk measured;
  measured.seconds = bench.measure(*plan_chunk_alone(whole, cells, nodes), 1);
  for (const Span& span : bench.spans()) {
    if (span.stream != Stream::compute || span.phase != Phase::compute) continue;
    measured.all += span.end_seconds - span.begin_seconds;
    if (span.work.flops > 0) measured.flops[std::string(span.name)] += span.work.flops;
  }
  return measured;
}

class CudaChunkTimes : public testing::TestWithParam<std::string> {};

TEST_P(CudaChunkTimes, AChunkHasTheOperationsThatItHasOnTheCpu) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  const MeasuredChunk judge = measured_chunk(GetParam(), "cpu");
  double cpu = 0;
  for (const auto& [name, flops] : judge.flops) cpu += flops;
  ASSERT_GT(judge.seconds.time, 0);
  for (const char* device : {"cuda", "cuda-graphs"}) {
    const MeasuredChunk chunk = measured_chunk(GetParam(), device);
    double here = 0;
    for (const auto& [name, flops] : chunk.flops) here += flops;
    EXPECT_NEAR(here / cpu, 1, 0.01) << device;
    // A model that computes step by step has no separate structure encoder.
    EXPECT_EQ(chunk.seconds.structure > 0, judge.seconds.structure > 0) << device;
    EXPECT_GT(chunk.seconds.time, 0) << device;
    EXPECT_LE(chunk.seconds.sum(), chunk.all * (1 + 1e-9)) << device;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaChunkTimes, testing::Values("t-gcn", "mpnn-lstm", "dysat", "tm-gcn", "dcrnn"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
                           return name;
                         });

TEST(CudaChunkLearning, WhatIsLearnedIsOfTheDevice) {
  if (const std::string reason = why_no_gpu(); !reason.empty()) GTEST_SKIP() << reason;
  ChunkCalibration how;
  how.trained = 100, how.held_out = 20, how.most_cells = 200, how.runs = 1, how.shortest_seconds = 0;
  how.training.epochs = 5;
  how.sources = {{case_from_json(chunk_times_case("mpnn-lstm", "cuda", 2), "")}};
  const LearnedChunks result = learn_chunks(how);
  EXPECT_EQ(result.learned.device, "cuda");
  EXPECT_EQ(result.trained, 100);
  for (const ChunkError& error : result.errors) EXPECT_TRUE(std::isfinite(error.mean)) << error.cost;
  const std::string path =
      (std::filesystem::temp_directory_path() / ("strobe-cuda-chunks-" + std::to_string(getpid()) + ".json")).string();
  write_file_atomically(path, learned_to_json(result.learned).dump());
  const Json strategy{{"name", "chunk"}, {"cost", "mlp"}, {"workloads", path}, {"assign", "lpt"}};
  Json request = chunk_times_case("mpnn-lstm", "cuda", 2);
  request["strategy"] = strategy, request["epochs"] = 1;
  const CaseResult trained = run_case(case_from_json(request, ""));
  EXPECT_EQ(trained.status, "ok") << trained.reason;
  request["device"] = "cpu";
  try {
    run_case(case_from_json(request, ""));
    ADD_FAILURE() << "a file of device cuda served device cpu";
  } catch (const InvalidRequest& error) {
    EXPECT_NE(std::string(error.what()).find("device cuda"), std::string::npos) << error.what();
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace strobe
