// Stale halos over communicator nccl, on the emulations of CUDA and NCCL: every epoch sends other numbers of counts,
// places and rows, and decides as the cpu does.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"

namespace strobe::stale_nccl_test {
namespace {

CaseResult run(const std::string& device, const std::string& comm, const Json& options, int blocks) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 26}, {"steps", 8}, {"density", 3}}},
                  {"model", {{"name", "cd-gcn"}}},
                  {"strategy", {{"name", "vertex"}}},
                  {"ranks", 3},
                  {"epochs", 5},
                  {"warmup", 0},
                  {"nb", blocks},
                  {"precision", "fp64"},
                  {"device", device},
                  {"comm", comm}};
  request["strategy"].update(options);
  CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << result.reason;
  return result;
}

TEST(NcclStale, DecidesLikeTheCpu) {
  for (const Json& options : {Json{{"stale", "adaptive"}}, Json{{"stale", "adaptive"}, {"distances", "device"}},
                              Json{{"stale", "static"}, {"stale_theta", 1}, {"stale_gradient", "always"}}}) {
    for (const int blocks : {1, 2}) {
      const CaseResult judge = run("cpu", "local", options, blocks);
      ASSERT_EQ(judge.facts.get<std::vector<double>>("sent_share").size(), 5u);
      EXPECT_LT(judge.facts.get<std::vector<double>>("sent_share").back(), 1);
      for (const std::string device : {"cuda", "cuda-graphs"}) {
        const CaseResult result = run(device, "nccl", options, blocks);
        EXPECT_EQ(result.facts.get<std::vector<std::uint64_t>>("sent_bytes_by_epoch"),
                  judge.facts.get<std::vector<std::uint64_t>>("sent_bytes_by_epoch"))
            << device << options.dump() << blocks;
        ASSERT_EQ(result.loss.per_epoch.size(), judge.loss.per_epoch.size());
        for (std::size_t e = 0; e < judge.loss.per_epoch.size(); ++e)
          EXPECT_NEAR(result.loss.per_epoch[e], judge.loss.per_epoch[e], 1e-10) << device << options.dump() << e;
      }
    }
  }
}

}  // namespace
}  // namespace strobe::stale_nccl_test
