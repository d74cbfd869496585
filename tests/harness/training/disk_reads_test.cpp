// Blocks that a simulated node reads from its disk again, counted by hand from the arrays of the graph.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/errors.hpp"
#include "harness/advisor/evaluate.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/run/kept_plans.hpp"
#include "harness/run/run_case.hpp"
#include "harness/training/host_memory.hpp"
#include "harness/training/make_plan.hpp"

namespace strobe {
namespace {

constexpr double disk_rate = 1e7;  // bytes a second
constexpr const char* slow_disk = "azure-nd-a100:host.disk_bytes_per_second=1e7";

Json request_of(const std::string& model, const std::string& strategy, int ranks) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 900}, {"steps", 9}, {"density", 4}}},
          {"model", model},
          {"strategy", strategy},
          {"ranks", ranks},
          {"nb", "4"},
          {"device", "sim"},
          {"cluster", slow_disk},
          {"warmup", 1},
          {"epochs", 1}};
}

/// Bytes of each block's steps in the file: offsets, columns, values and features in fp32.
std::vector<double> block_bytes(const Json& request) {
  const auto plan = make_plan(case_from_json(request, ""));
  const FullBatchPlan& full = full_batch(*plan);
  std::vector<double> bytes;
  for (const BlockPlan& block : full.blocks) {
    double sum = 0;
    for (Step t = block.first_step; t < block.first_step + block.spatial.steps(); ++t) {
      const PreparedGraph& graph = *full.data.graph;
      sum += static_cast<double>(graph.vertices * (8 + 4 * graph.cell_width()));
      sum += 8.0 * static_cast<double>(graph.step_nonzeros(t));
    }
    bytes.push_back(sum);
  }
  return bytes;
}

/// Bytes that the node reads in an epoch after the first: blocks come in order and then in reverse.
double expected_reads(const std::vector<double>& bytes, double room) {
  std::vector<std::size_t> visits;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (std::size_t b = 0; b < bytes.size(); ++b) visits.push_back(b);
    for (std::size_t b = bytes.size(); b-- > 0;) visits.push_back(b);
  }
  double reads = 0;
  for (std::size_t i = visits.size() / 2; i < visits.size(); ++i) {
    std::set<std::size_t> since{visits[i]};
    for (std::size_t j = i; visits[--j] != visits[i];) since.insert(visits[j]);
    const double held =
        std::accumulate(since.begin(), since.end(), 0.0, [&](double sum, std::size_t b) { return sum + bytes[b]; });
    if (held > room) reads += bytes[visits[i]];
  }
  return reads;
}

struct Simulated {
  double epoch_seconds = 0;
  double read_seconds = 0;  // in the measured epoch, mean of ranks
};

Simulated simulate(Json request, double limit_bytes) {
  if (limit_bytes > 0) request["host_memory_limit_gib"] = limit_bytes / (1 << 30);
  std::vector<std::vector<Span>> spans;
  const CaseResult result = run_case(case_from_json(request, ""), &spans);
  EXPECT_EQ(result.status, "ok") << result.reason;
  Simulated made{result.samples.back().epoch_seconds};
  for (const EpochSample& sample : result.samples) {
    if (sample.warmup) continue;
    const double begin = sample.begin_seconds, end = begin + sample.epoch_seconds;  // an evaluation follows
    for (const Span& span : spans.at(static_cast<std::size_t>(sample.rank)))
      if (span.name == "read_pages" && !span.blocking && begin <= span.begin_seconds && span.begin_seconds < end)
        made.read_seconds += (span.end_seconds - span.begin_seconds) / static_cast<double>(spans.size());
  }
  return made;
}

TEST(DiskReads, AreThoseOfThePagesThatHaveNoRoom) {
  for (const auto& [model, strategy, ranks] : {std::tuple{"t-gcn", "sequential", 1}, {"evolve-gcn-o", "snapshot", 2}}) {
    const Json request = request_of(model, strategy, ranks);
    const std::vector<double> bytes = block_bytes(request);
    const double file = std::accumulate(bytes.begin(), bytes.end(), 0.0);
    double before = 0;
    for (const double room : {1.01 * file, 0.8 * file, 0.6 * file, 0.3 * file, 0.1 * file}) {
      const double expected = expected_reads(bytes, room);
      EXPECT_NEAR(simulate(request, room).read_seconds * disk_rate, expected, 1e-6 * expected + 1e-3)
          << strategy << " " << room / file;
      EXPECT_GE(expected, before);
      before = expected;
    }
    EXPECT_EQ(before, 2 * file) << "nothing stays at last";
  }
}

TEST(DiskReads, CostNothingWithRoomForTheFileAndMoreWithLess) {
  for (const std::string strategy : {"vertex", "snapshot", "chunk"}) {
    const Json request = request_of("t-gcn", strategy, 2);
    const std::vector<double> bytes = block_bytes(request);
    const double file = std::accumulate(bytes.begin(), bytes.end(), 0.0);
    const double free = simulate(request, 0).epoch_seconds;
    EXPECT_DOUBLE_EQ(simulate(request, 2 * file).epoch_seconds, free) << strategy;
    double before = free;
    for (const double share : {0.7, 0.4, 0.1}) {
      const double seconds = simulate(request, share * file).epoch_seconds;
      EXPECT_GE(seconds, before) << strategy << share;
      before = seconds;
    }
    EXPECT_GE(before, 1.9 * file / disk_rate) << "an epoch lasts as long as its disk";
  }
}

std::string refusal(const Json& request, const std::string& where) {
  try {
    KeptPlans().get(case_from_json(request, ""));
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), where);
    return error.message();
  }
  return "";
}

TEST(DiskReads, NeedTheRateOfTheDiskAndFullBatches) {
  Json request = request_of("t-gcn", "vertex", 2);
  const auto limit = [&](double bytes) { request["host_memory_limit_gib"] = bytes / (1 << 30); };
  limit(1 << 30);
  const double training = check_host_memory(*make_plan(case_from_json(request, "")), {}, 0).bytes;
  limit(training + 1000);
  EXPECT_EQ(refusal(request, ""), "");
  request["cluster"] = "aimos-v100";  // without a disk
  EXPECT_NE(refusal(request, "/cluster").find("disk_bytes_per_second=5e9"), std::string::npos);
  limit(1 << 30);
  EXPECT_EQ(refusal(request, ""), "") << "all pages have room";
  request["model"] = "tgn-attn", request["strategy"] = "event_batch", request.erase("nb");
  request["workload"] = {{"name", "bursty_events"}, {"vertices", 100}, {"events", 1000}};
  EXPECT_NE(refusal(request, "/host_memory_limit_gib").find("full batches"), std::string::npos);
}

TEST(DiskReads, NoNodeHasMoreMemoryThanItsCluster) {
  Json request = request_of("t-gcn", "vertex", 2);
  const std::vector<double> bytes = block_bytes(request);
  const double half = std::accumulate(bytes.begin(), bytes.end(), 0.0) / 2;
  const double limited = simulate(request, half).epoch_seconds;
  request["cluster"] = slow_disk + std::string(",host.memory_bytes=") + std::to_string(half);
  EXPECT_DOUBLE_EQ(simulate(request, 100 * half).epoch_seconds, limited);
}

TEST(DiskReads, ThePlannerCountsThem) {
  Json request = request_of("t-gcn", "vertex", 4);
  const auto planned = [&](double limit) {
    if (limit > 0) request["host_memory_limit_gib"] = limit / (1 << 30);
    PlanPoint point;
    point.request = case_from_json(request, "");
    point.cluster = slow_disk;
    return RepricedPoint(point, 1, DataCache()).on(slow_disk);
  };
  const std::vector<double> bytes = block_bytes(request);
  const double file = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  const PlanOutcome free = planned(0), roomy = planned(1 << 30);
  ASSERT_EQ(roomy.status, "ok") << roomy.reason;
  EXPECT_DOUBLE_EQ(roomy.epoch_seconds, free.epoch_seconds);
  const double training = check_host_memory(*make_plan(case_from_json(request, "")), {}, 0).bytes;
  const PlanOutcome tight = planned(training + 0.2 * file), refused = planned(training / 2);
  ASSERT_EQ(tight.status, "ok") << tight.reason;
  EXPECT_GE(tight.epoch_seconds, free.epoch_seconds + file / disk_rate);
  EXPECT_TRUE(std::any_of(tight.notes.begin(), tight.notes.end(),
                          [](const std::string& note) { return note.find("from the disk again") != note.npos; }));
  EXPECT_EQ(refused.status, "out_of_host_memory");
}

TEST(DiskReads, EachOfTwoNodesHoldsItsHalf) {
  Json request = request_of("t-gcn", "vertex", 16);
  request["host_memory_limit_gib"] = 64;
  const auto bytes_on = [&](const std::string& change) {
    request["cluster"] = slow_disk + change;
    return check_host_memory(*make_plan(case_from_json(request, "")), {}, 0).bytes;
  };
  EXPECT_NEAR(bytes_on(""), bytes_on(",gpus_per_node=16") / 2, 1);
}

}  // namespace
}  // namespace strobe
