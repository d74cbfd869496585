// A rank that owns no cell takes part in every collective, forward and backward. For every registered model, losses
// equal the sequential run's. If such a rank skips a collective, the case ends by its timeout.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/registry_names.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/run/run_case.hpp"
#include "models/snapshots/model.hpp"
#include "tests/full_batch_strategies.hpp"
#include "tests/harness/plans.hpp"
#include "workloads/partitioners/partitioner.hpp"

namespace strobe {
namespace {

struct EmptyRankParameters {
  std::string cells = "snapshot", stages = "both";
  std::int64_t empty = 0;
};

/// Renumbers owners so that rank `empty` owns nothing.
std::vector<Rank> around(std::vector<Rank> owners, Rank empty) {
  for (Rank& rank : owners) rank += rank >= empty ? 1 : 0;
  return owners;
}

/// Even shares of steps or vertices for all ranks except one, which has none in the stages that `stages` names. A
/// single rank has everything.
StrategyPlan plan_with_empty_rank(const StrategyInput& input, const Json& json) {
  const std::string cells = json.at("cells"), stages = json.at("stages");
  const Rank empty = static_cast<Rank>(json.at("empty").get<std::int64_t>());
  const auto owners = [&](bool has_empty) { return has_empty && input.ranks > 1 ? input.ranks - 1 : input.ranks; };
  const auto place = [&](bool by_steps, bool has_empty) {
    std::vector<Rank> shares = by_steps ? step_owners(input.blocks, owners(has_empty))
                                        : contiguous_owners(input.graph.vertices, owners(has_empty));
    if (has_empty && input.ranks > 1) shares = around(std::move(shares), empty);
    return by_steps ? by_time(input.graph.vertices, shares, input.ranks)
                    : by_vertex(std::move(shares), input.graph.steps, input.ranks);
  };
  const bool spatial = stages != "temporal", temporal = stages != "spatial";
  return {place(cells != "vertex", spatial), place(cells == "pss", temporal), input.blocks, {}, {}};
}

void register_empty_rank() {
  static const bool done = [] {
    static const FieldTable fields =
        make_fields<EmptyRankParameters>()
            .choice("cells", &EmptyRankParameters::cells, {"snapshot", "pss", "vertex"}, "what is dealt to ranks")
            .choice("stages", &EmptyRankParameters::stages, {"spatial", "temporal", "both"}, "where a rank has none")
            .integer("empty", &EmptyRankParameters::empty, "", "the rank without cells", 0, 1 << 20);
    StrategyRegistry::instance().add(
        {"test-empty-rank", "leaves a rank without cells", "", fields, {plan_with_empty_rank, true}, __FILE__});
    return true;
  }();
  (void)done;
}

Json small_request(const std::string& model) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 14}, {"steps", 9}, {"density", 2}}},
          {"model", {{"name", model}}},
          {"epochs", 3},
          {"warmup", 1},
          {"optimizer", {{"name", "adam"}, {"rate", 0.02}}},
          {"precision", "fp64"},
          {"timeout", 5}};
}

CaseResult sequential_result(const Json& request) {
  Json alone = request;
  alone["strategy"] = {{"name", "sequential"}};
  return run_case(case_from_json(alone, ""));
}

void expect_losses_of(const CaseResult& sequential, Json request, const Json& strategy, int ranks) {
  request["strategy"] = strategy;
  request["ranks"] = ranks;
  const CaseResult result = run_case(case_from_json(request, ""));
  ASSERT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  ASSERT_EQ(result.loss.per_epoch.size(), sequential.loss.per_epoch.size());
  for (std::size_t e = 0; e < sequential.loss.per_epoch.size(); ++e) {
    EXPECT_NEAR(result.loss.per_epoch[e] / sequential.loss.per_epoch[e], 1.0, 1e-10) << request.dump() << e;
  }
  for (const auto& [name, series] : sequential.metrics) {
    EXPECT_NEAR(result.metrics.at(name).per_epoch.back(), series.per_epoch.back(), 1e-3) << request.dump() << name;
  }
}

/// Whether some rank owns no cell in some block, in spatial or temporal stages.
bool leaves_a_rank_empty(const FullBatchPlan& plan) {
  for (const BlockPlan& block : plan.blocks) {
    for (Rank r = 0; r < plan.ranks(); ++r) {
      if (block.spatial.rows(r) == 0 || block.temporal.rows(r) == 0) return true;
    }
  }
  return false;
}

class EmptyRank : public testing::TestWithParam<std::string> {};

TEST_P(EmptyRank, TakesPartUnderEveryPlacement) {
  register_empty_rank();
  const Json request = small_request(GetParam());
  const CaseResult sequential = sequential_result(request);
  ASSERT_EQ(sequential.status, "ok") << sequential.reason;
  EXPECT_NE(sequential.loss.per_epoch.front(), sequential.loss.per_epoch.back()) << "nothing was learnt";
  for (const auto& [cells, stages] : {std::pair{"snapshot", "both"},
                                      {"snapshot", "spatial"},
                                      {"snapshot", "temporal"},
                                      {"pss", "both"},
                                      {"vertex", "both"}}) {
    for (const int empty : {0, 1, 2}) {
      for (const char* nb : {"1", "2"}) {
        Json in_blocks = request;
        in_blocks["nb"] = nb;
        const Json strategy = {{"name", "test-empty-rank"}, {"cells", cells}, {"stages", stages}, {"empty", empty}};
        expect_losses_of(sequential, in_blocks, strategy, 3);
      }
    }
  }
}

TEST_P(EmptyRank, TakesPartInSlices) {
  register_empty_rank();
  const std::string model = GetParam();
  if (model == "captured" || model == "dcrnn" || model == "t-gcn" || model.rfind("evolve-gcn", 0) == 0) {
    GTEST_SKIP() << "its spatial stage goes from step to step, which cannot be cut";
  }
  const Json request = small_request(model);
  const CaseResult sequential = sequential_result(request);
  for (const char* stages : {"spatial", "temporal", "both"}) {
    for (const char* nb : {"1", "2"}) {
      Json overlapped = request;
      overlapped["overlap"] = 2;
      overlapped["nb"] = nb;
      const Json strategy = {{"name", "test-empty-rank"}, {"cells", "snapshot"}, {"stages", stages}, {"empty", 1}};
      expect_losses_of(sequential, overlapped, strategy, 3);
    }
  }
}

/// The registered strategies on few vertices, with every partitioner, when some rank is empty. Strategies for cells of
/// any owner may leave a rank empty, and the strategy of this file always does.
TEST_P(EmptyRank, TakesPartUnderTheRegistrysStrategies) {
  register_empty_rank();
  Json request = small_request(GetParam());
  request["workload"]["vertices"] = 7;
  request["workload"]["density"] = 3;
  const CaseResult sequential = sequential_result(request);
  ASSERT_EQ(sequential.status, "ok") << sequential.reason;
  int met = 0;
  for (const std::string& name : test::full_batch_strategies()) {
    const std::vector<std::string> options = StrategyRegistry::instance().find(name).parameters.names();
    const bool parts = std::find(options.begin(), options.end(), "partitioner") != options.end();
    for (const std::string& partitioner :
         parts ? PartitionerRegistry::instance().names() : std::vector{std::string()}) {
      Json strategy = {{"name", name}};
      if (parts) strategy["partitioner"] = partitioner;
      Json here = request;
      here["strategy"] = strategy;
      here["ranks"] = name == "test-empty-rank" ? 3 : 6;
      try {
        if (!leaves_a_rank_empty(*test::full_batch_plan(case_from_json(here, "")))) continue;
      } catch (const InvalidRequest&) {
        continue;  // a number of ranks that this strategy refuses
      } catch (const Unavailable&) {
        continue;  // a partitioner that this build lacks
      }
      ++met;
      expect_losses_of(sequential, request, strategy, here["ranks"].get<int>());
    }
  }
  EXPECT_GT(met, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, EmptyRank,
                         testing::ValuesIn(names_with<ModelTag>(&ModelTag::Value::family, "snapshots")),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace strobe
