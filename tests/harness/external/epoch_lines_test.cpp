// The protocol of other programs: lines of several ranks in any order give the epochs that all ranks have stated, and a
// wrong line is refused with the line itself and an example.
#include "harness/external/epoch_lines.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/errors.hpp"

namespace strobe {
namespace {

TEST(EpochLines, RanksInAnyOrderGiveTheEpochsThatAllHaveStated) {
  for (const unsigned seed : {1U, 2U, 3U, 4U}) {
    std::mt19937 random(seed);
    const int ranks = 1 + static_cast<int>(random() % 4);
    std::vector<std::vector<double>> times(static_cast<std::size_t>(ranks));
    StatedEpochs stated(ranks);
    for (int line = 0; line < 60; ++line) {
      const int rank = static_cast<int>(random() % static_cast<unsigned>(ranks));
      const double seconds = 1 + static_cast<double>(random() % 1000);
      times[static_cast<std::size_t>(rank)].push_back(seconds);
      stated.take_file(fmt::format(R"({{"epoch_seconds": {}, "rank": {}}})", seconds, rank));
      std::size_t finished = 60;
      for (const auto& of_rank : times) finished = std::min(finished, of_rank.size());
      ASSERT_EQ(stated.finished().size(), finished) << seed;
    }
    const std::vector<EpochSample> samples = samples_of_stated(stated.finished(), 1);
    ASSERT_EQ(samples.size(), stated.finished().size() * static_cast<std::size_t>(ranks));
    for (const EpochSample& sample : samples) {
      EXPECT_EQ(sample.epoch_seconds,
                times[static_cast<std::size_t>(sample.rank)][static_cast<std::size_t>(sample.epoch)]);
      EXPECT_EQ(sample.warmup, sample.epoch == 0);
    }
  }
}

TEST(EpochLines, ALineWithoutRankHoldsForAllRanks) {
  StatedEpochs stated(3);
  stated.take_output("loading the data");
  stated.take_output(R"({"epoch": 1})");
  stated.take_output(R"(  {"epoch_seconds": 2.5, "loss": 0.5, "metrics": {"mrr": 0.25}, "edges": 10, "updates": 2})");
  ASSERT_EQ(stated.finished().size(), 1U);
  EXPECT_EQ(stated.finished().front().seconds, (std::map<int, double>{{0, 2.5}, {1, 2.5}, {2, 2.5}}));
  CaseResult result;
  take_stated(stated.finished(), 0, result);
  EXPECT_EQ(result.loss.per_epoch, std::vector<double>{0.5});
  EXPECT_EQ(result.metrics.at("mrr").per_epoch, std::vector<double>{0.25});
  EXPECT_EQ(result.edges_per_epoch, 10);
  EXPECT_EQ(result.iterations_per_epoch, 2);
}

TEST(EpochLines, WorkCountsOnlyWhereAllMeasuredEpochsStateTheSame) {
  const auto edges_of = [](const std::vector<int>& counts) {
    StatedEpochs stated(1);
    for (const int count : counts)
      stated.take_file(count == 0 ? R"({"epoch_seconds": 1})"
                                  : fmt::format(R"({{"epoch_seconds": 1, "edges": {}}})", count));
    CaseResult result;
    take_stated(stated.finished(), 1, result);
    return result.edges_per_epoch;
  };
  EXPECT_EQ(edges_of({7, 5, 5, 5}), 5) << "warm-up may differ";
  EXPECT_EQ(edges_of({5, 5, 6}), 0);
  EXPECT_EQ(edges_of({5, 5, 0}), 0);
  EXPECT_EQ(edges_of({0, 0, 5}), 0);
}

TEST(EpochLines, NullIsALossOrMetricThatIsNoNumber) {
  StatedEpochs stated(1);
  stated.take_file(R"({"epoch_seconds": 1, "loss": 2, "metrics": {"mrr": null}})");
  stated.take_file(R"({"epoch_seconds": 1, "loss": null, "metrics": {"mrr": 0.5}})");
  CaseResult result;
  take_stated(stated.finished(), 0, result);
  ASSERT_EQ(result.loss.per_epoch.size(), 2U);
  EXPECT_EQ(result.loss.per_epoch[0], 2);
  EXPECT_TRUE(std::isnan(result.loss.per_epoch[1]));
  EXPECT_TRUE(std::isnan(result.metrics.at("mrr").per_epoch[0]));
  EXPECT_EQ(result.metrics.at("mrr").per_epoch[1], 0.5);
}

TEST(EpochLines, BytesThatAreNoTextAreShownAsNumbers) {
  EXPECT_EQ(shown_words("a\xff\x1b[1m"), "a\\xff\\x1b[1m");
  std::string umlauts = "x";  // every character begins at an odd place, so that the 200th byte is within one
  for (int i = 0; i < 150; ++i) umlauts += "\xc3\xbc";
  EXPECT_EQ(shown_words(umlauts), umlauts.substr(0, 199) + "...");
}

TEST(EpochLines, WrongLinesAreRefusedWithTheLineAndAnExample) {
  for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
           {"not json", "no JSON object"},
           {R"({"epoch_seconds": 1)", "no JSON object"},
           {R"([1])", "no JSON object"},
           {R"({"loss": 1})", "it has no epoch_seconds"},
           {R"({"epoch_seconds": "1"})", "epoch_seconds is no number"},
           {R"({"epoch_seconds": 0})", "epoch_seconds is not above 0"},
           {R"({"epoch_seconds": -1})", "epoch_seconds is not above 0"},
           {R"({"epoch_seconds": 1, "los": 1})", "did you mean 'loss'"},
           {R"({"epoch_seconds": 1, "loss": NaN})", "NaN is written as null"},
           {R"({"epoch_seconds": null})", "epoch_seconds is no number"},
           {R"({"epoch_seconds": 1, "edges": null})", "edges is no number"},
           {R"({"epoch_seconds": 1, "metrics": 3})", "metrics is no object"},
           {R"({"epoch_seconds": 1, "metrics": {"mrr": "x"}})", "mrr is no number"},
           {R"({"epoch_seconds": 1, "edges": -3})", "edges is not above 0"},
           {R"({"epoch_seconds": 1, "rank": 2})", "set --ranks"}}) {
    StatedEpochs stated(2);
    try {
      stated.take_file(line);
      ADD_FAILURE() << line << " was accepted";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(why), std::string::npos) << message;
      EXPECT_NE(message.find(line), std::string::npos) << message;
      EXPECT_NE(message.find(R"(write one line such as {"epoch_seconds")"), std::string::npos) << message;
    }
  }
  StatedEpochs stated(1);
  stated.take_file(R"({"epoch_seconds": 1, "loss": 2})");
  EXPECT_THROW(stated.take_file(R"({"epoch_seconds": 1})"), Error) << "a curve with a gap";
}

}  // namespace
}  // namespace strobe
