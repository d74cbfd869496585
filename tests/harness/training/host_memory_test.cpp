// The limit of host memory, against what is counted rank by rank.
#include "harness/training/host_memory.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>

#include "core/errors.hpp"
#include "core/system/process_memory.hpp"
#include "harness/event_batches/event_memory.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/request/schedule_tag.hpp"
#include "harness/run/kept_plans.hpp"
#include "harness/training/host_room.hpp"
#include "harness/training/planned_peak.hpp"

namespace strobe {
namespace {

Json request_of(int ranks, const std::string& nb) {
  return {{"workload", {{"name", "uniform"}, {"vertices", 2000}, {"steps", 8}, {"density", 4}}},
          {"model", "t-gcn"},
          {"strategy", "vertex"},
          {"ranks", ranks},
          {"nb", nb}};
}

/// The bytes that the node takes: every rank's planned peak with what it judges with, and once the data that the plan
/// holds.
double counted_need(const Json& request) {
  KeptPlans plans;
  const std::shared_ptr<const PlannedCase> plan = plans.get(case_from_json(request, ""));
  double sum = 0;
  for (const std::uint64_t part : plan->schedule->host_parts()) sum += static_cast<double>(part);
  const PlannedPeak peak = planned_peak(*plan);
  for (const auto& rank : peak.parts)
    for (const std::uint64_t part : rank) sum += static_cast<double>(part);
  if (const std::optional<EventMemory> events = event_memory(*plan->schedule, {}))
    return std::accumulate(peak.span_bytes.begin(), peak.span_bytes.end(), sum) +
           std::accumulate(events->bytes.begin(), events->bytes.end(), 0.0);
  std::int64_t samples = 0;
  for (const auto& [name, count] : plan->schedule->summary().metrics.samples) samples = std::max(samples, count);
  return sum + 64.0 * static_cast<double>(plan->ranks() * samples);
}

/// The refusal under a limit; "" without one.
std::string refusal(Json request, double bytes) {
  request["host_memory_limit_gib"] = bytes / (1 << 30);
  KeptPlans plans;
  try {
    plans.get(case_from_json(request, ""));
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.where(), "/host_memory_limit_gib");
    return error.message();
  }
  return "";
}

TEST(HostMemory, LimitIsThatOfAllRanksOfTheNode) {
  for (const int ranks : {1, 2, 4}) {
    for (const char* nb : {"1", "3"}) {
      const Json request = request_of(ranks, nb);
      const double need = counted_need(request);
      EXPECT_EQ(refusal(request, 1.001 * need), "") << ranks;
      EXPECT_NE(refusal(request, 0.999 * need), "") << ranks;
    }
  }
}

TEST(HostMemory, AutoTakesTheFewestBlocksThatFit) {
  for (const int ranks : {1, 2, 4}) {
    for (const char* nb : {"1", "2", "4", "7"}) {
      Json request = request_of(ranks, nb);
      const double need = counted_need(request);
      request["nb"] = "auto";
      request["host_memory_limit_gib"] = 1.001 * need / (1 << 30);
      const auto plan = KeptPlans().get(case_from_json(request, ""));
      EXPECT_EQ(full_batch(*plan).blocks.size(), std::stoul(nb)) << ranks;
    }
    EXPECT_NE(refusal(request_of(ranks, "auto"), 2e6).find("no number of blocks fits; the least is nb="),
              std::string::npos);
  }
}

TEST(HostMemory, AutoKeepsBothLimits) {
  Json request = request_of(2, "4");
  const PlannedPeak peak = planned_peak(*KeptPlans().get(case_from_json(request, "")));
  request["nb"] = "auto";
  request["host_memory_limit_gib"] = 1;
  request["memory_limit_gib"] = static_cast<double>(peak.bytes) / (1 << 30);
  EXPECT_EQ(full_batch(*KeptPlans().get(case_from_json(request, ""))).blocks.size(), 4u);
}

TEST(HostMemory, RefusalSaysHowManyNodesWouldDo) {
  const Json request = request_of(4, "1");
  const std::string reason = refusal(request, 0.75 * counted_need(request));
  EXPECT_NE(reason.find("nodes with at most"), std::string::npos) << reason;
  EXPECT_NE(refusal(request, 2e6).find("more nodes do not help"), std::string::npos) << refusal(request, 2e6);
}

TEST(HostMemory, GraphThatCannotBeMadeIsRefusedBeforeItIsMade) {
  Json request = request_of(1, "1");
  request["workload"]["vertices"] = 100'000'000;  // a machine of a test would take minutes, or die
  EXPECT_NE(refusal(request, 1e9).find("while it is made or read"), std::string::npos);
}

/// The refusal of a case whose planning took `planning_bytes`, under a limit of `limit` bytes.
std::string refusal_after_planning(const Json& request, double planning_bytes, double limit) {
  const auto plan = KeptPlans().get(case_from_json(request, ""));
  PlannedCase limited = *plan;
  limited.request.host_memory_limit_gib = limit / (1 << 30);
  NodeRanks here;
  here.program_bytes = 1000;
  try {
    check_host_memory(limited, here, planning_bytes);
  } catch (const InvalidRequest& error) {
    return error.message();
  }
  return "";
}

Json request_of_events(int events, int batch) {
  return {{"workload", {{"name", "bursty_events"}, {"vertices", 2000}, {"events", events}}},
          {"model", "tgn-attn"},
          {"strategy", {{"name", "sequential"}, {"batch", batch}}}};
}

TEST(HostMemory, MorePlanningThanTrainingIsRefusedForEveryKindOfTraining) {
  for (const Json& request : {request_of(1, "1"), request_of(2, "3"), request_of_events(3000, 32)}) {
    const double training = counted_need(request) + 1000, planning = 2 * training, limit = planning + 1000;
    EXPECT_EQ(refusal_after_planning(request, planning, 1.001 * limit), "") << request;
    const std::string reason = refusal_after_planning(request, planning, 0.999 * limit);
    EXPECT_NE(reason.find("planning took"), std::string::npos) << request << reason;
    EXPECT_EQ(refusal_after_planning(request, 0, 1.001 * training), "") << request;
    EXPECT_EQ(refusal_after_planning(request, 0, 0.999 * training).find("planning took"), std::string::npos);
  }
}

TEST(HostMemory, NodesThatWouldDoHaveRoomToPlanAndToTrain) {
  const Json request = request_of(4, "1");
  const double limit = 0.75 * counted_need(request);
  EXPECT_NE(refusal_after_planning(request, 0, limit).find("nodes with at most"), std::string::npos);
  EXPECT_NE(refusal_after_planning(request, 1.1 * limit, limit).find("more nodes do not help"), std::string::npos);
}

TEST(HostMemory, PlanningOfEventsIsMeasured) {
  Json request = request_of_events(500'000, 50'000);
  request["host_memory_limit_gib"] = 0.03;  // source, target and time alone take 16 bytes an event, twice in adjacency
  NodeRanks here;
  here.program_bytes = 1000;
  KeptPlans plans(std::uint64_t{1} << 30, nullptr, here);
  std::string reason;
  try {
    plans.get(case_from_json(request, ""));
  } catch (const InvalidRequest& error) {
    reason = error.message();
  }
  EXPECT_NE(reason.find("memory"), std::string::npos);
  EXPECT_EQ(reason.find("(nb)"), std::string::npos) << "events have no blocks: " << reason;
  EXPECT_GE(most_process_memory(), 16'000'000u);
}

TEST(HostMemory, RoomIsWhatCountingProcessByProcessGives) {
  for (int seed = 1; seed <= 1000; ++seed) {
    std::mt19937 draw(seed);
    const std::int64_t ranks = 1 + draw() % 16;
    const HostNeed need{double(draw() % 100), double(draw() % 50), double(draw() % 50), double(draw() % 200)};
    const double memory = draw() % 600;
    const auto counted_on = [&](std::int64_t nodes) {
      double sum = need.node;
      std::int64_t together = 0, processes = 0;
      for (std::int64_t rank = 0; rank < ranks; rank += nodes) ++together, sum += need.rank;
      for (std::int64_t i = 0; i < (nodes == 1 ? 1 : together); ++i) ++processes, sum += need.process;
      return processes == 1 ? sum + need.alone : sum;
    };
    std::int64_t fewest = 0;
    for (std::int64_t nodes = 2; nodes <= ranks && fewest == 0; ++nodes)
      if (counted_on(nodes) <= memory) fewest = nodes;
    EXPECT_EQ(host_room(need, ranks, 1, memory).bytes, counted_on(1)) << seed;
    EXPECT_EQ(host_room(need, ranks, 1, memory).nodes, fewest) << seed;
  }
}

}  // namespace
}  // namespace strobe
