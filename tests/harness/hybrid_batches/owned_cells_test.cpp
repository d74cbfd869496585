// The target cells that a plan says a batch has are the mean over its draws, whatever cells exist.
#include "harness/hybrid_batches/owned_cells.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/errors.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/harness/laws/comings_and_goings.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

struct OwnedSize {
  const char *cut, *vertices, *snapshots;
};

std::shared_ptr<const HybridPlan> plan_of_size(Json request, const OwnedSize& size) {
  request["strategy"] = {
      {"name", "hybrid_batch"}, {"cut", size.cut}, {"vertices", size.vertices}, {"snapshots", size.snapshots}};
  return plan_hybrid(case_from_json(request, ""), PlanUse::run);
}

/// Mean and standard error of the existing cells of 4,000 draws.
std::pair<double, double> drawn_cells(const HybridPlan& plan, Rank rank) {
  constexpr int draws = 4000;
  double sum = 0, squares = 0;
  const Presence* const presence = plan.graph().presence.get();
  for (std::uint64_t number = 0; number < draws; ++number) {
    const DrawnTargets drawn = draw_targets(plan.groups[static_cast<std::size_t>(rank)],
                                            plan.actions[0].of_rank[static_cast<std::size_t>(rank)],
                                            plan.trained_steps(), plan.seed(), rank, number, 0, presence);
    double cells = 0;
    for (const VertexId v : drawn.vertices) {
      for (std::int64_t t = drawn.window.first; t < drawn.window.first + drawn.window.count; ++t)
        cells += presence == nullptr || presence->exists(v, static_cast<Step>(t)) ? 1 : 0;
    }
    sum += cells, squares += cells * cells;
  }
  const double mean = sum / draws;
  return {mean, std::sqrt((squares / draws - mean * mean) / draws)};
}

TEST(OwnedCells, TargetsAreThoseOfDrawsOnAverage) {
  const test::ComingsAndGoings graph(41);
  for (const OwnedSize& size : {OwnedSize{"vertices", "12%", "2"}, OwnedSize{"vertices", "3", "3"},
                                OwnedSize{"steps", "100%", "2"}, OwnedSize{"steps", "17", "2"}}) {
    for (const char* presence : {"all", "seen", "lifetime", "active"}) {
      for (const int ranks : {1, 3}) {
        Json request = graph.request("t-gcn", presence);
        request["ranks"] = ranks;
        const auto plan = plan_of_size(request, size);
        for (Rank rank = 0; rank < ranks; ++rank) {
          const auto [mean, error] = drawn_cells(*plan, rank);
          EXPECT_NEAR(plan->actions[0].target_cells[static_cast<std::size_t>(rank)], mean, 5 * error + 1e-9)
              << size.cut << " " << size.vertices << " " << presence << ", rank " << rank << " of " << ranks;
        }
      }
    }
  }
}

// Steps 1 to 5 of 12 have no edge.
TEST(OwnedCells, WindowsWithoutAnyArePassedOverOrRefused) {
  const test::TemporaryFolder folder;
  std::string text = "source,target,time\n0,1,0\n";
  for (int t = 600; t < 1200; t += 50) text += fmt::format("{},{},{}\n", t % 4, (t + 1) % 4, t);
  const Json workload = {{"name", folder.write("events.csv", text)}, {"window_count", 12}};
  Json request = test::hybrid_case(workload, "t-gcn", "hybrid_batch", 1);
  request["presence"] = "active", request["task"] = {{"name", "vertex-regression"}, {"split", "80/0/20"}};
  const auto plan = plan_of_size(request, {"steps", "100%", "1"});
  const auto [mean, error] = drawn_cells(*plan, 0);
  EXPECT_NEAR(plan->actions[0].target_cells[0], mean, 5 * error + 1e-9);
  EXPECT_GT(mean, 1);
  request["ranks"] = 3;
  try {
    plan_of_size(request, {"steps", "100%", "1"});
    FAIL() << "taken";
  } catch (const InvalidRequest& refusal) {
    EXPECT_EQ(refusal.where(), "/presence") << refusal.what();
    EXPECT_NE(std::string(refusal.what()).find("no vertex exists in the windows of rank 1; take fewer ranks"),
              std::string::npos)
        << refusal.what();
  }
}

}  // namespace
}  // namespace strobe
