// Collectives as the epochs of a case issue them, and the samples that a fit uses.
#include <gtest/gtest.h>

#include "harness/calibration/calibration.hpp"
#include "harness/run/run_case.hpp"

namespace strobe {
namespace {

/// A rank's blocking span of a collective, and the span of its flight, which began `before` seconds before the wait.
void exchange(std::vector<Span>& spans, std::string_view name, double begin, double seconds, std::uint64_t bytes,
              double before) {
  Span span;
  span.name = name;
  span.phase = Phase::communicate;
  span.stream = Stream::communicate;
  span.begin_seconds = begin;
  span.end_seconds = begin + seconds;
  span.sent_bytes = bytes;
  span.messages = bytes > 0 ? 1 : 0;
  spans.push_back(span);
  span.blocking = false;
  span.begin_seconds = begin - before;
  span.sent_bytes = span.messages = 0;
  spans.push_back(span);
}

TEST(EpochCollectives, TheirBytesAreTheBusiestRanksAndTheirTimeIsThatOfEpochs) {
  // A warm-up epoch and two measured ones, each with two exchanges of one size and a small sum.
  std::vector<std::vector<Span>> spans(2);
  for (const double seconds : {90.0, 1.0, 4.0}) {
    for (const double more : {0.0, 2.0}) {
      exchange(spans[0], "all_to_all_v", 100, seconds + more, 64, 8);
      exchange(spans[1], "all_to_all_v", 100, 10 * seconds, 80, 8);
    }
    for (std::vector<Span>& rank : spans) exchange(rank, "all_reduce", 200, 0.5, 16, 0);
  }
  const std::vector<CollectiveTiming> samples = epoch_collectives(spans, {1, 2}, "planted");
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples[0].collective, "all_reduce");
  EXPECT_EQ(samples[0].seconds, 0.5);
  EXPECT_EQ(samples[1].collective, "all_to_all_v");
  EXPECT_EQ(samples[1].ranks, 2);
  EXPECT_EQ(samples[1].bytes, 80);
  EXPECT_EQ(samples[1].messages, 1);
  EXPECT_EQ(samples[1].seconds, 7.5);  // the median of 2, 5, 10 and 40
  EXPECT_EQ(samples[1].flight_seconds, 15.5);
  EXPECT_EQ(samples[1].workload, "planted");
}

TEST(EpochCollectives, WhatARankMovesBetweenItsOperationsIsPartOfTheCall) {
  std::vector<std::vector<Span>> spans(2);
  for (std::vector<Span>& rank : spans) {
    exchange(rank, "all_to_all_v", 0, 3, 0, 0);
    rank.pop_back();  // a short check for data in flight: it has no bytes and no flight of its own
    exchange(rank, "all_to_all_v", 5, 1, 64, 1);
  }
  const std::vector<CollectiveTiming> samples = epoch_collectives(spans, {0, 1}, "planted");
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].bytes, 64);
  EXPECT_EQ(samples[0].seconds, 4);
  EXPECT_EQ(samples[0].flight_seconds, 2);
}

TEST(EpochCollectives, LeaveOutWhatRanksDoNotShare) {
  std::vector<std::vector<Span>> spans(2);
  exchange(spans[0], "send", 0, 1, 64, 0);
  exchange(spans[1], "receive", 0, 1, 0, 0);
  for (std::vector<Span>& rank : spans) exchange(rank, "barrier", 2, 1, 0, 0);
  exchange(spans[0], "broadcast", 4, 1, 64, 0);  // the other rank has no such span
  EXPECT_TRUE(epoch_collectives(spans, {0, 1}, "").empty());
  EXPECT_TRUE(epoch_collectives({spans[0]}, {0, 1}, "").empty());
}

TEST(EpochCollectives, OfARealEpochHaveTheBytesThatItSends) {
  Case c = case_from_json({{"workload", {{"name", "uniform"}, {"vertices", 300}, {"steps", 8}, {"density", 3}}},
                           {"model", "tm-gcn"},
                           {"strategy", "snapshot"},
                           {"ranks", 2},
                           {"epochs", 2},
                           {"warmup", 1}},
                          "");
  std::vector<std::vector<Span>> spans;
  const CaseResult result = run_case(c, &spans);
  ASSERT_EQ(result.status, "ok") << result.reason;
  double most = 0;
  for (const Span& span : spans.front())
    if (span.name == std::string_view("all_to_all_v")) most = std::max(most, static_cast<double>(span.sent_bytes));
  ASSERT_GT(most, 0);
  double found = 0;
  for (const CollectiveTiming& sample : epoch_collectives(spans, {1, 2}, "uniform")) {
    EXPECT_GT(sample.bytes, 0);
    EXPECT_GE(sample.seconds, 0);
    if (sample.collective == "all_to_all_v") found = std::max(found, sample.bytes);
  }
  EXPECT_GE(found, most);  // the other rank may send more
  EXPECT_LE(found, 2 * most);
}

CollectiveTiming sample_of(double bytes, const std::string& workload) {
  CollectiveTiming sample;
  sample.bytes = bytes;
  sample.seconds = 1;
  sample.workload = workload;
  return sample;
}

TEST(SamplesToFit, WithinWhatEpochsIssueThoseMeasuredAloneAreLeftOut) {
  const std::vector<CollectiveTiming> kept = samples_to_fit(
      {sample_of(8, ""), sample_of(64, ""), sample_of(20, "a"), sample_of(512, ""), sample_of(300, "b")});
  ASSERT_EQ(kept.size(), 4U);
  EXPECT_EQ(kept[0].bytes, 8);
  EXPECT_EQ(kept[1].bytes, 20);
  EXPECT_EQ(kept[2].bytes, 512);
  EXPECT_EQ(kept[3].bytes, 300);
  EXPECT_EQ(samples_to_fit({sample_of(8, ""), sample_of(64, "")}).size(), 2U);
}

TEST(SamplesToFit, AFitOfADeviceWithMemoryOfItsOwnStandsOnFlights) {
  CalibrationData data;
  data.operations.push_back({});
  data.operations.back().operation = "fill";
  data.operations.back().seconds = 1;
  data.rates.memory_bytes_per_second = 1e9;
  data.cases.push_back({});
  for (const double bytes : {100.0, 1000.0, 10000.0}) {
    CollectiveTiming sample = sample_of(bytes, "a");
    sample.collective = "all_to_all_v";
    sample.seconds = 1e-6 * bytes;
    sample.flight_seconds = 3e-6 * bytes;
    data.collectives.push_back(sample);
  }
  for (const bool own_memory : {false, true}) {
    data.rates.own_memory = own_memory;
    const Json cluster = calibrated_cluster(data, {"c", "", "2026-11-25", "", 1 << 20});
    const Json& fit = cluster.at("calibration").at("collectives").at("all_to_all_v").front();
    EXPECT_NEAR(fit.at("seconds_per_byte").get<double>(), own_memory ? 3e-6 : 1e-6, 1e-9);
    EXPECT_EQ(fit.at("samples"), 3);
  }
}

}  // namespace
}  // namespace strobe
