// The rows' numbers of cells that hybrid batches keep and compute more than once, counted again over dense graphs. Also
// refusals for lack of memory, compared with the measured memory of runs.
#include "harness/hybrid_batches/batch_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/errors.hpp"
#include "harness/training/make_plan.hpp"
#include "results/row/row.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/harness/hybrid_batches/random_batches.hpp"

namespace strobe {
namespace {

using test::hybrid_case;
using test::RandomEvents;

using Matrices = std::vector<const PreparedGraph*>;

/// The matrices that the model of `plan` multiplies with.
Matrices matrices_of(const HybridPlan& plan) {
  Matrices all;
  for (const auto& support : plan.full->data.supports) all.push_back(support.get());
  if (all.empty()) all.push_back(&plan.graph());
  return all;
}

/// Distance of every vertex from those of `rank` over edges of any step and matrix, at most `hops` + 1.
std::vector<int> hop_distances(const HybridPlan& plan, Rank rank, int hops) {
  std::vector<int> distance(plan.owner.size(), hops + 1);
  for (std::size_t v = 0; v < distance.size(); ++v)
    if (plan.owner[v] == rank) distance[v] = 0;
  for (int hop = 0; hop < hops; ++hop) {
    for (const PreparedGraph* matrix : matrices_of(plan)) {
      for (std::int64_t t = 0; t < plan.trained_steps(); ++t) {
        for (std::int64_t v = 0; v < matrix->vertices; ++v) {
          if (distance[v] != hop) continue;
          for (const VertexId u : test::row_of(*matrix, v, t)) distance[u] = std::min(distance[u], hop + 1);
        }
      }
    }
  }
  return distance;
}

struct Kept {
  std::uint64_t own = 0, cached = 0;
  std::int64_t vertices = 0;
};

/// The kept bytes for a model of `hops` products in fp64: features of all vertices within `hops`, rows of all but the
/// outermost.
Kept judged(const HybridPlan& plan, Rank rank, int hops) {
  Kept kept;
  const std::vector<int> distance = hop_distances(plan, rank, hops);
  const std::int64_t steps = plan.trained_steps();
  for (std::size_t v = 0; v < distance.size(); ++v) {
    if (distance[v] > hops) continue;
    std::uint64_t bytes = static_cast<std::uint64_t>(steps * plan.graph().cell_width()) * 8;
    for (const PreparedGraph* matrix : matrices_of(plan)) {
      for (std::int64_t t = 0; t < steps && distance[v] < hops; ++t)
        bytes += 8 + 12 * test::row_of(*matrix, static_cast<std::int64_t>(v), t).size();
    }
    (distance[v] == 0 ? kept.own : kept.cached) += bytes;
    kept.vertices += distance[v] > 0 ? 1 : 0;
  }
  return kept;
}

Json regression_case(const RandomEvents& events, const Json& model, const Json& strategy, int ranks) {
  Json request = hybrid_case(events.workload(6), model, strategy, ranks, 1);
  request["task"] = "vertex-regression";
  return request;
}

const std::vector<Json>& two_hop_models() {
  static const std::vector<Json> models = {{{"name", "t-gcn"}, {"precompute", false}},
                                           {{"name", "evolve-gcn-o"}, {"precompute", false}},
                                           {{"name", "dcrnn"}, {"precompute", false}, {"state", "none"}}};
  return models;
}

TEST(BatchRedundancy, CachesAreWhatLiesWithinTheHops) {
  for (const Json& model : two_hop_models()) {
    for (const int seed : {1, 2, 3}) {
      const RandomEvents events(seed, 60, 120);
      for (const int ranks : {1, 2, 5}) {
        const Case request = case_from_json(regression_case(events, model, "dbov", ranks), "");
        const auto plan = plan_hybrid(request, PlanUse::run);
        const Row row = row_from_json(row_to_json(summarise(case_to_json(request), "c", run_case(request))), "here");
        ASSERT_EQ(row.facts.count("cached_bytes"), 1u) << row.reason;
        std::uint64_t moved = 0;
        double copies = 0;
        for (Rank rank = 0; rank < ranks; ++rank) {
          const Kept kept = judged(*plan, rank, 2);
          EXPECT_EQ(row.facts.at("cached_bytes").at(rank), kept.cached) << model;
          EXPECT_EQ(plan->caches->own_bytes[rank], kept.own) << model;
          moved += kept.cached + 4 * static_cast<std::uint64_t>(kept.vertices);
          copies += static_cast<double>(kept.vertices);
        }
        EXPECT_EQ(row.facts.at("distributed_bytes"), moved);
        EXPECT_EQ(row.facts.at("duplication"), copies / static_cast<double>(plan->graph().vertices));
        EXPECT_EQ(row.facts.at("duplication") > 0, ranks > 1);
      }
    }
  }
}

/// Cells that two layers compute for the drawn targets at every step: the targets, and all cells that they read.
std::pair<double, double> computed_and_targets(const HybridPlan& plan, Rank rank, std::uint64_t number) {
  const DrawnTargets drawn =
      draw_targets(plan.groups[rank], plan.actions[0].of_rank[rank], plan.trained_steps(), plan.seed(), rank, number);
  std::size_t cells = 0;
  for (std::int64_t t = drawn.window.first; t < drawn.window.first + drawn.window.count; ++t) {
    std::set<VertexId> read(drawn.vertices.begin(), drawn.vertices.end());
    for (const VertexId v : drawn.vertices) {
      const std::vector<VertexId> row = test::row_of(plan.graph(), v, t);
      read.insert(row.begin(), row.end());
    }
    cells += read.size() + drawn.vertices.size();
  }
  return {static_cast<double>(cells),
          static_cast<double>(drawn.vertices.size()) * static_cast<double>(drawn.window.count) * 2};
}

TEST(BatchRedundancy, ComputationIsWhatLayersComputeBeyondTargets) {
  for (const char* model : {"t-gcn", "evolve-gcn-o"}) {
    for (const int seed : {1, 2, 3}) {
      const RandomEvents events(seed, 80, 400);
      for (const int ranks : {1, 3}) {
        const Json strategy = {{"name", "hybrid_batch"}, {"vertices", "20%"}, {"snapshots", "50%"}};
        const Case request =
            case_from_json(regression_case(events, {{"name", model}, {"precompute", false}}, strategy, ranks), "");
        const auto plan = plan_hybrid(request, PlanUse::run);
        double computed = 0, targets = 0;
        for (int i = 0; i < std::clamp(ranks, 2, 4); ++i) {
          const auto [cells, wanted] =
              computed_and_targets(*plan, i % ranks, (std::uint64_t{1} << 31) + static_cast<std::uint64_t>(i));
          computed += cells, targets += wanted;
        }
        const CaseResult result = run_case(request);
        EXPECT_NEAR(result.facts.get<double>("redundant_computation"), computed / targets - 1, 1e-12) << model;
        EXPECT_GT(result.facts.get<double>("redundant_computation"), 0.1);
      }
    }
  }
}

TEST(BatchRedundancy, AWholeGraphOnOneRankHasNone) {
  const RandomEvents events(4);
  const CaseResult result = test::run(regression_case(events, {{"name", "t-gcn"}, {"precompute", false}}, "pyd", 1));
  EXPECT_EQ(result.facts.get<double>("redundant_computation"), 0);
  EXPECT_EQ(result.facts.get<double>("duplication"), 0);
  EXPECT_EQ(result.facts.get<std::uint64_t>("distributed_bytes"), 0u);
  Json full = regression_case(events, "t-gcn", "vertex", 2);
  const Json row = row_to_json(summarise(case_to_json(case_from_json(full, "")), "c", test::run(full)));
  for (const char* key : {"cached_bytes", "distributed_bytes", "duplication", "redundant_computation"})
    EXPECT_TRUE(row.at(key).is_null()) << key;
}

/// The pointer of the refusal; empty when the case is planned.
std::string memory_refusal(const Json& request, std::string* why = nullptr) {
  try {
    make_plan(case_from_json(request, ""));
  } catch (const InvalidRequest& refusal) {
    if (why != nullptr) *why = refusal.what();
    return refusal.where();
  }
  return "";
}

std::uint64_t largest_of_ranks(const std::vector<std::uint64_t>& bytes) {
  return *std::max_element(bytes.begin(), bytes.end());
}

TEST(BatchBytes, WhatRanksKeepAndAnUpdateMustFitOneMemory) {
  for (const int seed : {1, 2}) {
    const RandomEvents events(seed, 200, 3000);
    Json request = regression_case(events, {{"name", "t-gcn"}, {"precompute", false}}, "dbov", 2);
    const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
    std::uint64_t kept = 0;
    for (std::size_t r = 0; r < 2; ++r)
      kept = std::max(kept, plan->caches->own_bytes[r] + plan->caches->cached_bytes[r]);
    const std::uint64_t update = update_bytes(*plan, 0);
    ASSERT_GT(kept, update / 8);
    const auto limit = [&](double bytes) { request["memory_limit_gib"] = bytes / (1 << 30); };
    limit(1.001 * static_cast<double>(kept + update));
    EXPECT_EQ(memory_refusal(request), "");
    std::string why;
    limit(0.999 * static_cast<double>(kept + update));
    EXPECT_EQ(memory_refusal(request, &why), "/memory_limit_gib");
    EXPECT_NE(why.find("more ranks"), std::string::npos) << why;
    limit(0.5 * static_cast<double>(update));
    EXPECT_EQ(memory_refusal(request, &why), "/strategy/vertices");
    EXPECT_NE(why.find("smaller vertices or snapshots"), std::string::npos) << why;
  }
}

TEST(BatchBytes, AnUpdateIsForeseenAsItIsMeasured) {
  for (const char* model : {"t-gcn", "dcrnn", "evolve-gcn-o"}) {
    const RandomEvents events(3, 200, 3000);
    Json request = regression_case(events, model, {{"name", "dbos"}, {"snapshots", "50%"}}, 2);
    request["device"] = "sim";
    request["cluster"] = "dynahb-2080ti";
    request["epochs"] = 4;
    request["strategy"]["evaluate_every"] = 1000;
    const Row row = summarise(case_to_json(case_from_json(request, "")), "c", test::run(request));
    ASSERT_EQ(row.status, "ok") << row.reason;
    const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
    const double measured = largest_of_ranks(row.peak_bytes->device);
    const double planned = update_bytes(*plan, 0);
    EXPECT_LT(std::abs(planned / measured - 1), 0.25) << model << ": " << planned << " and " << measured;
  }
}

TEST(BatchBytes, TheLargestSizeToChooseFromMustFit) {
  const RandomEvents events(5, 200, 3000);
  Json request = regression_case(events, "t-gcn", {{"name", "hybrid_batch"}, {"adjuster", "bandit"}}, 2);
  request["strategy"].update({{"vertices", "5%"}, {"snapshots", "50%"}});
  request["strategy"].update({{"vertex_sizes", "5%/50%"}, {"snapshot_sizes", "50%"}});
  request.update({{"device", "sim"}, {"cluster", "dynahb-2080ti"}, {"numerics", "cpu"}});
  const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
  const double small = static_cast<double>(update_bytes(*plan, 0)), large = static_cast<double>(update_bytes(*plan, 1));
  ASSERT_GT(large, 2 * small);
  request["memory_limit_gib"] = (small + large) / 2 / (1 << 30);
  std::string why;
  EXPECT_EQ(memory_refusal(request, &why), "/strategy/vertex_sizes");
  EXPECT_NE(why.find("50% x 50%"), std::string::npos) << why;
  request["strategy"]["vertex_sizes"] = "5%";
  EXPECT_EQ(memory_refusal(request), "");
}

TEST(BatchBytes, NodesOfAClusterMustHoldWhatTheirRanksKeep) {
  const RandomEvents events(6, 200, 3000);
  Json request = regression_case(events, "t-gcn", "dbov", 2);
  request["device"] = "sim";
  request["cluster"] = "dynahb-2080ti:host.memory_bytes=1000000";
  std::string why;
  EXPECT_EQ(memory_refusal(request, &why), "") << why;
  request["cluster"] = "dynahb-2080ti:host.memory_bytes=10000";
  EXPECT_EQ(memory_refusal(request, &why), "/cluster");
  EXPECT_NE(why.find("nodes with more memory"), std::string::npos) << why;
}

}  // namespace
}  // namespace strobe
