// Windows of steps dealt to ranks (DynaGraph): every window has one rank, one rank alone is DBoS to the bit, and where
// steps do not depend on each other all ranks together make the sequential update.
#include "harness/hybrid_batches/dealt_windows.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "core/errors.hpp"
#include "harness/hybrid_batches/batch_feed.hpp"
#include "harness/hybrid_batches/batch_maker.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

using test::hybrid_case;
using test::RandomEvents;
using test::run;

std::shared_ptr<const HybridPlan> windows_plan(const Json& request) {
  return plan_hybrid(case_from_json(request, ""), PlanUse::run);
}

TEST(DealtWindows, EveryWindowHasOneRankWithinItsSteps) {
  for (std::int64_t steps = 1; steps < 24; ++steps) {
    for (int ranks = 1; ranks <= steps; ++ranks) {
      for (std::int64_t window = 1; window <= steps; ++window) {
        if (window * ranks > steps) {
          EXPECT_THROW(dealt_windows(steps, window, 0, ranks), InvalidRequest);
          continue;
        }
        std::multiset<std::int64_t> dealt;
        for (Rank rank = 0; rank < ranks; ++rank) {
          const strobe::Run mine = dealt_windows(steps, window, rank, ranks);
          EXPECT_GE(mine.count, 1) << "a rank without work";
          for (std::int64_t i = 0; i < mine.count; ++i) dealt.insert(mine.first + i);
        }
        std::multiset<std::int64_t> all;
        for (std::int64_t first = 0; first + window <= steps; ++first) all.insert(first);
        EXPECT_EQ(dealt, all) << steps << " steps, " << window << " of them in a window, " << ranks << " ranks";
      }
    }
  }
}

TEST(DealtWindows, BatchesAreOfTheRanksWindowsAndReachAllOfThem) {
  const RandomEvents events(21, 30, 400);
  for (const int ranks : {1, 2, 3}) {
    Json request = hybrid_case(events.workload(14), "t-gcn", {{"name", "dynagraph"}, {"snapshots", "3"}}, ranks);
    request["task"] = "vertex-regression";
    const auto plan = windows_plan(request);
    BatchMaker maker(*plan, false);
    std::set<std::int64_t> seen;
    for (Rank rank = 0; rank < ranks; ++rank) {
      const strobe::Run held = held_steps(*plan, rank);
      for (std::uint64_t number = 0; number < 120; ++number) {
        const SharedBatch batch = maker.make(rank, 0, number);
        EXPECT_EQ(batch->layers.targets, plan->graph().vertices);
        EXPECT_EQ(batch->layers.window.count, 3);
        EXPECT_GE(batch->layers.window.first, held.first);
        EXPECT_LE(batch->layers.window.first + 3, held.first + held.count);
        seen.insert(batch->layers.window.first);
      }
    }
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), plan->trained_steps() - 2) << ranks << " ranks";
  }
}

TEST(DealtWindows, OneRankIsDbosToTheBit) {
  const RandomEvents events(22, 40, 500);
  for (const char* model : {"t-gcn", "dcrnn", "evolve-gcn-h"}) {
    Json request = hybrid_case(events.workload(9), model, {{"name", "dynagraph"}}, 1, 4);
    const CaseResult dealt = run(request);
    ASSERT_EQ(dealt.status, "ok") << dealt.reason;
    request["strategy"]["name"] = "dbos";
    EXPECT_EQ(run(request).loss.per_epoch, dealt.loss.per_epoch) << model;
  }
}

TEST(DealtWindows, OneRankIsDbosToTheBitAlsoWhereCellsAreMissing) {
  const test::ComingsAndGoings graph(31);
  for (const char* model : {"t-gcn", "dcrnn", "dysat"}) {
    for (const char* presence : {"seen", "lifetime", "active"}) {
      Json request = graph.request(model, presence);
      request["epochs"] = 4;
      request["strategy"] = {{"name", "dynagraph"}, {"snapshots", "3"}};
      const CaseResult dealt = run(request);
      ASSERT_EQ(dealt.status, "ok") << dealt.reason;
      request["strategy"]["name"] = "dbos";
      EXPECT_EQ(run(request).loss.per_epoch, dealt.loss.per_epoch) << model << " " << presence;
    }
  }
}

// With M-transforms of one step, TM-GCN's steps are independent. Then one step for each of T ranks is a full batch.
TEST(DealtWindows, OneStepForEachRankIsTheSequentialUpdate) {
  for (const int seed : {23, 24}) {
    const RandomEvents events(seed, 30, 400);
    Json request = hybrid_case(events.workload(6), {{"name", "tm-gcn"}, {"window", 1}}, "sequential", 1, 5);
    request["task"] = "vertex-regression";
    const CaseResult sequential = run(request);
    ASSERT_EQ(sequential.status, "ok") << sequential.reason;
    request["strategy"] = {{"name", "dynagraph"}, {"snapshots", "1"}};
    request["ranks"] = windows_plan(request)->trained_steps();
    ASSERT_GT(request["ranks"], 2);
    const CaseResult dealt = run(request);
    ASSERT_EQ(dealt.status, "ok") << dealt.reason;
    EXPECT_FALSE(dealt.exact) << "windows are drawn, even if there is one alone";
    for (std::size_t e = 0; e < 5; ++e)
      EXPECT_NEAR(dealt.loss.per_epoch[e] / sequential.loss.per_epoch[e], 1, 1e-10) << "epoch " << e;
  }
}

TEST(DealtWindows, OneStepForEachRankIsTheSequentialUpdateOfTheCellsThatExist) {
  const test::ComingsAndGoings graph(32);
  for (const char* presence : {"seen", "lifetime", "active"}) {
    Json request = graph.request({{"name", "tm-gcn"}, {"window", 1}}, presence);
    request["epochs"] = 4, request["task"] = "vertex-regression", request["strategy"] = "sequential";
    const CaseResult sequential = run(request);
    ASSERT_EQ(sequential.status, "ok") << sequential.reason;
    request["strategy"] = {{"name", "dynagraph"}, {"snapshots", "1"}};
    request["ranks"] = windows_plan(request)->trained_steps();
    ASSERT_GT(request["ranks"], 2);
    const CaseResult dealt = run(request);
    ASSERT_EQ(dealt.status, "ok") << dealt.reason;
    ASSERT_EQ(dealt.loss.per_epoch.size(), sequential.loss.per_epoch.size());
    for (std::size_t e = 0; e < sequential.loss.per_epoch.size(); ++e)
      EXPECT_NEAR(dealt.loss.per_epoch[e] / sequential.loss.per_epoch[e], 1, 1e-10) << presence << " epoch " << e;
  }
}

// Counted from the prepared graph, rank by rank and step by step.
void judge_copies(const Json& workload, const std::string& presence) {
  for (const int ranks : {1, 2, 4}) {
    Json request = hybrid_case(workload, "t-gcn", {{"name", "dynagraph"}, {"snapshots", "3"}}, ranks);
    request["presence"] = presence;
    const auto plan = windows_plan(request);
    const std::int64_t steps = plan->trained_steps(), n = plan->graph().vertices;
    const auto bytes_of = [&](std::int64_t t) {
      std::uint64_t bytes = 0;
      for (std::int64_t v = 0; v < n; ++v) {
        const Presence* const there = plan->graph().presence.get();
        const bool exists = there == nullptr || there->exists(static_cast<VertexId>(v), static_cast<Step>(t));
        bytes += exists ? static_cast<std::uint64_t>(plan->graph().cell_width()) * 8 : 0;
        const auto row = static_cast<std::size_t>(t * n + v);
        bytes += 8 + 12 * static_cast<std::uint64_t>(plan->graph().row_offsets[row + 1] -
                                                     plan->graph().row_offsets[row]);  // an index and an fp64 value
      }
      return bytes;
    };
    double copies = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      std::set<std::int64_t> reached;
      const strobe::Run mine = dealt_windows(steps, 3, rank, ranks);
      for (std::int64_t i = 0; i < mine.count; ++i)
        for (std::int64_t t = 0; t < 3; ++t) reached.insert(mine.first + i + t);
      std::uint64_t copied = 0;
      const strobe::Run own = even_share(steps, ranks, rank);
      for (const std::int64_t t : reached)
        if (t < own.first || t >= own.first + own.count) copied += bytes_of(t), ++copies;
      for (std::int64_t t = own.first; t < own.first + own.count; ++t) EXPECT_EQ(reached.count(t), 1u) << t;
      EXPECT_EQ(plan->caches->cached_bytes[static_cast<std::size_t>(rank)], copied) << ranks << ", " << rank;
    }
    EXPECT_DOUBLE_EQ(plan->caches->duplication, copies / static_cast<double>(steps));
  }
}

TEST(DealtWindows, CopiesAreTheStepsOfOtherRanks) {
  const RandomEvents events(25, 30, 400);
  for (const char* presence : {"all", "seen", "active"}) judge_copies(events.workload(13), presence);
}

// Eq. 4 counts the cells that a rank draws from.
TEST(DealtWindows, AReservoirHoldsTheCellsOfTheRanksSteps) {
  const RandomEvents events(28, 30, 400);
  for (const int ranks : {1, 2, 4}) {
    const Json strategy = {{"name", "hybrid_batch"}, {"cut", "steps"}, {"vertices", "50%"}, {"snapshots", "2"}};
    const auto plan = windows_plan(hybrid_case(events.workload(17), "t-gcn", strategy, ranks));
    for (Rank rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(most_kept(*plan, rank, 0), held_steps(*plan, rank).count * 2 / 2) << ranks << " ranks";
  }
}

TEST(DealtWindows, SamplesOfHeldStepsAreThoseOfTheirWindows) {
  const RandomEvents events(26, 30, 400);
  Json request = hybrid_case(events.workload(12), "t-gcn", {{"name", "dynagraph"}, {"snapshots", "3"}}, 3);
  const auto plan = windows_plan(request);
  for (Rank rank = 0; rank < 3; ++rank) {
    const SampleIndex own = of_steps(plan->samples, held_steps(*plan, rank));
    const std::vector<VertexId> all = BatchMaker(*plan, false).make(rank, 0, 1)->layers.layers.back().cells.vertices;
    const std::set<VertexId> targets(all.begin(), all.end());
    const strobe::Run mine = dealt_windows(plan->trained_steps(), 3, rank, 3);
    for (std::int64_t i = 0; i < mine.count; ++i)
      EXPECT_EQ(samples_of(own, {targets.begin(), targets.end()}, {mine.first + i, 3}),
                samples_of(plan->samples, {targets.begin(), targets.end()}, {mine.first + i, 3}));
  }
}

TEST(DealtWindows, LongerThanARanksStepsAreRefused) {
  const RandomEvents events(27, 30, 400);
  try {
    windows_plan(hybrid_case(events.workload(9), "t-gcn", {{"name", "dynagraph"}, {"snapshots", "50%"}}, 3));
    FAIL() << "taken";
  } catch (const InvalidRequest& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("/strategy/snapshots"), std::string::npos) << text;
    EXPECT_NE(text.find("take snapshots=2 or less, or fewer ranks"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace strobe
