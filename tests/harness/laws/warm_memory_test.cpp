// The effect of epochs on memory. The first epoch takes memory from the system, and later ones reuse it, under every
// strategy and at any number of ranks. Otherwise epochs after the warm-up would have page faults. No epoch leaks
// memory.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "backends/cpu/host_pool.hpp"
#include "core/registry.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/launch_request.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/make_plan.hpp"
#include "harness/training/training.hpp"
#include "tests/full_batch_strategies.hpp"

namespace strobe {
namespace {

std::uint64_t fresh_blocks_of(Json request, int epochs) {
  request["epochs"] = epochs;
  HostPool::trim_all();
  const std::uint64_t before = HostPool::fresh_blocks();
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << result.reason;
  return HostPool::fresh_blocks() - before;
}

TEST(WarmMemory, EpochsAfterTheFirstTakeNothingFromTheSystem) {
  for (const std::string& strategy : test::full_batch_strategies()) {
    for (const std::string model : {"tm-gcn", "cd-gcn", "evolve-gcn-o"}) {
      for (const int ranks : {1, 3}) {
        if (strategy == "sequential" && ranks > 1) continue;
        const Json request = {{"workload", {{"name", "uniform"}, {"vertices", 12000}, {"steps", 7}, {"density", 2}}},
                              {"model", model},
                              {"strategy", strategy},
                              {"ranks", ranks},
                              {"warmup", 0}};
        const std::uint64_t first = fresh_blocks_of(request, 1);
        EXPECT_GT(first, 0u);
        EXPECT_EQ(fresh_blocks_of(request, 4), first) << strategy << " " << model << " at " << ranks;
      }
    }
  }
}

std::size_t spans_after(int epochs, bool wanted) {
  const Case c = case_from_json({{"workload", {{"name", "uniform"}, {"vertices", 50}, {"steps", 7}, {"density", 2}}},
                                 {"strategy", "snapshot"},
                                 {"ranks", 2},
                                 {"epochs", epochs}},
                                "");
  const auto plan = make_plan(c);
  RankRequest requests;
  requests.spans = wanted;
  std::array<std::size_t, 2> spans{};
  CommunicatorRegistry::instance().find("local").value.launch(
      launch_request(c), [&](Device& device, Communicator& communicator) {
        RankOutcome outcome;
        train_rank(*plan, device, communicator, requests, outcome);
        spans[device.rank()] = device.spans().size();
      });
  EXPECT_GT(spans[0], 0u);
  return spans[0];
}

TEST(WarmMemory, SpansOfPastEpochsAreKeptOnlyWhereTheyAreWanted) {
  // Waits without duration have no span, so numbers differ a little.
  EXPECT_LT(spans_after(50, false), 2 * spans_after(2, false));
  EXPECT_GT(spans_after(50, true), 10 * spans_after(2, false));
}

}  // namespace
}  // namespace strobe
