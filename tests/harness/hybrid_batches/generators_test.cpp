// Generators that run during training: with any number of them, a batch follows from its number. Their output is
// bounded. In virtual time they overlap and share the cores of their node.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/cluster.hpp"
#include "core/random.hpp"
#include "harness/hybrid_batches/batch_feed.hpp"
#include "tests/harness/hybrid_batches/hybrid_runs.hpp"
#include "tests/workloads/support.hpp"

namespace strobe {
namespace {

using test::hybrid_case;
using test::RandomEvents;
using test::run;

constexpr const char* nine_sizes = "10%/25%/50%";

Json many_sizes(const RandomEvents& events, int generators, Json strategy, int ranks = 1, int epochs = 12) {
  strategy["name"] = "hybrid_batch", strategy["generators"] = generators, strategy["adjuster"] = "random";
  strategy["vertex_sizes"] = strategy["snapshot_sizes"] = nine_sizes;
  return hybrid_case(events.workload(8), "t-gcn", strategy, ranks, epochs);
}

std::string identity(const HybridBatch& batch) {
  std::string text = fmt::format("{}: {} {}:", batch.action, batch.layers.window.first, batch.layers.window.count);
  for (const VertexId v : batch.layers.layers.back().cells.vertices) text += fmt::format(" {}", v);
  for (const std::int64_t i : batch.samples.index) text += fmt::format(" s{}", i);
  for (const float value : batch.features.features.values32) text += fmt::format(" {}", value);
  for (const double value : batch.features.features.values64) text += fmt::format(" {}", value);
  return text;
}

// The device is the processor. Generators are threads, and their progress differs from run to run.
TEST(Generators, GiveWhatNumbersSayHoweverManyThereAre) {
  for (const std::uint64_t seed : {3, 4}) {
    const RandomEvents events(seed, 40, 500);
    for (const int generators : {1, 2, 9}) {
      const auto plan = plan_hybrid(case_from_json(many_sizes(events, generators, Json::object()), ""), PlanUse::run);
      ASSERT_EQ(plan->actions.size(), 9u);
      DeviceRequest on;
      on.precision = ElementType::f64;
      const auto device = DeviceRegistry::instance().find("cpu").value(on);
      ASSERT_EQ(generator_count(*plan), generators);
      BatchFeed feed(*plan, *device);
      BatchMaker maker(*plan, true);
      std::set<std::string> known;
      for (std::size_t action = 0; action < 9; ++action) {
        for (std::int64_t k = 0; k < most_kept(*plan, 0, action); ++k)
          known.insert(identity(*maker.make(0, action, ((action + 1) << 26) + static_cast<std::uint64_t>(k))));
      }
      const RandomStream random(seed, random_purpose::batch_size);
      int kept = 0;
      for (std::uint64_t i = 0; i < 300; ++i) {
        const SharedBatch batch = feed.take(static_cast<std::size_t>(random.below(i, 9)), i);
        const bool all_vertices = batch->layers.targets == 40;  // those of a snapshot batch are drawn by iteration
        if (all_vertices) continue;
        ++kept;
        EXPECT_EQ(known.count(identity(*batch)), 1u) << generators << " " << i;
      }
      EXPECT_GT(kept, 20) << "the reservoirs gave nothing";
      const std::vector<double> counts = feed.kept();
      for (std::size_t action = 0; action < 9; ++action)
        EXPECT_LE(counts[action], static_cast<double>(most_kept(*plan, 0, action)));
    }
  }
}

TEST(Generators, ChangeNoBitOfTrainingWithoutAReservoir) {
  for (const char* device : {"cpu", "sim"}) {
    const RandomEvents events(5, 40, 500);
    std::vector<double> losses;
    for (const int generators : {1, 2, 5, 9}) {
      Json request =
          many_sizes(events, generators, {{"reservoir", false}, {"averaging", "async"}, {"interval", "2"}}, 2);
      request["device"] = device;
      if (std::string(device) == "sim") request["cluster"] = "aimos-v100", request["numerics"] = "cpu";
      const CaseResult result = run(request);
      ASSERT_EQ(result.status, "ok") << result.reason;
      if (losses.empty()) losses = result.loss.per_epoch;
      EXPECT_EQ(result.loss.per_epoch, losses) << device << " " << generators;
    }
  }
}

// With a full reservoir, the choice of batches depends on their numbers alone, not on speed.
TEST(Generators, ChangeNoBitOfTrainingFromAFullReservoir) {
  const RandomEvents events(9, 40, 500);
  for (const double gib : {1.0, 2e-5}) {  // the second is too small for some batches
    std::map<std::string, std::vector<double>> losses;
    for (const char* device : {"cpu", "sim"}) {
      for (const int generators : {1, 3, 9}) {
        Json request = many_sizes(events, generators, {{"reservoir_start", "full"}, {"reservoir_gib", gib}}, 2);
        request["device"] = device;
        if (std::string(device) == "sim") request["cluster"] = "aimos-v100", request["numerics"] = "cpu";
        const CaseResult result = run(request);
        ASSERT_EQ(result.status, "ok") << result.reason;
        if (losses[device].empty()) losses[device] = result.loss.per_epoch;
        EXPECT_EQ(result.loss.per_epoch, losses[device]) << device << " " << generators << " " << gib;
      }
    }
  }
}

TEST(Generators, FillAReservoirWhoseBatchesAllComeAgain) {
  const RandomEvents events(10, 40, 500);
  for (const char* generator : {"inline", "pipelined"}) {
    const auto plan =
        plan_hybrid(case_from_json(many_sizes(events, 4, {{"reservoir_start", "full"}, {"generator", generator}}), ""),
                    PlanUse::run);
    DeviceRequest on;
    on.precision = ElementType::f64;
    const auto device = DeviceRegistry::instance().find("cpu").value(on);
    BatchFeed feed(*plan, *device);
    std::int64_t all = 0;
    std::set<const HybridBatch*> given;
    for (std::uint64_t i = 0; i < 2000; ++i) given.insert(feed.take(i % 9, i).get());
    for (std::size_t action = 0; action < 9; ++action) {
      all += most_kept(*plan, 0, action);
      EXPECT_EQ(feed.kept()[action], static_cast<double>(most_kept(*plan, 0, action)));
    }
    EXPECT_EQ(static_cast<std::int64_t>(given.size()), all) << "no batch was made that is not kept";
  }
}

TEST(Generators, WithoutRoomMakeNothingDuringTraining) {
  const RandomEvents events(6, 40, 500);
  const auto plan = plan_hybrid(case_from_json(many_sizes(events, 9, {{"reservoir_gib", 0}}), ""), PlanUse::run);
  DeviceRequest on;
  on.precision = ElementType::f64;
  const auto device = DeviceRegistry::instance().find("cpu").value(on);
  BatchFeed feed(*plan, *device);
  for (std::uint64_t i = 0; i < 30; ++i) feed.take(i % 9, i);
  EXPECT_EQ(feed.kept(), std::vector<double>(9, 0));
  device->synchronize();
  std::size_t made = 0;
  for (const Span& span : device->spans().spans()) made += span.name == "make_batch" && !span.blocking ? 1 : 0;
  EXPECT_EQ(made, 30u);
}

struct MadeInVirtualTime {
  double together = 0;  // most pieces under way at one time
  double first_seconds = 0;
};

/// Times of the batches for a simulated rank's first update, on nodes of two cores.
MadeInVirtualTime made_by(int generators) {
  const RandomEvents events(7, 40, 500);
  Json request = many_sizes(events, generators, Json::object());
  request["device"] = "sim", request["cluster"] = "dynahb-2080ti:host.cores=2,gpus_per_node=1";
  const auto plan = plan_hybrid(case_from_json(request, ""), PlanUse::run);
  DeviceRequest on;
  on.cluster = load_cluster(request["cluster"]);
  on.values = false;
  const auto device = DeviceRegistry::instance().find("sim").value(on);
  BatchFeed feed(*plan, *device);
  feed.take(0, 0);
  device->synchronize();
  MadeInVirtualTime made;
  std::vector<std::pair<double, int>> changes;
  for (const Span& span : device->spans().spans()) {
    if (span.name != "make_batch" || span.blocking) continue;
    if (changes.empty()) made.first_seconds = span.end_seconds - span.begin_seconds;
    changes.emplace_back(span.begin_seconds, 1), changes.emplace_back(span.end_seconds, -1);
  }
  std::sort(changes.begin(), changes.end());
  double now = 0;
  for (const auto& [seconds, change] : changes) now += change, made.together = std::max(made.together, now);
  return made;
}

TEST(Generators, OverlapInVirtualTimeAndShareTheCores) {
  const MadeInVirtualTime one = made_by(1), two = made_by(2), eight = made_by(8);
  EXPECT_EQ(one.together, 1);
  EXPECT_EQ(two.together, 2);
  EXPECT_EQ(eight.together, 8);
  ASSERT_GT(one.first_seconds, 0);
  // Each generator has a core, unless the memory's bandwidth limits them. Later, four of them share a core.
  EXPECT_GE(two.first_seconds, one.first_seconds);
  EXPECT_DOUBLE_EQ(eight.first_seconds, 4 * two.first_seconds);
  EXPECT_EQ(made_by(8).first_seconds, eight.first_seconds);
}

TEST(Generators, ByThemselvesAreOneForEachSizeWhileThereAreCores) {
  const RandomEvents events(8, 40, 500);
  const auto count = [&](const std::string& cluster, int ranks, const char* adjuster) {
    Json request = many_sizes(events, 0, Json::object(), ranks);
    request["strategy"]["adjuster"] = adjuster;
    request["device"] = "sim", request["cluster"] = cluster;
    return generator_count(*plan_hybrid(case_from_json(request, ""), PlanUse::run));
  };
  EXPECT_EQ(count("dynahb-2080ti:host.cores=64,gpus_per_node=1", 1, "random"), 9);
  EXPECT_EQ(count("dynahb-2080ti:host.cores=6,gpus_per_node=1", 2, "random"), 6) << "a node each";
  EXPECT_EQ(
      count(
          "dynahb-2080ti:host.cores=6,gpus_per_node=2,intra_node_bytes_per_second=1e10,intra_node_latency_seconds=1e-6",
          2, "random"),
      3)
      << "one node for both";
  EXPECT_EQ(
      count(
          "dynahb-2080ti:host.cores=1,gpus_per_node=2,intra_node_bytes_per_second=1e10,intra_node_latency_seconds=1e-6",
          2, "random"),
      1);
  EXPECT_EQ(count("dynahb-2080ti:host.cores=64,gpus_per_node=1", 1, "none"), 1) << "one size";
}

}  // namespace
}  // namespace strobe
