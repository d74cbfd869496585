// Joining and splitting exchanges on one rank of several, without values and without the other ranks. The test checks
// the order of starts and waits in both directions, and that no buffer outlives the tape.
#include "harness/full_batch/exchange/overlapped_exchange.hpp"

#include <gtest/gtest.h>

#include "tests/harness/fakes.hpp"

namespace strobe {
namespace {

constexpr int slice_ranks = 3;
constexpr std::int64_t slice_vertices = 12, slice_width = 5;

/// Step 2 i + s belongs to slice s. The part of a slice has only its steps; the other steps have no owner.
Placement part_of(const Placement& whole, std::int64_t slice) {
  Placement part = whole;
  part.maps.push_back(std::make_shared<VertexMap>());
  for (std::size_t t = 0; t < part.map_of_step.size(); ++t) {
    if (static_cast<std::int64_t>(t) % 2 != slice) part.map_of_step[t] = static_cast<std::int32_t>(whole.maps.size());
  }
  return part;
}

/// Rank 0 holds steps 0 and 1, rank 1 steps 2 and 3. Rank 2 holds no step, but a third of the timelines.
struct Slices {
  Placement steps = by_time(slice_vertices, {0, 0, 1, 1}, slice_ranks);
  Placement timelines = by_vertex(contiguous_owners(slice_vertices, slice_ranks), 4, slice_ranks);
  std::vector<ExchangePlan> joining, splitting;
  Slices() {
    for (const std::int64_t slice : {0, 1}) {
      joining.push_back(redistribute(part_of(steps, slice), timelines, {ListScope::Kind::none, 0}));
      splitting.push_back(reversed(joining.back()));
    }
  }
};

/// One rank with its slices' exchanges.
struct SlicedRank {
  SlicedRank(const std::vector<ExchangePlan>& plans, Rank rank)
      : device(rank, slice_ranks), communicator(device, slice_ranks) {
    for (const ExchangePlan& plan : plans) exchanges.emplace_back(device, plan, Traffic::redistribute);
    held = device.live_bytes();
  }
  Var leaf(std::int64_t rows) {
    return Tape::leaf(device.allocate(rows, slice_width), device.allocate(rows, slice_width));
  }

  test::AccountingDevice device;
  test::SingleRankCommunicator communicator;
  SliceExchanges exchanges;
  std::uint64_t held = 0;  // by the exchanges
};

using Calls = std::vector<std::string>;

TEST(JoiningExchange, StartsSlicesOneByOneAndTakesThemBackInReverse) {
  const Slices slices;
  // For one step, rank 0 sends two thirds of 12 rows. Rank 2, which has no steps, gets a third of every step.
  const std::vector<Calls> there = {{"start 8>4", "start 8>4", "wait 8>4", "wait 8>4"},
                                    {"start 8>4", "start 8>4", "wait 8>4", "wait 8>4"},
                                    {"start 0>8", "start 0>8", "wait 0>8", "wait 0>8"}};
  const std::vector<Calls> back = {{"start 4>8", "start 4>8", "wait 4>8", "wait 4>8"},
                                   {"start 4>8", "start 4>8", "wait 4>8", "wait 4>8"},
                                   {"start 8>0", "start 8>0", "wait 8>0", "wait 8>0"}};
  for (Rank r = 0; r < slice_ranks; ++r) {
    SlicedRank rank(slices.joining, r);
    {
      Tape tape(rank.device);
      JoiningExchange joining(rank.exchanges, tape, rank.communicator);
      std::vector<Var> parts;
      for (std::size_t c = 0; c < 2; ++c) {
        parts.push_back(rank.leaf(r < 2 ? slice_vertices : 0));
        joining.start(c, parts.back());
        EXPECT_EQ(rank.communicator.calls.size(), c + 1) << "under way, not waited for";
      }
      const Var whole = joining.finish();
      EXPECT_EQ(rank.communicator.calls, there[r]);
      EXPECT_EQ(whole->value.rows(), 16);
      EXPECT_EQ(whole->value.columns(), slice_width);
      rank.communicator.calls.clear();
      tape.add_gradient(whole, rank.device.allocate(16, slice_width));
      tape.backward();
      EXPECT_EQ(rank.communicator.calls, back[r]);
      for (const Var& part : parts) EXPECT_EQ(part->gradient.rows(), part->value.rows());
    }
    EXPECT_EQ(rank.device.live_bytes(), rank.held);
  }
}

TEST(JoiningExchange, GoesBackOnARankWhoseSlicesAreConstants) {
  const Slices slices;
  SlicedRank rank(slices.joining, 2);
  Tape tape(rank.device);
  JoiningExchange joining(rank.exchanges, tape, rank.communicator);
  for (std::size_t c = 0; c < 2; ++c) joining.start(c, Tape::constant(rank.device.allocate(0, slice_width)));
  joining.finish();  // without a gradient
  rank.communicator.calls.clear();
  tape.backward();
  EXPECT_EQ(rank.communicator.calls, (Calls{"start 8>0", "start 8>0", "wait 8>0", "wait 8>0"}));
}

TEST(JoiningExchange, RefusesASliceOfAnotherLength) {
  const Slices slices;
  SlicedRank rank(slices.joining, 0);
  Tape tape(rank.device);
  JoiningExchange joining(rank.exchanges, tape, rank.communicator);
  EXPECT_THROW(joining.start(0, rank.leaf(slice_vertices - 1)), Error);
}

TEST(SplittingExchange, StartsAllSlicesAtOnceAndTakesThemBackInReverse) {
  const Slices slices;
  for (Rank r = 0; r < slice_ranks; ++r) {
    SlicedRank rank(slices.splitting, r);
    const std::string way = r < 2 ? "4>8" : "8>0", reverse = r < 2 ? "8>4" : "0>8";
    {
      Tape tape(rank.device);
      const Var whole = rank.leaf(16);
      SplittingExchange splitting(rank.exchanges, tape, rank.communicator, whole);
      EXPECT_EQ(rank.communicator.calls, (Calls{"start " + way, "start " + way}));
      std::vector<Var> parts;
      for (std::size_t c = 0; c < 2; ++c) {
        parts.push_back(splitting.finish(c));
        EXPECT_EQ(parts.back()->value.rows(), r < 2 ? slice_vertices : 0);
        EXPECT_EQ(rank.communicator.calls.back(), "wait " + way);
        EXPECT_EQ(rank.communicator.calls.size(), 3 + c);
      }
      rank.communicator.calls.clear();
      // Slice 0 has no gradient of its own, but its exchange is entered.
      tape.add_gradient(parts[1], rank.device.allocate(parts[1]->value.rows(), slice_width));
      tape.backward();
      EXPECT_EQ(rank.communicator.calls,
                (Calls{"start " + reverse, "start " + reverse, "wait " + reverse, "wait " + reverse}));
      EXPECT_EQ(whole->gradient.rows(), 16);
    }
    EXPECT_EQ(rank.device.live_bytes(), rank.held);
  }
}

TEST(SplittingExchange, RefusesAWholeOfAnotherLength) {
  const Slices slices;
  SlicedRank rank(slices.splitting, 0);
  Tape tape(rank.device);
  EXPECT_THROW(SplittingExchange(rank.exchanges, tape, rank.communicator, rank.leaf(15)), Error);
}

}  // namespace
}  // namespace strobe
