// The host memory of a graph, predicted from its counts and compared with the arrays that are made.
#include "harness/hybrid_batches/graph_bytes.hpp"

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "harness/hybrid_batches/hybrid_plan.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"

namespace strobe {
namespace {

constexpr double gib = 1024.0 * 1024 * 1024;

Json uniform(std::int64_t vertices, std::int64_t steps, double density) {
  return {{"name", "uniform"}, {"vertices", vertices}, {"steps", steps}, {"density", density}};
}

Case case_of(const Json& workload, const Json& model, const char* precision = "fp32") {
  Json request = test::hybrid_case(workload, model, {{"name", "dbov"}, {"vertices", "50%"}}, 2);
  request["precision"] = precision;
  request["task"] = "vertex-regression";
  return case_from_json(request, "");
}

/// The text of the refusal, or "" when there is none.
std::string refusal(const Case& c, double memory_bytes) {
  try {
    check_foreseen(c, choose_model(c), memory_bytes);
  } catch (const InvalidRequest& error) {
    return error.where() + " " + error.message();
  }
  return "";
}

TEST(GraphBytes, WhatIsForeseenIsWhatTheArraysTake) {
  for (const Json& model : {Json{{"name", "t-gcn"}}, Json{{"name", "evolve-gcn-o"}},
                            Json{{"name", "evolve-gcn-o"}, {"precompute", false}}, Json{{"name", "dcrnn"}}}) {
    for (const char* precision : {"fp32", "fp64"}) {
      for (const auto& [vertices, steps, density] :
           {std::tuple{300, 9, 2.0}, std::tuple{1000, 12, 5.0}, std::tuple{50, 30, 1.0}}) {
        const Case c = case_of(uniform(vertices, steps, density), model, precision);
        const auto plan = plan_hybrid(c, PlanUse::run);
        const GraphBytes made = graph_bytes(plan->full->data, plan->full->model);
        const auto counts = foreseen_counts(c.workload);
        ASSERT_TRUE(counts);
        const GraphBytes foreseen =
            graph_bytes(*counts, plan->full->model.equations->preparation(), c.precision == "fp64");
        EXPECT_LE(foreseen.raw, made.raw * 1.0001) << model;
        EXPECT_LE(foreseen.prepared, made.prepared * 1.0001) << model << precision;
        EXPECT_GT(foreseen.raw, 0.99 * made.raw) << model;
        // Smoothed steps also have edges of earlier steps.
        const bool smoothed = plan->full->model.equations->preparation().inputs.smooth != "none";
        EXPECT_GT(foreseen.prepared, (smoothed ? 0.2 : 0.7) * made.prepared) << model << precision;
        EXPECT_GT(made.samples, 0);
      }
    }
  }
}

TEST(GraphBytes, BitcoinsNumbersAreRefusedWithTheFigureBeforeAnythingIsMade) {
  Json events{{"name", "bursty_events"}, {"vertices", 24'575'382}, {"events", 122'948'162}};
  events["window_count"] = 100, events["lags"] = 10;
  const Json listed{{"name", "soc-bitcoin"}, {"window_count", 100}, {"lags", 10}};
  for (const Json& workload : {uniform(24'575'382, 90, 0.475), events, listed}) {
    const Case c = case_of(workload, "t-gcn");
    const std::string words = refusal(c, 24 * gib);
    EXPECT_NE(words.find("/workload 90 steps of 24,575,382 vertices take at least"), std::string::npos) << words;
    EXPECT_NE(words.find("this machine has 24.0 GiB"), std::string::npos) << words;
    // Memory of cells alone: each has an offset and two degrees of fp32.
    const double cells = 90.0 * 24'575'382, read_cells = 89.0 * 24'575'382;
    const double least = (16 * cells + (16 + 8) * read_cells) / gib;
    EXPECT_EQ(refusal(c, 4 * least * gib), "");
    EXPECT_NE(refusal(c, 0.99 * least * gib), "");
    EXPECT_EQ(c.workload.contains("density") || refusal(c, 1.01 * least * gib).empty(), true)
        << "edges that may come again are not counted";
  }
}

TEST(GraphBytes, WhatIsNotKnownBeforehandIsNotRefused) {
  const test::RandomEvents file(1);
  EXPECT_FALSE(foreseen_counts(case_of(file.workload(8), "t-gcn").workload));
  EXPECT_EQ(refusal(case_of(file.workload(8), "t-gcn"), 1), "");
  Json part{{"name", "bursty_events"}, {"vertices", 100}, {"events", 1000}, {"window_count", 10}, {"steps", "0:3"}};
  EXPECT_FALSE(foreseen_counts(case_of(part, "t-gcn").workload));
}

}  // namespace
}  // namespace strobe
