// Shares of draws, against counting by hand, and what answers, comparisons and files make of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.hpp"
#include "results/answer/answer.hpp"
#include "results/answer/first_in_draws.hpp"
#include "results/compare/compare.hpp"
#include "results/row/sample_lines.hpp"
#include "results/run/row_against_samples.hpp"
#include "tests/results/made_run.hpp"

namespace strobe {
namespace {

using testing_results::MadeCase;
using testing_results::MadeRun;
using testing_results::TemporaryFolder;

MadeCase predicted_case(const std::string& strategy, double seconds, std::vector<double> draws) {
  return {.strategy = strategy, .rounds = {seconds}, .simulated = true, .draws = std::move(draws)};
}

Answer answer_in(const TemporaryFolder& folder) {
  return answer({load_run(folder.file("run"))}, "strategy").questions.at(0);
}

double first_of(const Answer& found, const std::string& value) {
  for (const Contender& one : found.contenders)
    if (one.value == value) return one.draws_first;
  return std::nan("");
}

std::string sentences_in(const Answer& found) {
  return std::accumulate(found.sentences.begin(), found.sentences.end(), std::string(),
                         [](const std::string& a, const std::string& b) { return a + b + "\n"; });
}

TEST(TimeDraws, SharesAddUpToTheDrawsAndTiesAreSplit) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const RandomStream random(seed, random_purpose::test, 7);
    const std::size_t contenders = 1 + random.below(0, 5), draws = 1 + random.below(1, 60);
    std::vector<std::vector<double>> seconds(contenders);
    for (std::size_t i = 0; i < contenders; ++i)
      for (std::size_t d = 0; d < draws; ++d)
        seconds[i].push_back(1 + static_cast<double>(random.below(100 + d * 10 + i, 4)));
    std::vector<const std::vector<double>*> lists;
    for (const auto& own : seconds) lists.push_back(&own);
    const std::vector<double> first = times_first(lists);
    EXPECT_NEAR(std::accumulate(first.begin(), first.end(), 0.0), static_cast<double>(draws), 1e-9);
    for (std::size_t i = 0; i < contenders; ++i) {
      double expected = 0;
      for (std::size_t d = 0; d < draws; ++d) {
        double ties = 0, faster = 0;
        for (const auto& other : seconds) ties += other[d] == seconds[i][d], faster += other[d] < seconds[i][d];
        if (faster == 0) expected += 1 / ties;
      }
      EXPECT_NEAR(first[i], expected, 1e-9);
    }
  }
  EXPECT_EQ(draws_text(87, 100), "in 87 of 100 draws");
  EXPECT_EQ(draws_text(12.5, 0), "in 12.5");
}

TEST(TimeDraws, TheAnswerSaysInHowManyDrawsEachIsFirst) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  run.add(predicted_case("vertex", 1.0, {1.0, 1.1, 0.9, 1.4}));
  run.add(predicted_case("snapshot", 1.2, {1.2, 1.0, 1.0, 1.6}));
  run.add(predicted_case("pss", 3, {3, 3, 3, 3}));
  const Answer found = answer_in(folder);
  EXPECT_EQ(found.draws, 4u);
  EXPECT_EQ(first_of(found, "vertex"), 3);
  EXPECT_EQ(first_of(found, "snapshot"), 1);
  EXPECT_EQ(first_of(found, "pss"), 0);
  const std::string text = sentences_in(found);
  EXPECT_NE(text.find("vertex is first in 3 of 4 draws of the cluster's uncertain constants, snapshot in 1."),
            std::string::npos)
      << text;
  const Answers all = answer({load_run(folder.file("run"))}, "strategy");
  EXPECT_NE(answers_text(all).find("in 3 of 4 draws"), std::string::npos) << answers_text(all);
  const Json contender = answers_to_json(all).at("questions").at(0).at("contenders").at(0);
  EXPECT_EQ(contender.at("draws_first"), 3);
}

TEST(TimeDraws, AVerdictHoldsInNineOfTenDraws) {
  const std::vector<double> base(100, 1.0);
  std::vector<double> sure(100, 1.3), unsure(100, 1.3);
  for (std::size_t d = 0; d < 20; ++d) unsure[5 * d] = 0.9;
  for (const auto& [draws, verdict] : {std::pair{sure, Verdict::slower}, {unsure, Verdict::unsure}}) {
    const TemporaryFolder folder;
    MadeRun run(folder, "run");
    run.add(predicted_case("vertex", 1.0, base));
    run.add(predicted_case("snapshot", 1.3, draws));
    const TimeRatio slower = answer_in(folder).contenders.at(1).slower;
    EXPECT_EQ(slower.verdict, verdict);
    EXPECT_EQ(slower.draws, 100u);
    EXPECT_NEAR(slower.ratio, 1.3, 1e-12);
    if (verdict == Verdict::unsure) {
      EXPECT_EQ(slower.note, "it is faster in 20 of 100 draws");
    }
  }
}

TEST(TimeDraws, ErrorsThatBothShareCancel) {
  std::vector<double> base, changed;
  for (int d = 0; d < 100; ++d) {
    base.push_back(1 + 0.05 * d);  // either alone varies by a factor of 6
    changed.push_back(1.2 * base.back());
  }
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  run.add(predicted_case("vertex", 1.0, base));
  run.add(predicted_case("snapshot", 1.2, changed));
  const Answer found = answer_in(folder);
  EXPECT_EQ(found.contenders.at(1).slower.verdict, Verdict::slower);
  EXPECT_NEAR(found.contenders.at(1).slower.band->low, 1.2, 1e-9);
  EXPECT_NEAR(found.contenders.at(1).slower.band->high, 1.2, 1e-9);
  EXPECT_EQ(found.contenders.at(0).draws_first, 100);
}

TEST(TimeDraws, DrawsOfOtherClustersAndMeasuredTimesAreNotPaired) {
  for (const bool measured : {false, true}) {
    const TemporaryFolder folder;
    MadeRun run(folder, "run");
    MadeCase other = predicted_case("snapshot", 1.2, {1.2, 1.0});
    other.draws_of = "other clusters";
    if (measured) other.draws = {};
    run.add(predicted_case("vertex", 1.0, {1.0, 1.1}));
    run.add(other);
    const Answer found = answer_in(folder);
    EXPECT_EQ(found.draws, 0u);
    EXPECT_TRUE(std::isnan(first_of(found, "vertex")));
    EXPECT_EQ(sentences_in(found).find("draws"), std::string::npos);
  }
}

TEST(TimeDraws, OfTimesToTheMetricAreOfTheWholeTraining) {
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  MadeCase quick = predicted_case("vertex", 1.0, {1.0, 3.0}), late = predicted_case("snapshot", 1.0, {2.0, 2.0});
  quick.until = 7, late.until = 14;
  run.add(quick);
  run.add(late);
  const LoadedRun loaded = load_run(folder.file("run"));
  const Row& row = loaded.summary.rows.front();
  ASSERT_TRUE(row.time_draws && row.time_draws->until_seconds);
  EXPECT_EQ(row.time_draws->epoch_seconds, (std::vector<double>{1, 3}));
  EXPECT_EQ(*row.time_draws->until_seconds, (std::vector<double>{7, 21})) << "six epochs and one of warm-up";
  const Answer found = answer_in(folder);
  EXPECT_EQ(found.until_draws, 2u);
  EXPECT_EQ(found.contenders.front().draws_until_first, 1);
  EXPECT_NE(sentences_in(found).find("is first at the metric in 1 of 2 draws"), std::string::npos)
      << sentences_in(found);
}

TEST(TimeDraws, ARowKeepsThemAndSaysWhyItHasNone) {
  const std::vector<double> draws{1.25, 0.1 + 0.2, 7};
  const TemporaryFolder folder;
  MadeRun run(folder, "run");
  run.add(predicted_case("vertex", 1.0, draws));
  run.add(predicted_case("snapshot", 1.0, {}));
  run.add({.strategy = "pss", .rounds = {1.0}});
  const Summary summary = load_run(folder.file("run")).summary;
  ASSERT_TRUE(summary.rows.at(0).time_draws);
  EXPECT_EQ(summary.rows[0].time_draws->epoch_seconds, draws);
  EXPECT_EQ(summary.rows[0].time_draws->of, "some clusters");
  EXPECT_EQ(summary.rows[0].absent.at("/time_draws/until_seconds"), "the case has no until");
  EXPECT_EQ(summary.rows[1].absent.at("/time_draws"), "the case asks for no draws");
  EXPECT_EQ(summary.rows[2].absent.at("/time_draws"), "the time is measured");
  const Row again = row_from_json(row_to_json(summary.rows[0]), "a file");
  EXPECT_EQ(row_to_json(again), row_to_json(summary.rows[0]));
  const auto samples = read_samples(folder.file("run/samples.jsonl"));
  EXPECT_EQ(difference_from_samples(again, samples.at("case0"), true).find("time_draws"), std::string::npos);
  Row forged = again;
  forged.time_draws->epoch_seconds[1] = 0.2;
  EXPECT_NE(difference_from_samples(forged, samples.at("case0"), true).find("time_draws/epoch_seconds/1"),
            std::string::npos);
}

TEST(TimeDraws, AnEpochIsTheSlowestRankByDraw) {
  CaseResult result = testing_results::make_result(3);
  result.time_source = "virtual";
  result.draws_of = "x";
  for (EpochSample& sample : result.samples) {
    const double epoch = sample.epoch;
    sample.drawn_seconds = sample.rank == 0 ? std::vector<double>{1 + epoch, 5} : std::vector<double>{2, 6 + epoch};
  }
  const Row row = summarise(testing_results::case_json(), "id", result);
  ASSERT_TRUE(row.time_draws);
  EXPECT_EQ(row.time_draws->epoch_seconds, (std::vector<double>{3, 8})) << "medians of 2, 3, 4 and of 7, 8, 9";
}

}  // namespace
}  // namespace strobe
