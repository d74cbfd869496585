// Functions that are measured in turn: their order, their rows on disk, and what a failure leaves.
#include "results/run/rounds_in_turn.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "results/answer/answer.hpp"
#include "results/run/loaded_run.hpp"
#include "tests/results/result_fixtures.hpp"

namespace strobe {
namespace {

using testing_results::TemporaryFolder;

CaseResult result_of_seconds(double seconds) {
  CaseResult result;
  result.items_per_epoch = 1;
  for (int epoch = 0; epoch < 3; ++epoch) {
    EpochSample sample;
    sample.epoch = epoch;
    sample.epoch_seconds = sample.busy_seconds = seconds;
    result.samples.push_back(sample);
  }
  return result;
}

const std::vector<MeasuredFunction> two_loops{{"short", {{"terms", 1}}}, {"long", {{"terms", 2}, {"seed", 7}}}};

TEST(RoundsInTurn, RowsHaveTheTimesOfAllRoundsAndTheOrderTurnsRound) {
  const TemporaryFolder folder;
  std::string order;
  measure_in_turn(folder.file("run"), two_loops, 5, [&](std::size_t i, int round) {
    order += std::to_string(i);
    return result_of_seconds((i == 0 ? 1.0 : 3.0) * (1 + 0.01 * round));
  });
  EXPECT_EQ(order, "0110011001");
  const LoadedRun run = load_run(folder.file("run"));
  ASSERT_EQ(run.summary.rows.size(), 2u);
  for (const Row& row : run.summary.rows) {
    EXPECT_EQ(row.status, "ok");
    const double seconds = row.strategy.at("name") == "short" ? 1 : 3;
    ASSERT_EQ(row.rounds->seconds.size(), 5u);
    for (int round = 0; round < 5; ++round)
      EXPECT_DOUBLE_EQ(row.rounds->seconds[static_cast<std::size_t>(round)], seconds * (1 + 0.01 * round));
    EXPECT_EQ(row.seed, seconds == 1 ? 1 : 7);
    EXPECT_EQ(row.strategy.at("terms"), seconds == 1 ? 1 : 2);
  }
  const std::string text = answers_text(answer({run}, "strategy"));
  EXPECT_NE(text.find("short"), std::string::npos) << text;
  EXPECT_NE(text.find("3"), std::string::npos) << text;
}

TEST(RoundsInTurn, AFunctionThatFailsLeavesTheOthersTheirRows) {
  const TemporaryFolder folder;
  int calls = 0;
  measure_in_turn(folder.file("run"), two_loops, 4, [&](std::size_t i, int round) {
    if (i == 1 && ++calls == 2) throw Error("no room");
    return result_of_seconds(1 + round);
  });
  EXPECT_EQ(calls, 2) << "it is not called again";
  const LoadedRun run = load_run(folder.file("run"));
  for (const Row& row : run.summary.rows) {
    const bool failed = row.strategy.at("name") == "long";
    EXPECT_EQ(row.status, failed ? "failed" : "ok");
    EXPECT_EQ(row.reason.find("no room") != std::string::npos, failed) << row.reason;
  }
}

TEST(RoundsInTurn, WhatCannotBeMeasuredIsRefused) {
  const TemporaryFolder folder;
  const auto measure = [](std::size_t, int) { return result_of_seconds(1); };
  EXPECT_THROW(measure_in_turn(folder.file("a"), {}, 1, measure), Error);
  EXPECT_THROW(measure_in_turn(folder.file("a"), two_loops, 0, measure), Error);
  EXPECT_THROW(measure_in_turn(folder.file("a"), {two_loops[0], two_loops[0]}, 1, measure), Error);
  measure_in_turn(folder.file("a"), two_loops, 1, measure);
  EXPECT_THROW(measure_in_turn(folder.file("a"), two_loops, 1, measure), InvalidRequest);
}

}  // namespace
}  // namespace strobe
