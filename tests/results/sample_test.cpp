#include "results/row/sample.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "core/errors.hpp"
#include "results/row/sample_lines.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

Span span(Phase phase, double begin, double end, bool blocking = true, Stream stream = Stream::compute) {
  Span result;
  result.name = "test";
  result.phase = phase;
  result.stream = stream;
  result.blocking = blocking;
  result.begin_seconds = begin;
  result.end_seconds = end;
  return result;
}

double phase(const EpochSample& sample, Phase which) { return sample.phase_seconds[static_cast<std::size_t>(which)]; }

double sum(const EpochSample& sample) {
  return std::accumulate(sample.phase_seconds.begin(), sample.phase_seconds.end(), 0.0);
}

TEST(SampleFromSpans, TimeInTwoSpansCountsForTheEarlierOne) {
  const std::vector<Span> spans{span(Phase::compute, 10, 16), span(Phase::wait, 11, 12), span(Phase::wait, 15, 17),
                                span(Phase::transfer, 17, 17), span(Phase::host, 19, 23)};
  const EpochSample sample = sample_from_spans(spans, 0, spans.size(), 10, 20);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::compute), 6);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::wait), 1) << "what compute leaves of it";
  EXPECT_DOUBLE_EQ(phase(sample, Phase::transfer), 0);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::host), 1) << "up to the epoch's end";
  EXPECT_DOUBLE_EQ(sum(sample), sample.epoch_seconds);
}

TEST(SampleFromSpans, PhasesAddUpAndOtherIsTheRest) {
  std::vector<Span> spans{span(Phase::compute, 10, 13), span(Phase::wait, 13, 14), span(Phase::communicate, 14, 16),
                          span(Phase::transfer, 17, 17.5), span(Phase::host, 18, 18.25)};
  spans[0].work = {100, 10, 1};
  spans[2].traffic = Traffic::halo;
  spans[2].sent_bytes = 64;
  spans[2].messages = 2;
  spans[2].work = {999, 999, 999};
  spans[3].transfer_bytes = 32;
  const EpochSample sample = sample_from_spans(spans, 0, spans.size(), 10, 20);
  EXPECT_DOUBLE_EQ(sample.epoch_seconds, 10);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::compute), 3);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::communicate), 2);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::wait), 1);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::transfer), 0.5);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::host), 0.25);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::other), 3.25);
  EXPECT_DOUBLE_EQ(sum(sample), sample.epoch_seconds);
  EXPECT_DOUBLE_EQ(sample.busy_seconds, 9);
  EXPECT_EQ(sample.sent_bytes[Traffic::halo], 64u);
  EXPECT_EQ(sample.messages, 2u);
  EXPECT_EQ(sample.transfer_bytes, 32u);
  EXPECT_DOUBLE_EQ(sample.work.flops, 100) << "only compute spans count";
  EXPECT_DOUBLE_EQ(sample.work.bytes(), 11);
}

TEST(SampleFromSpans, OnlyTheAskedSpansCount) {
  const std::vector<Span> spans{span(Phase::compute, 0, 1), span(Phase::compute, 1, 3), span(Phase::compute, 3, 9)};
  const EpochSample sample = sample_from_spans(spans, 1, 2, 1, 3);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::compute), 2);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::other), 0);
}

TEST(SampleFromSpans, OtherIsNeverNegativeAfterManyRoundings) {
  std::vector<Span> spans;
  double at = 1e6;
  for (int i = 0; i < 10000; ++i, at += 0.1) spans.push_back(span(Phase::compute, at, at + 0.1));
  const EpochSample sample = sample_from_spans(spans, 0, spans.size(), 1e6, spans.back().end_seconds);
  EXPECT_GE(phase(sample, Phase::other), 0);
  EXPECT_LT(phase(sample, Phase::other), 1e-6);
  EXPECT_NEAR(sum(sample), sample.epoch_seconds, 1e-6);
}

TEST(SampleFromSpans, HiddenCommunicationIsThePartWithoutWaiting) {
  // Started at 1, waited for from 4: ready at 5, done at 7. Three seconds overlap with compute.
  const std::vector<Span> spans{span(Phase::compute, 0, 4), span(Phase::wait, 4, 5, true, Stream::communicate),
                                span(Phase::communicate, 5, 7, true, Stream::communicate),
                                span(Phase::communicate, 1, 7, false, Stream::communicate)};
  const EpochSample sample = sample_from_spans(spans, 0, spans.size(), 0, 8);
  EXPECT_DOUBLE_EQ(sample.hidden_communicate_seconds, 3);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::communicate), 2) << "a non-blocking span is on no critical path";
  EXPECT_DOUBLE_EQ(sum(sample), 8);
}

TEST(SampleFromSpans, EmptyEpochIsAllOther) {
  const EpochSample sample = sample_from_spans({}, 0, 0, 2, 5);
  EXPECT_DOUBLE_EQ(phase(sample, Phase::other), 3);
  EXPECT_DOUBLE_EQ(sample.busy_seconds, 3);
}

TEST(SampleFromSpans, OperationsAreAddedUpByNameAlsoWhereTheyOverlap) {
  std::vector<Span> spans{span(Phase::compute, 0, 1),     span(Phase::compute, 1, 1.5),
                          span(Phase::compute, 1.5, 3.5), span(Phase::host, 0, 3, false, Stream::host),
                          span(Phase::host, 3.5, 4),  // waiting for the host
                          span(Phase::communicate, 4, 5), span(Phase::transfer, 5, 6, false, Stream::copy)};
  const std::string same = "spmm";  // equal text at another place is the same operation
  spans[0].name = "spmm";
  spans[1].name = "dense";
  spans[2].name = same;
  spans[3].name = "gather_rows";
  spans[0].work = {8, 1, 2};
  spans[2].work = {16, 4, 8};
  spans[3].work = {0, 32, 64};
  const std::vector<OperationTotals> expected{{"dense", 0.5}, {"gather_rows", 3, 0, 96}, {"spmm", 3, 24, 15}};
  EXPECT_EQ(sample_from_spans(spans, 0, spans.size(), 0, 6).operations, expected);
  const std::vector<OperationTotals> first{{"spmm", 1, 8, 3}};
  EXPECT_EQ(sample_from_spans(spans, 0, 1, 0, 6).operations, first) << "only the asked spans count";
  EXPECT_TRUE(sample_from_spans(spans, 5, spans.size(), 4, 6).operations.empty());
}

TEST(SampleFromSpans, OnlyWhatRunsOnTheHostBesideOthersIsAnOperation) {
  std::vector<Span> spans{span(Phase::host, 0, 2, false, Stream::host), span(Phase::host, 2, 5, true, Stream::host),
                          span(Phase::host, 5, 9, false, Stream::copy)};
  spans[0].name = "beside";
  spans[1].name = "blocks";
  spans[2].name = "not_of_the_host";
  const EpochSample sample = sample_from_spans(spans, 0, spans.size(), 0, 9);
  EXPECT_EQ(sample.operations, (std::vector<OperationTotals>{{"beside", 2}}));
  EXPECT_DOUBLE_EQ(phase(sample, Phase::host), 3) << "a span that blocks is a phase instead";
}

TEST(SampleLines, OperationsAndAllTrafficAreReadBackAndOlderLinesLackThem) {
  EpochSample sample = testing_results::make_sample(0, 1, 0, 1, 1, 1);
  sample.operations = {{"dense", 0.1, 1e300, 7}, {"spmm", 1.0 / 3.0, 0, 1.0 / 7.0}};
  sample.sent_bytes[Traffic::parameters] = 12, sample.sent_bytes[Traffic::sampling] = 5;
  Json json = Json::parse(sample_to_json("a", sample).dump());
  EXPECT_EQ(sample_from_json(json).operations, sample.operations);
  EXPECT_EQ(sample_from_json(json).sent_bytes, sample.sent_bytes);
  for (const char* key : {"operation_seconds", "operation_flops", "operation_bytes"})
    ASSERT_EQ(json.erase(key), 1u) << key;
  for (const char* kind : {"parameters", "sampling"}) ASSERT_EQ(json["sent_bytes"].erase(kind), 1u) << kind;
  const EpochSample older = sample_from_json(json);
  EXPECT_TRUE(older.operations.empty());
  sample.sent_bytes[Traffic::parameters] = sample.sent_bytes[Traffic::sampling] = 0;
  EXPECT_EQ(older.sent_bytes, sample.sent_bytes);
  json["operation_seconds"] = {{"spmm", 2.0}, {"dense", 1.0}};
  const std::vector<OperationTotals> in_order{{"dense", 1}, {"spmm", 2}};
  EXPECT_EQ(sample_from_json(json).operations, in_order);
}

TEST(SampleLines, RoundTripIsExact) {
  EpochSample sample = testing_results::make_sample(1, 2, 3, 0.1, 1.0 / 3.0, 1e-300, true);
  sample.transfer_bytes = 0xFFFFFFFFFFFFFFFFull;
  sample.hidden_communicate_seconds = 2.0 / 7.0;
  sample.peak_device_bytes = 8;
  sample.memory_limit_bytes = 9;
  sample.stage_rows.loaded_bytes = 10, sample.stage_rows.bin_rows = 11, sample.stage_rows.filled_rows = 12;
  const testing_results::TemporaryFolder folder;
  testing_results::write_text(folder.file("s.jsonl"), sample_lines("a/b#1", {sample}));
  const auto read = read_samples(folder.file("s.jsonl"));
  ASSERT_EQ(read.size(), 1u);
  ASSERT_EQ(read.at("a/b#1").size(), 1u);
  EXPECT_EQ(sample_to_json("a/b#1", read.at("a/b#1")[0]), sample_to_json("a/b#1", sample));
  EXPECT_EQ(read.at("a/b#1")[0].transfer_bytes, sample.transfer_bytes);
  EXPECT_EQ(read.at("a/b#1")[0].phase_seconds, sample.phase_seconds);
  EXPECT_EQ(read.at("a/b#1")[0].peak_device_bytes, 8u);
  EXPECT_EQ(read.at("a/b#1")[0].memory_limit_bytes, 9u);
  EXPECT_EQ(read.at("a/b#1")[0].stage_rows.loaded_bytes, 10u);
  EXPECT_EQ(read.at("a/b#1")[0].stage_rows.bin_rows, 11u);
  EXPECT_EQ(read.at("a/b#1")[0].stage_rows.filled_rows, 12u);
}

TEST(SampleLines, CutOffLastLineIsIgnoredOthersAreErrorsWithTheirLine) {
  const std::string good = sample_lines("a", {testing_results::make_sample(0, 0, 0, 1, 1, 1)});
  const testing_results::TemporaryFolder folder;
  testing_results::write_text(folder.file("cut"), good + good.substr(0, 20));
  EXPECT_EQ(read_samples(folder.file("cut")).at("a").size(), 1u);
  testing_results::write_text(folder.file("bad"), good + "{\"case_id\": 4}\n" + good);
  try {
    read_samples(folder.file("bad"));
    FAIL() << "a malformed line was accepted";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(error.line(), 2u);
  }
}

}  // namespace
}  // namespace strobe
