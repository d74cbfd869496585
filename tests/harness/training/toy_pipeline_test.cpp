// The toy pipeline under the loop that every kind of training shares: it runs, resumes, is simulated and planned, with
// the bits of a plain loop. Its host works at the same time as the device.
#include "tests/harness/training/toy_pipeline.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/training/planned_peak.hpp"
#include "results/row/row.hpp"

namespace strobe {
namespace {

using toy_pipeline::Reference;

void expect_reference(const CaseResult& result, int ranks, std::size_t first = 0) {
  ASSERT_EQ(result.status, "ok") << result.reason;
  const Reference reference(ranks, 4);
  ASSERT_EQ(result.loss.per_epoch.size(), 4u);
  for (std::size_t e = first; e < 4; ++e) EXPECT_EQ(result.loss.per_epoch[e], reference.weights[e][0]) << e;
  EXPECT_EQ(result.metrics.at("weight").per_epoch.back(), reference.weights[3].back());
}

TEST(ToyPipeline, RunsToTheBitsOfAPlainLoop) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    const CaseResult result = run_case(toy_pipeline::case_of(ranks));
    expect_reference(result, ranks);
    const Case c = toy_pipeline::case_of(ranks);
    const Row row = summarise(case_to_json(c), case_id(c), result);
    EXPECT_EQ(row.iterations, toy_pipeline::iterations);
    EXPECT_EQ(row.operation_seconds->count("make_batch"), 1u);
  }
}

TEST(ToyPipeline, SeveralHostThreadsAndRepetitionsChangeNothing) {
  const CaseResult result = run_case(toy_pipeline::case_of(3, {{"host_threads", 2}, {"repeat", 2}}));
  expect_reference(result, 3);
}

TEST(ToyPipeline, IsSimulatedToTheSameBits) {
  for (const int ranks : {1, 2, 4, 6}) {
    expect_reference(run_case(toy_pipeline::case_of(ranks, {{"device", "sim"}, {"numerics", "cpu"}})), ranks);
  }
}

TEST(ToyPipeline, TakesTheSameVirtualTimeWithoutValues) {
  const auto seconds = [](const char* numerics) {
    const CaseResult result = run_case(toy_pipeline::case_of(4, {{"device", "sim"}, {"numerics", numerics}}));
    EXPECT_EQ(result.status, "ok") << result.reason;
    std::vector<double> all;
    for (const EpochSample& sample : result.samples) all.push_back(sample.epoch_seconds);
    return all;
  };
  // Evaluations, which need values, take time between the epochs, so time differences round differently.
  const std::vector<double> with = seconds("cpu"), without = seconds("none");
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < with.size(); ++i) EXPECT_NEAR(with[i], without[i], 1e-12);
}

TEST(ToyPipeline, Resumes) {
  for (const char* device : {"cpu", "sim"}) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("strobe-pipeline-" + std::to_string(getpid()))).string();
    Json changes = {{"device", device}, {"epochs", 1}};
    if (std::string(device) == "sim") changes["numerics"] = "cpu";
    ModelOutputs outputs;
    outputs.checkpoint = path;
    ASSERT_EQ(run_case(toy_pipeline::case_of(3, changes), nullptr, outputs).status, "ok");
    outputs.resume_training = true;
    changes["epochs"] = 3;
    expect_reference(run_case(toy_pipeline::case_of(3, changes), nullptr, outputs), 3);
    std::filesystem::remove(path);
  }
}

TEST(ToyPipeline, IsPlannedWithItsHelper) {
  const Json report = plan_case(toy_pipeline::case_of(3));
  ASSERT_EQ(report.at("helpers").size(), 1u);
  EXPECT_EQ(report.at("helpers")[0].at("name"), "memory");
  EXPECT_EQ(report.at("helpers")[0].at("channels").size(), 6u);
  EXPECT_GT(planned_peak(*make_plan(toy_pipeline::case_of(3))).bytes, 0u);
}

/// Whether work of the host overlaps other work of the rank.
bool overlaps(const std::vector<Span>& spans, Phase phase, Stream stream) {
  for (const Span& work : spans) {
    if (work.stream != Stream::host || work.blocking) continue;
    for (const Span& other : spans) {
      if (other.phase != phase || other.stream != stream) continue;
      if (std::min(work.end_seconds, other.end_seconds) > std::max(work.begin_seconds, other.begin_seconds))
        return true;
    }
  }
  return false;
}

TEST(ToyPipeline, TheHostWorksWhileTheDeviceDoes) {
  std::vector<std::vector<Span>> trace;
  ASSERT_EQ(run_case(toy_pipeline::case_of(2, {{"device", "sim"}}), &trace).status, "ok");
  for (const std::vector<Span>& rank : trace) {
    EXPECT_TRUE(overlaps(rank, Phase::compute, Stream::compute));
    EXPECT_TRUE(overlaps(rank, Phase::transfer, Stream::copy));
  }
}

}  // namespace
}  // namespace strobe
