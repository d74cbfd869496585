// Options of EvolveGCN and DySAT: each gives the sequential curve under every strategy and differs from the default.
// The refusal of a wrong value names its option.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "harness/run/run_case.hpp"

namespace strobe {
namespace {

Json evolving_case(const std::string& model, const Json& options) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 40}, {"steps", 9}, {"density", 2.0}}},
                  {"model", {{"name", model}}},
                  {"epochs", 2},
                  {"warmup", 1},
                  {"optimizer", {{"name", "adam"}, {"rate", 0.01}}},
                  {"precision", "fp64"}};
  request["model"].update(options);
  return request;
}

std::vector<double> evolving_curve(Json request, const std::string& strategy, int ranks) {
  request["strategy"] = {{"name", strategy}};
  request["ranks"] = ranks;
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << strategy << " at " << ranks << " ranks: " << result.reason;
  return result.loss.per_epoch;
}

struct Options {
  const char* model;
  Json json;
};

TEST(EvolvingModels, OptionsKeepTheSequentialCurve) {
  const std::vector<Options> all{
      {"evolve-gcn-o", {{"cell", "gru"}}},
      {"evolve-gcn-o", {{"backpropagation", "detached"}, {"precompute", false}}},
      {"evolve-gcn-h", {{"cell", "lstm"}, {"gate", "none"}, {"precompute", false}}},
      {"evolve-gcn-h", {{"mask", "none"}, {"backpropagation", "detached"}, {"edge_life", 1}}},
      {"evolve-gcn-h", {{"mask", "linked"}, {"edge_life", 2}}},
      {"dysat", {{"scale", "sqrt_T"}}},
      {"dysat", {{"structural_dropout", 0.3}}},
      {"dysat", {{"temporal_dropout", 0.5}}},
      {"dysat",
       {{"structural_dropout", 0.1},
        {"temporal_dropout", 0.5},
        {"hidden", 12},
        {"structural_heads", 6},
        {"temporal_heads", 6}}},
      {"dysat", {{"logits", "weighted"}, {"hidden", 8}, {"structural_heads", 4}, {"temporal_heads", 1}}}};
  for (const Options& options : all) {
    const Json request = evolving_case(options.model, options.json);
    const std::vector<double> sequential = evolving_curve(request, "sequential", 1);
    ASSERT_EQ(sequential.size(), 3u);
    EXPECT_NE(sequential, evolving_curve(evolving_case(options.model, Json::object()), "sequential", 1))
        << options.model << options.json.dump() << " changes nothing";
    for (const std::string strategy : {"snapshot", "vertex", "pss"}) {
      const std::vector<double> parallel = evolving_curve(request, strategy, 3);
      ASSERT_EQ(parallel.size(), 3u);
      for (std::size_t e = 0; e < 3; ++e) {
        EXPECT_NEAR(parallel[e] / sequential[e], 1.0, 1e-10) << options.model << options.json.dump() << strategy;
      }
    }
  }
}

/// Some steps have fewer vertices with an edge than there are ranks, so that some ranks have no candidates.
TEST(EvolvingModels, SummaryOfFewVertices) {
  Json request = evolving_case("evolve-gcn-h", {{"hidden", 9}, {"edge_life", 1}});
  request["workload"]["density"] = 0.2;
  const std::vector<double> sequential = evolving_curve(request, "sequential", 1);
  for (const int ranks : {2, 7}) {
    const std::vector<double> parallel = evolving_curve(request, "vertex", ranks);
    ASSERT_EQ(parallel.size(), sequential.size());
    for (std::size_t e = 0; e < sequential.size(); ++e) EXPECT_NEAR(parallel[e] / sequential[e], 1.0, 1e-10) << ranks;
  }
}

/// The error of a request.
std::string refusal(const Json& request) {
  try {
    const CaseResult result = run_case(case_from_json(request, ""));
    return result.status == "ok" ? "" : result.reason;
  } catch (const InvalidRequest& error) {
    return error.what();
  }
}

TEST(EvolvingModels, RefusalsNameTheOption) {
  EXPECT_NE(refusal(evolving_case("dysat", {{"structural_heads", 4}})).find("structural_heads"), std::string::npos);
  EXPECT_NE(refusal(evolving_case("dysat", {{"temporal_heads", 5}})).find("temporal_heads"), std::string::npos);
  EXPECT_NE(refusal(evolving_case("dysat", {{"positions", 3}})).find("positions"), std::string::npos);
}

}  // namespace
}  // namespace strobe
