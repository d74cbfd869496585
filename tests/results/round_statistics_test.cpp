// The intervals of rounds, judged by laws: processes with a planted speed, whose true ratio is known.
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "results/row/statistics.hpp"

namespace strobe {
namespace {

/// A machine that gives each process a speed and each epoch some noise.
struct NoisyMachine {
  double slow_share = 0.0;    // of processes that are slow
  double slow_factor = 1.0;   // by which they are
  double process_spread = 0;  // of the logarithm, in addition to that
  double drift_spread = 0;    // of the logarithm, common to both sides of a round
  double epoch_spread = 0.02;
};

struct Measured {
  Rounds base, changed;
};

std::vector<double> process(const NoisyMachine& machine, const RandomStream& noise, std::uint64_t first, double level,
                            int epochs) {
  const bool slow = noise.uniform(first) < machine.slow_share;
  const double speed = std::exp(machine.process_spread * noise.normal(first + 100)) * (slow ? machine.slow_factor : 1);
  std::vector<double> seconds;
  for (int epoch = 0; epoch < epochs; ++epoch)
    seconds.push_back(level * speed *
                      std::exp(machine.epoch_spread * noise.normal(first + 200 + static_cast<std::uint64_t>(epoch))));
  return seconds;
}

Measured measure(const NoisyMachine& machine, std::uint64_t seed, double ratio, int rounds, int epochs = 12) {
  const RandomStream noise(seed, random_purpose::test);
  Measured result;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t first = static_cast<std::uint64_t>(round) * 2000;
    const double level = std::exp(machine.drift_spread * noise.normal(first + 999));
    result.base.push_back(process(machine, noise, first, level, epochs));
    result.changed.push_back(process(machine, noise, first + 1000, level * ratio, epochs));
  }
  return result;
}

double share_that_holds(const NoisyMachine& machine, double ratio, Pairing pairing, double confidence, int rounds) {
  constexpr int trials = 400;
  int holding = 0;
  for (std::uint64_t trial = 0; trial < trials; ++trial) {
    const Measured sides = measure(machine, trial + 1, ratio, rounds);
    const ConfidenceInterval interval =
        ratio_of_rounds(sides.base, sides.changed, pairing, 1, 200)->interval(confidence);
    if (interval.low <= ratio && ratio <= interval.high) ++holding;
  }
  return static_cast<double>(holding) / trials;
}

TEST(RoundStatistics, StudentsQuantilesAreThoseOfTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.7062047, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.7764451, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.995, 4), 4.6040949, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.995, 9), 3.2498355, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 30), 2.0422725, 1e-6);
  EXPECT_NEAR(student_t_quantile(0.975, 1000), 1.9623391, 1e-6);
  for (const double p : {0.6, 0.9, 0.975, 0.999})  // with two degrees of freedom there is a closed form
    EXPECT_NEAR(student_t_quantile(p, 2), (2 * p - 1) / std::sqrt(2 * p * (1 - p)), 1e-6) << p;
}

TEST(RoundStatistics, TheLevelIsTheGeometricMeanOfMedians) {
  const auto level = level_of_rounds({{1, 2, 9}, {8, 8, 8}}, 1);
  ASSERT_TRUE(level);
  EXPECT_NEAR(level->value(), 4, 1e-12);
  const auto ratio = ratio_of_rounds({{1}, {4}}, {{3}, {12}}, Pairing::by_round, 1);
  EXPECT_NEAR(ratio->value(), 3, 1e-12);
  EXPECT_NEAR(ratio->standard_error, 0, 1e-12) << "every pair has the same ratio, whatever the drift";
  EXPECT_GT(ratio_of_rounds({{1}, {4}}, {{3}, {12}}, Pairing::none, 1)->standard_error, 0.5);
}

TEST(RoundStatistics, TheErrorIsThatOfMeansWhenEpochsAgree) {
  const Rounds rounds{{1, 1}, {1.5, 1.5}, {2, 2}, {4, 4}, {3, 3}};
  std::vector<double> logs;
  for (const auto& round : rounds) logs.push_back(std::log(round[0]));
  double squares = 0;
  for (const double value : logs) squares += (value - mean(logs)) * (value - mean(logs));
  const double expected = std::sqrt(squares / 4 / 5);
  EXPECT_NEAR(level_of_rounds(rounds, 1, 20000)->standard_error, expected, 0.03 * expected);
}

TEST(RoundStatistics, FewerThanTwoRoundsOrNoTimeHasNoInterval) {
  const Rounds one{{1, 2, 3}}, two{{1, 2}, {3, 4}};
  EXPECT_FALSE(level_of_rounds(one, 1));
  EXPECT_FALSE(ratio_of_rounds(one, two, Pairing::none, 1));
  EXPECT_FALSE(ratio_of_rounds(two, one, Pairing::none, 1));
  EXPECT_FALSE(ratio_of_rounds(two, {{1, 0}, {1, 1}}, Pairing::none, 1));
  EXPECT_FALSE(ratio_of_rounds(two, {{1}, {}}, Pairing::none, 1));
}

TEST(RoundStatistics, TheSameSeedGivesTheSameInterval) {
  const Measured sides = measure({.process_spread = 0.1}, 7, 1.1, 5);
  const auto interval = [&](std::uint64_t seed) {
    return ratio_of_rounds(sides.base, sides.changed, Pairing::by_round, seed)->interval(0.99);
  };
  EXPECT_EQ(interval(1).low, interval(1).low);
  EXPECT_EQ(interval(1).high, interval(1).high);
  EXPECT_NE(interval(1).low, interval(2).low);
}

TEST(RoundStatistics, IntervalsHoldTheTrueRatioAsOftenAsTheySay) {
  const NoisyMachine gaussian{.process_spread = 0.1}, two_speeds{.slow_share = 0.5, .slow_factor = 1.55};
  for (const int rounds : {5, 10}) {
    for (const Pairing pairing : {Pairing::none, Pairing::by_round}) {
      const double share = share_that_holds(gaussian, 1.1, pairing, 0.95, rounds);
      EXPECT_GE(share, 0.92) << rounds;
      EXPECT_LE(share, 0.99) << rounds;
      EXPECT_GE(share_that_holds(two_speeds, 1.1, pairing, 0.95, rounds), 0.92) << rounds;
      EXPECT_GE(share_that_holds(two_speeds, 1.0, pairing, 0.99, rounds), 0.98) << rounds;
    }
  }
}

/// The rule of `strobe compare`.
bool is_verdict(const LogEstimate& ratio) {
  const ConfidenceInterval interval = ratio.interval(0.99);
  return (interval.high < 1 || interval.low > 1) && std::abs(ratio.value() - 1) > 0.05;
}

TEST(RoundStatistics, TwoHundredComparisonsOfEqualRunsFindNothingAndTenPercentIsFound) {
  const NoisyMachine two_speeds{.slow_share = 0.5, .slow_factor = 1.55},
      drifting{.process_spread = 0.015, .drift_spread = 0.3};
  int of_nothing = 0, drifted = 0, found = 0, epochs_as_units = 0;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const Measured same = measure(two_speeds, 5000 + trial, 1, 5), calm = measure(drifting, 9000 + trial, 1, 5),
                   slower = measure(drifting, 13000 + trial, 1.1, 5);
    of_nothing += is_verdict(*ratio_of_rounds(same.base, same.changed, Pairing::by_round, 1, 300)) ? 1 : 0;
    drifted += is_verdict(*ratio_of_rounds(calm.base, calm.changed, Pairing::by_round, 1, 300)) ? 1 : 0;
    found += is_verdict(*ratio_of_rounds(slower.base, slower.changed, Pairing::by_round, 1, 300)) ? 1 : 0;
    // The result of one process a side if its epochs were the units.
    Rounds a, b;
    for (const double seconds : same.base[0]) a.push_back({seconds});
    for (const double seconds : same.changed[0]) b.push_back({seconds});
    epochs_as_units += is_verdict(*ratio_of_rounds(a, b, Pairing::none, 1, 300)) ? 1 : 0;
  }
  EXPECT_LE(of_nothing, 4);
  EXPECT_LE(drifted, 4);
  EXPECT_GE(found, 180) << "of 200, although the machine drifts by 30 %";
  EXPECT_GE(epochs_as_units, 80) << "which is why they are not";
  RecordProperty("false_of_200", of_nothing);
}

TEST(RoundStatistics, RoundsThatAreAskedForMakeTheIntervalNarrow) {
  const NoisyMachine machine{.process_spread = 0.05};
  const Measured few = measure(machine, 3, 1, 5);
  const auto first = ratio_of_rounds(few.base, few.changed, Pairing::by_round, 1);
  const int needed = rounds_for_width(*first, 0.99, std::log(1.05));
  EXPECT_GT(needed, 5);
  LogEstimate later = *first;
  later.standard_error *= std::sqrt(5.0 / needed);
  later.degrees = needed - 1;
  EXPECT_LE(later.interval(0.99).high / later.value(), 1.05 + 1e-9);
  EXPECT_EQ(rounds_for_width(*first, 0.99, 1e-9, 50), 50);
}

}  // namespace
}  // namespace strobe
