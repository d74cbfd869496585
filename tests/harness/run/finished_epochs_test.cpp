// Finished epochs are reported whole, once, in order, and not more often than requested.
#include "harness/run/finished_epochs.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <stdexcept>
#include <thread>
#include <tuple>

namespace strobe {
namespace {

EpochSample sample(int repetition, int epoch, int rank) {
  EpochSample made;
  made.repetition = repetition;
  made.epoch = epoch;
  made.rank = rank;
  return made;
}

using Key = std::tuple<int, int, int>;

struct Kept {
  std::vector<std::vector<Key>> calls;

  KeepEpochs keep() {
    return [this](const std::vector<EpochSample>& samples) {
      calls.emplace_back();
      for (const EpochSample& s : samples) calls.back().push_back({s.repetition, s.epoch, s.rank});
    };
  }
};

TEST(FinishedEpochs, AnEpochIsHandedOverByItsLastRankInOrderOfRanks) {
  Kept kept;
  FinishedEpochs finished(3, kept.keep(), 0);
  for (const int rank : {2, 0}) finished.add(sample(0, 0, rank));
  finished.add(sample(0, 1, 2));  // one rank is ahead of the others
  EXPECT_TRUE(kept.calls.empty());
  finished.add(sample(0, 0, 1));
  for (const int rank : {1, 0}) finished.add(sample(0, 1, rank));
  for (const int rank : {0, 1, 2}) finished.add(sample(1, 0, rank));
  ASSERT_EQ(kept.calls.size(), 3u);
  EXPECT_EQ(kept.calls[0], (std::vector<Key>{{0, 0, 0}, {0, 0, 1}, {0, 0, 2}}));
  EXPECT_EQ(kept.calls[1], (std::vector<Key>{{0, 1, 0}, {0, 1, 1}, {0, 1, 2}}));
  EXPECT_EQ(kept.calls[2], (std::vector<Key>{{1, 0, 0}, {1, 0, 1}, {1, 0, 2}}));
}

TEST(FinishedEpochs, TheFirstEpochGoesAtOnceAndTheNextWaitForTheirTime) {
  Kept seldom;
  FinishedEpochs finished(1, seldom.keep(), 3600);
  for (int epoch = 0; epoch < 5; ++epoch) finished.add(sample(0, epoch, 0));
  EXPECT_EQ(seldom.calls, (std::vector<std::vector<Key>>{{{0, 0, 0}}}));
}

TEST(FinishedEpochs, WhatWaitedGoesWithTheEpochThatComesInTime) {
  Kept kept;
  FinishedEpochs finished(1, kept.keep(), 0.2);
  finished.add(sample(0, 0, 0));
  for (int epoch = 1; kept.calls.size() < 2; ++epoch) {
    finished.add(sample(0, epoch, 0));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  int next = 1;
  for (const Key& key : kept.calls[1]) EXPECT_EQ(key, (Key{0, next++, 0}));
  EXPECT_GT(next, 1);
}

TEST(FinishedEpochs, RanksOfManyThreadsLoseAndRepeatNothing) {
  constexpr int ranks = 4, epochs = 200;
  Kept kept;
  FinishedEpochs finished(ranks, kept.keep(), 0);
  std::barrier<> begin(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      for (int epoch = 0; epoch < epochs; ++epoch) {
        begin.arrive_and_wait();
        finished.add(sample(0, epoch, rank));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(kept.calls.size(), static_cast<std::size_t>(epochs));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(kept.calls[epoch][rank], (Key{0, epoch, rank}));
  }
}

TEST(FinishedEpochs, WhatTheTakerThrowsGoesToTheRank) {
  FinishedEpochs finished(
      1, [](const auto&) { throw std::runtime_error("no room"); }, 0);
  EXPECT_THROW(finished.add(sample(0, 0, 0)), std::runtime_error);
}

}  // namespace
}  // namespace strobe
