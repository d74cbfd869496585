// Calibration: the fit, samples and the band, compared with planted coefficients, spans and ratios. Also a whole
// calibration of a few small cases, whose cluster file simulates the measured cases with equal bytes.
#include "harness/calibration/calibration.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/cluster.hpp"
#include "core/errors.hpp"
#include "core/random.hpp"
#include "harness/calibration/least_squares.hpp"
#include "harness/run/launch_request.hpp"
#include "harness/run/run_case.hpp"
#include "harness/validation/pairs.hpp"

namespace strobe {
namespace {

/// Observations of seconds = sum of coefficients times amounts, with sizes over four decades.
std::vector<Observation> planted(const std::vector<double>& coefficients, int count) {
  std::vector<Observation> observations;
  for (int i = 0; i < count; ++i) {
    const double size = std::pow(10.0, i % 5);
    Observation o{{1, size, size * (1 + i % 3), 0}, 0};
    o.seconds = predicted_seconds(coefficients, o.amounts);
    observations.push_back(std::move(o));
  }
  return observations;
}

TEST(Fit, FindsPlantedCoefficientsAndLeavesAbsentTermsAtZero) {
  const std::vector<double> truth{3e-6, 2e-9, 5e-10, 0};
  const std::vector<double> found = fit_non_negative(planted(truth, 40));
  ASSERT_EQ(found.size(), truth.size());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i] / truth[i], 1, 1e-6) << i;
  EXPECT_EQ(found[3], 0);
}

TEST(Fit, AnInterruptedCallDoesNotDrawTheOthersAlong) {
  const std::vector<double> truth{3e-6, 2e-9, 5e-10, 0};
  std::vector<Observation> observations = planted(truth, 40);
  observations[7].seconds *= 30;
  const std::vector<double> found = fit_non_negative(observations);
  for (std::size_t i = 0; i < observations.size(); ++i) {
    if (i == 7) continue;
    EXPECT_NEAR(predicted_seconds(found, observations[i].amounts) / observations[i].seconds, 1, 0.02) << i;
  }
}

TEST(Fit, TwiceAndHalfTheTimeAreEquallyFar) {
  // Equal calls take 1/8, 1/4, 1/2, 1, 2, 4 or 8 seconds, so the fit must find the middle one. A fit of relative errors
  // would find about 1/8: predicting 1 for 1/8 is 700 % off, but predicting 1 for 8 is less than 100 % off.
  std::vector<Observation> observations;
  for (int power = -3; power <= 3; ++power) observations.push_back({{1}, std::pow(2.0, power)});
  EXPECT_NEAR(fit_non_negative(observations)[0], 1, 0.03);
}

TEST(Fit, WhatGrowsAlikeIsDividedByTheBounds) {
  // Both amounts are proportional, so only a bound can separate their coefficients.
  std::vector<Observation> observations;
  for (const double size : {1e3, 2e4, 5e5}) observations.push_back({{size, 2 * size}, 9e-9 * size});
  const std::vector<double> found = fit_non_negative(observations, {1e-9, INFINITY});
  EXPECT_LE(found[0], 1e-9 * (1 + 1e-12));
  EXPECT_NEAR((found[0] + 2 * found[1]) / 9e-9, 1, 1e-6);
  const std::vector<double> other = fit_non_negative(observations, {INFINITY, 1e-9});
  EXPECT_LE(other[1], 1e-9 * (1 + 1e-12));
  EXPECT_NEAR((other[0] + 2 * other[1]) / 9e-9, 1, 1e-6);
  const std::vector<double> both = fit_non_negative(observations, {1e-9, 1e-9});
  EXPECT_NEAR(both[0] / 1e-9, 1, 1e-6);
  EXPECT_NEAR(both[1] / 1e-9, 1, 1e-6);
}

TEST(Fit, NoCoefficientIsNegativeEvenWhereThatWouldFitBetter) {
  const std::vector<double> found = fit_non_negative({{{1, 1}, 10}, {{1, 2}, 8}, {{1, 4}, 4}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_GT(found[0], 0);
  EXPECT_EQ(found[1], 0);
  EXPECT_TRUE(fit_non_negative({}).empty());
}

Span operation(std::string_view name, double begin, double end, double bytes) {
  return {name, Phase::compute, Stream::compute, Traffic::other, true, begin, end, {0, bytes, 0}, 0, 0, 0};
}

TEST(OperationSamples, CallsOfEqualWorkAreOneAndWarmUpIsLeftOut) {
  // `fill` has two calls in each of four epochs, the first for warm-up: 9, then 2, 5 and 1.5 seconds on average.
  std::vector<std::vector<Span>> spans(2);
  double now = 0;
  for (const double seconds : {8.0, 10.0, 1.0, 3.0, 2.0, 8.0, 1.0, 2.0}) {
    spans[0].push_back(operation("fill", now, now + seconds, 8));
    now += seconds;
  }
  spans[0].push_back(operation("dense", now, now + 1, 8));
  spans[1] = {operation("fill", 0, 7, 16),
              {"barrier", Phase::wait, Stream::communicate, Traffic::other, true, 7, 8, {}, 0, 0, 0}};
  OperationTiming of_case;
  of_case.ranks = 2;
  of_case.configuration = "planted";
  const std::vector<OperationTiming> samples = operation_timings(spans, {1, 3}, of_case);
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[0].operation, "dense");  // its only call counts
  EXPECT_EQ(samples[0].seconds, 1);
  EXPECT_EQ(samples[1].operation, "fill");
  EXPECT_EQ(samples[1].seconds, 2);  // the median of 2, 5 and 1.5
  EXPECT_EQ(samples[1].calls, 6);
  EXPECT_EQ(samples[2].work.bytes_read, 16);
  EXPECT_EQ(samples[2].seconds, 7);
  for (const OperationTiming& sample : samples)
    EXPECT_EQ(sample.configuration + std::to_string(sample.ranks), "planted2");
}

TEST(OperationSamples, EveryRanksEpochsCountAlike) {
  // Epochs of 1, 2 and 3 seconds on one rank, of 10, 20 and 30 on the other.
  std::vector<std::vector<Span>> spans(2);
  for (const double seconds : {1.0, 2.0, 3.0}) {
    spans[0].push_back(operation("fill", 0, seconds, 8));
    spans[1].push_back(operation("fill", 0, 10 * seconds, 8));
  }
  const std::vector<OperationTiming> samples = operation_timings(spans, {0, 3}, {});
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].seconds, 6.5);  // of 1, 2, 3, 10, 20 and 30
}

TEST(OperationSamples, CallsThatDoNotDivideIntoEpochsCountWithoutTheFirst) {
  std::vector<Span> spans;
  for (const double seconds : {9.0, 2.0, 3.0, 7.0}) spans.push_back(operation("fill", 0, seconds, 8));
  const std::vector<OperationTiming> samples = operation_timings({spans}, {1, 2}, {});
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].seconds, 4);
  EXPECT_EQ(samples[0].calls, 3);
}

TEST(CollectiveSamples, EveryKindIsMeasuredWithTheBytesOfItsBusiestRank) {
  Case c;
  c.ranks = 3;
  std::map<std::string, std::vector<CollectiveTiming>> found;
  for (const CollectiveTiming& sample : collective_timings("local", launch_request(c), 512)) {
    found[sample.collective].push_back(sample);
    EXPECT_GT(sample.seconds, 0) << sample.collective;
    EXPECT_EQ(sample.ranks, 3);
  }
  ASSERT_EQ(found.size(), 8U);
  EXPECT_EQ(found.at("barrier").size(), 1U);
  for (const char* kind : {"all_to_all_v", "all_reduce", "all_gather_v", "reduce_scatter", "broadcast", "send"})
    ASSERT_EQ(found.at(kind).size(), 3U) << kind;  // 8, 64 and 512 bytes a part
  EXPECT_EQ(found.at("all_to_all_v")[2].bytes, 2 * 512);
  EXPECT_EQ(found.at("all_to_all_v")[2].messages, 2);
  EXPECT_NEAR(found.at("all_reduce")[2].bytes, 2.0 * 2 / 3 * 3 * 512, 1e-9);
  EXPECT_EQ(found.at("all_gather_v")[2].bytes, 2 * 512);
  EXPECT_EQ(found.at("send")[2].messages, 1);
  EXPECT_EQ(found.at("send")[2].bytes, 3 * 512);
  ASSERT_EQ(found.at(message_name).size(), 3U);
  EXPECT_EQ(found.at(message_name)[2].messages, 1);
  EXPECT_EQ(found.at(message_name)[2].bytes, 3 * 512);
  c.ranks = 1;
  EXPECT_TRUE(collective_timings("local", launch_request(c), 512).empty());
}

std::vector<HeldOutEpoch> with_ratios(int count) {
  std::vector<HeldOutEpoch> epochs;
  for (int i = 1; i <= count; ++i) epochs.push_back({std::to_string(i), 0.01 * i, 0.01});
  return epochs;
}

TEST(CalibrationBand, HoldsAllButOneInTwentyOnEitherSide) {
  Json cluster = Json::object();
  add_bands(with_ratios(39), "cuda", "2026-01-31", cluster);  // ratios 1 to 39; 5 % of 40 are 2
  EXPECT_NEAR(cluster.at("epoch_band_90").at("low_factor").get<double>(), 2, 1e-9);
  EXPECT_NEAR(cluster.at("epoch_band_90").at("high_factor").get<double>(), 38, 1e-9);
  EXPECT_EQ(cluster.at("epoch_band_90").at("date"), "2026-01-31");
  EXPECT_EQ(cluster.at("epoch_band_90").at("ranks"), 1);
  std::vector<HeldOutEpoch> on_four = with_ratios(39);
  on_four[7].ranks = 4;
  add_bands(on_four, "cuda", "2026-01-31", cluster);
  EXPECT_EQ(cluster.at("epoch_band_90").at("ranks"), 4) << "the most that were measured";
  add_bands(with_ratios(5), "cpu", "2026-01-31", cluster);
  EXPECT_NEAR(cluster.at("epoch_band_90").at("low_factor").get<double>(), 1, 1e-9);
  EXPECT_NEAR(cluster.at("epoch_band_90").at("high_factor").get<double>(), 5, 1e-9);
  EXPECT_NE(cluster.at("epoch_band_90").at("source").get<std::string>().find("extremes"), std::string::npos);
  Json none = Json::object();
  add_bands({}, "cpu", "2026-01-31", none);
  EXPECT_FALSE(none.contains("epoch_band_90"));
}

Suite small_suite() {
  return expand_suite(Json::parse(R"({
    "name": "small",
    "defaults": {"epochs": 3, "warmup": 1},
    "cases": [{
      "matrix": {"workload": [{"name": "uniform", "steps": 6, "vertices": 40}, {"name": "uniform", "steps": 8, "vertices": 90},
                              {"name": "uniform", "steps": 9, "vertices": 200}, {"name": "uniform", "steps": 12, "vertices": 400}],
                 "model": ["tm-gcn", "t-gcn"]}, "strategy": "snapshot", "ranks": 2}]})"),
                      {});
}

const CalibrationListener silent{[](const std::string&) {},
                                 [](const std::string&, const std::string&, const std::string&, const std::string&) {}};

TEST(Calibration, TheFileSimulatesWhatWasMeasured) {
  const Suite suite = small_suite();
  const CalibrationData data = measure_calibration(suite, silent);
  EXPECT_TRUE(data.failed.empty());
  ASSERT_EQ(data.cases.size(), suite.cases.size());
  EXPECT_GT(data.rates.flops_fp32_per_second, data.rates.flops_fp64_per_second / 2);
  const ClusterDescription about{"here", "a machine under test", "2026-01-31", "a processor", std::uint64_t{8} << 30};
  Json json = calibrated_cluster(data, about);
  const std::vector<HeldOutEpoch> held_out = held_out_epochs(data, about);
  EXPECT_EQ(held_out.size(), 4U);  // two models on the two workloads that are neither quickest nor slowest
  for (const HeldOutEpoch& epoch : held_out) EXPECT_GT(epoch.predicted_seconds, 0) << epoch.id;
  add_bands(held_out, data.device, about.date, json);
  const std::string path = fmt::format("{}/calibrated-here-{}.json", testing::TempDir(), getpid());
  std::ofstream(path) << json.dump();
  const std::shared_ptr<const Cluster> cluster = load_cluster(path);
  EXPECT_TRUE(cluster->calibrated);
  EXPECT_TRUE(cluster->shared_host_memory);
  ASSERT_EQ(cluster->epoch_bands.size(), 1u) << "too few epochs to tell ranks apart";
  EXPECT_EQ(json.at("calibration").at("cases").size(), suite.cases.size());
  const Case real = suite.cases.front();
  std::vector<std::vector<Span>> spans;
  const CaseResult simulated = run_case(simulated_case(real, path), &spans);
  ASSERT_EQ(simulated.status, "ok") << simulated.reason;
  EXPECT_EQ(simulated.band_high_factor, cluster->epoch_bands[0].high);
  EXPECT_EQ(std::count(simulated.notes.begin(), simulated.notes.end(), "uncalibrated"), 0);
  EXPECT_EQ(simulated.samples.front().sent_bytes, run_case(real).samples.front().sent_bytes);
  for (const std::vector<Span>& rank : spans) {
    for (const Span& span : rank) {
      if (span.stream != Stream::compute) continue;
      EXPECT_GE(cluster->calibration->operation_seconds(span.name, span.work, ElementType::f32, 2), 0) << span.name;
    }
  }
  std::filesystem::remove(path);
}

TEST(Calibration, AGpusFileHasItsMemoryAndTheWayToIt) {
  Suite suite = small_suite();
  suite.cases.resize(2);
  CalibrationData data = measure_calibration(suite, silent);
  data.rates.own_memory = true;
  data.rates.memory_bytes = std::uint64_t{80} << 30;
  data.rates.host_to_device_bytes_per_second = 2e10;
  data.rates.host_to_device_latency_seconds = 1e-5;
  data.cores = 0;  // every rank has a GPU of its own
  const ClusterDescription about{"gpu", "a GPU under test", "2026-01-31", "a GPU", std::uint64_t{8} << 30};
  const std::string path = fmt::format("{}/calibrated-gpu-{}.json", testing::TempDir(), getpid());
  std::ofstream(path) << calibrated_cluster(data, about).dump();
  const std::shared_ptr<const Cluster> cluster = load_cluster(path);
  EXPECT_FALSE(cluster->shared_host_memory);
  EXPECT_EQ(cluster->gpu.memory_bytes, std::uint64_t{40} << 30);  // two ranks were measured
  EXPECT_EQ(cluster->host_to_device_bytes_per_second, 2e10);
  EXPECT_EQ(cluster->host_to_device_latency_seconds, 1e-5);
  std::filesystem::remove(path);
}

TEST(Calibration, WhatCannotBeMeasuredIsRefusedOrListed) {
  Suite suite = small_suite();
  suite.cases.resize(1);
  suite.cases.front().strategy = Json{{"name", "sequential"}};  // this strategy cannot run on two ranks
  const CalibrationData data = measure_calibration(suite, silent);
  EXPECT_EQ(data.failed.size(), 1U);
  EXPECT_THROW(calibrated_cluster(data, {}), InvalidRequest);
  suite = small_suite();
  suite.cases.back().precision = "fp64";
  EXPECT_THROW(measure_calibration(suite, silent), InvalidRequest);
  suite.cases.resize(1);
  suite.cases.front() = simulated_case(suite.cases.front(), "aimos-v100");
  EXPECT_THROW(measure_calibration(suite, silent), InvalidRequest);
}

}  // namespace
}  // namespace strobe
