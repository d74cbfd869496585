// Models of events on many ranks over communicator nccl, on the emulations of CUDA and NCCL. Groups of ranks give the
// curve of the same groups on device cpu, in fp64 to 1e-10. Gradients, splits of the ranks, and memory rows of other
// nodes pass through NCCL's calls here.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/harness/event_batches/event_runs.hpp"

namespace strobe {
namespace {

TEST(NcclEventGroups, GiveTheCurveOfTheCpu) {
  const test::TemporaryFolder folder;
  const std::string visits = event_test::random_visits(folder, 6, 160);
  const Json on_nodes = {{"memory_layout", "distributed"}, {"nodes", 2}, {"k", 1}};
  for (const auto& [ranks, how] :
       {std::pair{2, Json{{"i", 2}}}, std::pair{2, Json{{"j", 2}}}, std::pair{2, Json{{"k", 2}}},
        std::pair{2, Json{{"k", 2}, {"memory_on", "device"}}}, std::pair{4, Json{{"i", 2}, {"j", 2}}}}) {
    Json strategy = {{"name", "event_batch"}, {"batch", 13}};
    strategy.update(how);
    const auto run = [&](const char* device, const char* comm, const Json& more) {
      Json plugin = strategy;
      plugin.update(more);
      const Json changes = {{"strategy", plugin}, {"device", device}, {"comm", comm}, {"ranks", ranks}, {"epochs", 2}};
      const CaseResult result = run_case(event_test::event_case(visits, changes));
      EXPECT_EQ(result.status, "ok") << plugin << result.reason;
      return result;
    };
    const CaseResult judge = run("cpu", "local", Json::object());
    const bool one_memory = how.count("k") == 0;
    for (const Json& layout :
         one_memory ? std::vector<Json>{Json::object(), on_nodes} : std::vector<Json>{Json::object()}) {
      const CaseResult result = run("cuda", "nccl", layout);
      ASSERT_EQ(result.loss.per_epoch.size(), judge.loss.per_epoch.size()) << how;
      for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
        EXPECT_NEAR(result.loss.per_epoch[e] / judge.loss.per_epoch[e], 1.0, 1e-10) << how << layout;
      EXPECT_NEAR(result.metrics.at("mrr").per_epoch.back(), judge.metrics.at("mrr").per_epoch.back(), 1e-9);
    }
  }
}

}  // namespace
}  // namespace strobe
