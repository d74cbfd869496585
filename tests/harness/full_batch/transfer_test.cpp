// Snapshots moved one by one: with every method, training gives the same results as without. The bytes of transfer
// spans equal the planned ones and twice those of the definition, real and simulated. Contradictory requests are
// refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "harness/full_batch/block_store.hpp"
#include "harness/run/run_case.hpp"
#include "tests/harness/plans.hpp"
#include "tests/workloads/formats/snapshot_support.hpp"

namespace strobe {
namespace {

Json base_case(const std::string& model, const std::string& strategy, int ranks, const std::string& nb) {
  Json request = {{"workload", {{"name", "uniform"}, {"vertices", 24}, {"steps", 9}, {"density", 3}}},
                  {"model", {{"name", model}}},
                  {"strategy", {{"name", strategy}}},
                  {"ranks", ranks},
                  {"nb", nb},
                  {"epochs", 2},
                  {"warmup", 1},
                  {"optimizer", {{"name", "adam"}, {"rate", 0.02}}},
                  {"precision", "fp64"}};
  return request;
}

CaseResult run(Json request, const std::string& transfer, const std::string& format = "csr32") {
  request["transfer"] = transfer;
  request["transfer_format"] = format;
  const CaseResult result = run_case(case_from_json(request, ""));
  EXPECT_EQ(result.status, "ok") << request.dump() << ": " << result.reason;
  return result;
}

/// Bytes moved in one measured epoch, all ranks together.
std::uint64_t moved(const CaseResult& result) {
  std::uint64_t bytes = 0;
  for (const EpochSample& sample : result.samples) {
    if (sample.repetition == 0 && sample.epoch == 1) bytes += sample.transfer_bytes;
  }
  return bytes;
}

TEST(Transfer, ChangesNothing) {
  for (const std::string model : {"tm-gcn", "cd-gcn", "evolve-gcn-o"}) {
    for (const auto& [strategy, ranks] : {std::pair{"sequential", 1}, {"snapshot", 2}, {"pss", 2}}) {
      for (const std::string nb : {"1", "3"}) {
        const Json request = base_case(model, strategy, ranks, nb);
        const CaseResult direct = run(request, "direct");
        ASSERT_EQ(direct.loss.per_epoch.size(), 3u);
        EXPECT_NE(direct.loss.per_epoch.front(), direct.loss.per_epoch.back());
        for (const std::string method : {"full", "difference", "changed", "least"}) {
          for (const std::string format : {"coo64", "csr32"}) {
            const CaseResult result = run(request, method, format);
            for (std::size_t e = 0; e < 3; ++e) {
              EXPECT_NEAR(result.loss.per_epoch.at(e) / direct.loss.per_epoch[e], 1.0, 1e-10)
                  << model << "/" << strategy << "/nb" << nb << "/" << method << "/" << format;
            }
          }
        }
      }
    }
  }
}

/// One epoch's bytes by the definition, from sets of entries: each rank's part of every block, forward and re-run.
std::uint64_t defined_bytes(const FullBatchPlan& plan, bool coo, bool difference) {
  const PreparedGraph& graph = *plan.data.graph;
  const std::uint64_t w = plan.model.fp64 ? 8 : 4, n = static_cast<std::uint64_t>(graph.vertices);
  std::uint64_t sum = 0;
  for (const BlockPlan& block : plan.blocks) {
    Rank before = -1;
    for (Step t = 0; t < block.steps(); ++t) {
      const Rank owner = block.spatial.owner(0, t);
      const Step step = static_cast<Step>(block.first_step + t);
      const std::uint64_t z = test::entries_of(graph, step).size();
      sum += w * n * static_cast<std::uint64_t>(graph.feature_width);
      if (owner != before || !difference) {
        sum += coo ? (16 + w) * z : 4 * (n + 1) + (4 + w) * z;
      } else {
        const DifferenceSizes d = test::naive_difference(graph, step - 1, step).sizes;
        const auto r = static_cast<std::uint64_t>(d.removed), a = static_cast<std::uint64_t>(d.added);
        sum += (coo ? 16 * (r + a) : 4 * (r + a + std::min(a, n + 1))) + w * z;
      }
      before = owner;
    }
  }
  return 2 * sum;
}

TEST(Transfer, BytesAreThoseOfTheDefinitionRealAndSimulated) {
  for (const auto& [strategy, ranks] : {std::pair{"sequential", 1}, {"snapshot", 2}, {"snapshot", 3}}) {
    for (const std::string method : {"full", "difference", "least"}) {
      for (const std::string format : {"coo64", "csr32"}) {
        Json request = base_case("tm-gcn", strategy, ranks, "2");
        request["transfer"] = method;
        request["transfer_format"] = format;
        const std::string what = std::string(strategy) + std::to_string(ranks) + "/" + method + "/" + format;
        const auto plan = test::full_batch_plan(case_from_json(request, ""));
        const auto planned = plan_case(case_from_json(request, ""))["planned_transfer_bytes_per_epoch"];
        EXPECT_EQ(planned["total"],
                  planned["snapshots"].get<std::uint64_t>() + planned["features"].get<std::uint64_t>());
        const CaseResult real = run(request, method, format);
        EXPECT_EQ(moved(real), planned["total"].get<std::uint64_t>()) << what;
        if (method != "least") {
          EXPECT_EQ(moved(real), defined_bytes(*plan, format == "coo64", method != "full")) << what;
        }
        for (const EpochSample& sample : real.samples) EXPECT_GT(sample.phase_seconds[Phase::transfer], 0.0) << what;
        for (const std::string numerics : {"none", "cpu"}) {
          Json simulated = request;
          simulated["device"] = "sim";
          simulated["comm"] = "sim";
          simulated["cluster"] = "aimos-v100";
          simulated["numerics"] = numerics;
          EXPECT_EQ(moved(run(simulated, method, format)), moved(real)) << what << " numerics " << numerics;
        }
      }
    }
  }
}

TEST(Transfer, LastBlockMovesOnceWhenItIsNotRunAgain) {
  Json request = base_case("tm-gcn", "sequential", 1, "1");
  const std::uint64_t whole = moved(run(request, "full"));
  request["nb"] = "4";
  EXPECT_EQ(moved(run(request, "full")), 2 * whole);
  request["rerun_last"] = false;
  const std::uint64_t kept = moved(run(request, "full"));
  EXPECT_GT(kept, whole + whole / 2);
  EXPECT_LT(kept, 2 * whole);
}

TEST(Transfer, DirectStaysAsItWas) {
  const Json request = base_case("tm-gcn", "sequential", 1, "2");
  EXPECT_EQ(moved(run(request, "direct")), 0u);
  EXPECT_TRUE(plan_case(case_from_json(request, ""))["planned_transfer_bytes_per_epoch"].is_null());
}

void expect_refused(Json request, const std::string& where) {
  request["transfer"] = "difference";
  try {
    test::full_batch_plan(case_from_json(request, ""));
    ADD_FAILURE() << "not refused: " << request.dump();
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), where);
  }
}

TEST(Transfer, RefusesWhatItCannotMove) {
  expect_refused(base_case("tm-gcn", "vertex", 2, "1"), "/transfer");
  expect_refused(base_case("dcrnn", "sequential", 1, "1"), "/transfer");
  Json resident = base_case("tm-gcn", "sequential", 1, "2");
  resident["inputs"] = "resident";
  expect_refused(resident, "/inputs");
  Json unknown = base_case("tm-gcn", "sequential", 1, "2");
  unknown["transfer"] = "diff";
  EXPECT_THROW(case_from_json(unknown, ""), InvalidRequest);
}

}  // namespace
}  // namespace strobe
