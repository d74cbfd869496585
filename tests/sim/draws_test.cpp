// Drawn clusters: laws of the draws, and times in all draws at once against one simulation of each drawn cluster. The
// programs are random: operations, copies, host work, events, collectives of all ranks and of groups, messages.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "backends/drawn_clusters.hpp"
#include "backends/host/host_work.hpp"
#include "backends/sim/cluster/cluster_file.hpp"
#include "backends/software.hpp"
#include "core/random.hpp"
#include "tests/sim/sim_support.hpp"

namespace strobe {
namespace {

using sim_test::request_for;

/// Fits of some operations, host work and collectives; the others have none.
class MadeFits final : public Calibration {
 public:
  double operation_seconds(std::string_view operation, const Work& work, ElementType, double ranks) const override {
    return operation == "fill" ? 3e-6 + 1e-12 * work.bytes() + 1e-7 * ranks : -1;
  }
  double host_seconds(std::string_view name, const Work& work) const override {
    return name == "work" ? 1e-6 + 2e-9 * work.flops : -1;
  }
  double shared_cores() const override { return 0; }
  double collective_seconds(std::string_view collective, int ranks, double bytes, double messages) const override {
    if (collective != "all_reduce" && collective != "all_to_all_v") return -1;
    return 1e-6 * ranks + 1e-10 * bytes + 1e-6 * messages;
  }
  int fitted_ranks(std::string_view, int ranks) const override { return std::min(ranks, 4); }
  int most_ranks() const override { return 4; }
};

Cluster cluster_of_kind(std::uint64_t kind) {
  Cluster c = sim_test::round_cluster();
  c.gpu.host_issue_seconds = 4e-7;
  c.gpu.round_seconds = 1e-6;
  c.message_seconds = 1e-6;
  c.all_to_all_peer_seconds = 2e-6;
  c.host.cores = 16;
  c.host.core_operations_per_second = 1e9;
  c.host.memory_bytes_per_second = 3.2e10;
  c.host.disk_bytes_per_second = 1e9;
  if (kind == 1) c.compute_slowdown_factor = 1.4;
  if (kind == 2) c.jitter = 0.1;
  if (kind == 3) c.all_to_all = AllToAll::hierarchical, c.hierarchical_collectives = true, c.nics_per_node = 4;
  if (kind == 5) c.calibration = std::make_shared<MadeFits>();
  if (kind == 4) c.shared_host_memory = true, c.nodes = c.described_nodes = 1;
  return c;
}

HostWork random_host_work(const RandomStream& random, std::uint64_t at, std::vector<DeviceEvent> after) {
  HostWork work;
  work.name = "work";
  work.work = {static_cast<double>(random.below(at, 100000)), static_cast<double>(random.below(at + 1, 1000000)), 0};
  work.disk_bytes = static_cast<double>(random.below(at + 2, 3) * 10000);
  work.after = std::move(after);
  return work;
}

/// Does what `choice` says. All ranks make the same choices; the amounts are their own.
void random_step(const RandomStream& common, const RandomStream& own, std::uint64_t step, Device& device,
                 Communicator& c, Communicator& group, DeviceEvent& last) {
  const std::uint64_t at = 8 * step;
  switch (common.below(at, 9)) {
    case 0:
    case 1:
      return sim_test::work_of_bytes(device, 4 * static_cast<std::int64_t>(1 + own.below(at, 200000)));
    case 2:
      device.move_in(nullptr, 1 + static_cast<std::int64_t>(own.below(at, 9000)), 3, ElementType::f32);
      return;
    case 3:
      last = device.run_on_host(random_host_work(own, at, {last, device.record(Stream::compute)}));
      return;
    case 4: {
      const Tensor to = device.allocate(1 + static_cast<std::int64_t>(own.below(at, 9000)), 1);
      last = device.start_stream_in(device.allocate_host(to.bytes()), to, {last});
      return;
    }
    case 5:
      return own.below(at, 2) == 0 ? device.wait(Stream::compute, last) : device.await(last);
    case 6: {
      Request request = sim_test::start_exchange(device, c, [&](int p, int q) {
        return static_cast<std::int64_t>(common.below(at + 1 + static_cast<std::uint64_t>(p * 31 + q), 4000));
      });
      sim_test::work_of_bytes(device, 4 * static_cast<std::int64_t>(1 + own.below(at, 200000)));
      return c.wait(request);
    }
    case 7:
      return group.all_reduce(device.allocate(1 + static_cast<std::int64_t>(common.below(at + 1, 50000)), 1),
                              Traffic::gradient);
    default: {
      const int half = c.size() / 2;
      if (half == 0 || c.rank() >= 2 * half) return;
      const Tensor rows = device.allocate(1 + static_cast<std::int64_t>(common.below(at + 1, 5000)), 1);
      if (c.rank() < half) return c.send(rows, c.rank() + half, 1, Traffic::halo);
      return c.receive(rows, c.rank() - half, 1, Traffic::halo);
    }
  }
}

struct Times {
  std::vector<double> now;                 // [ranks]
  std::vector<std::vector<double>> drawn;  // [ranks][draws]
};

Times times_of(const LaunchRequest& request, std::uint64_t seed) {
  Times times;
  times.now.resize(request.ranks);
  times.drawn.resize(request.ranks);
  sim::launch_simulated(request, [&](Device& device, Communicator& c) {
    const RandomStream common(seed, random_purpose::test, 1);
    const RandomStream own(seed, random_purpose::test, 2 + static_cast<std::uint32_t>(c.rank()));
    RankGroups groups(2);
    for (int rank = 0; rank < c.size(); ++rank) groups[static_cast<std::size_t>(rank) % 2].push_back(rank);
    if (c.size() == 1) groups.pop_back();
    const std::unique_ptr<Communicator> group = c.split(groups);
    DeviceEvent last = device.record(Stream::compute);
    for (std::uint64_t step = 0; step < 60; ++step) {
      random_step(common, own, step, device, c, *group, last);
      if (step == 30) device.synchronize(), device.spans().clear(), c.barrier();
    }
    device.synchronize();
    const auto rank = static_cast<std::size_t>(c.rank());
    times.now[rank] = device.now();
    times.drawn[rank] = device.drawn_now();
  });
  return times;
}

TEST(Draws, TimesInAllDrawsAreThoseOfASimulationOfEach) {
  constexpr std::size_t draws = 5;
  std::set<double> distinct;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const RandomStream random(seed, random_purpose::test, 99);
    const int ranks = std::vector{1, 2, 5, 8, 24}[random.below(0, 5)];
    Cluster cluster = cluster_of_kind(seed % 6);
    if (cluster.nodes == 1 && ranks > 8) cluster.gpus_per_node = 24;
    if (seed % 7 == 6) {
      auto software = std::make_shared<Software>();
      software->name = "made";
      software->calls = {{"fill", 3}};
      software->issue_seconds = 1e-5;
      software->message_seconds = 1e-4;
      software->serialise_byte_seconds = 1e-9;
      software->uses.fill(true);
      cluster.software = software;
    }
    LaunchRequest request = request_for(cluster, ranks);
    const Times alone = times_of(request, seed);
    EXPECT_TRUE(alone.drawn.front().empty());
    request.device.draws = drawn_clusters(request.device.cluster, draws);
    const Times together = times_of(request, seed);
    EXPECT_EQ(together.now, alone.now) << "draws change nothing of the described cluster, seed " << seed;
    for (std::size_t d = 0; d < draws; ++d) {
      LaunchRequest one = request_for(cluster, ranks);
      one.device.cluster = request.device.draws[d];
      const Times expected = times_of(one, seed);
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_EQ(together.drawn[rank].at(d), expected.now[rank])
            << "seed " << seed << " draw " << d << " rank " << rank;
      distinct.insert(expected.now.front());
    }
  }
  EXPECT_GT(distinct.size(), 100u) << "draws differ";
}

TEST(Draws, StayInTheirBandsAndFollowFromSeedAndNumber) {
  for (const std::string& name : cluster_names()) {
    const auto described = load_cluster(name);
    const auto draws = drawn_clusters(described, 50), again = drawn_clusters(load_cluster(name), 20);
    std::set<double> launches;
    for (std::size_t d = 0; d < draws.size(); ++d) {
      const Cluster& drawn = *draws[d];
      launches.insert(drawn.gpu.launch_seconds);
      EXPECT_GE(drawn.gpu.launch_seconds, 0.5 * described->gpu.launch_seconds) << name;
      EXPECT_LE(drawn.gpu.launch_seconds, 2 * described->gpu.launch_seconds) << name;
      EXPECT_LE(drawn.all_to_all_efficiency, 1) << name;
      EXPECT_EQ(drawn.gpu.memory_bytes, described->gpu.memory_bytes);
      EXPECT_EQ(drawn.price_per_node_hour, described->price_per_node_hour);
      EXPECT_NEAR(drawn.gpu.flops_fp64_per_second / drawn.gpu.flops_fp32_per_second,
                  described->gpu.flops_fp64_per_second / described->gpu.flops_fp32_per_second, 1e-9)
          << "both precisions move together";
      if (d < again.size()) {
        EXPECT_EQ(drawn_changes(drawn), drawn_changes(*again[d]));
      }
    }
    EXPECT_EQ(launches.size(), draws.size());
    EXPECT_EQ(digest_of_draws(again), digest_of_draws(drawn_clusters(described, 20)));
    EXPECT_NE(digest_of_draws(again), digest_of_draws(draws));
    const auto reseeded = drawn_clusters(load_cluster(change_cluster(name, "draws_seed", "2")), 20);
    EXPECT_NE(drawn_changes(*reseeded.front()), drawn_changes(*again.front()));
  }
}

TEST(Draws, TakeTheIntervalOfTheFileAndLeaveAloneWhatACommandSet) {
  const auto described = load_cluster("aimos-v100");  // message_seconds: 1e-6, 2.75e-7 to 8e-6
  double least = 1, most = 0;
  for (const auto& drawn : drawn_clusters(described, 400)) {
    least = std::min(least, drawn->message_seconds);
    most = std::max(most, drawn->message_seconds);
  }
  EXPECT_GE(least, 2.75e-7);
  EXPECT_LT(least, 3e-7);
  EXPECT_LT(most, 8e-6);
  EXPECT_GT(most, 7e-6);
  const auto fixed = load_cluster("aimos-v100:gpu.launch_seconds=3e-6");
  const auto before = drawn_clusters(described, 9), after = drawn_clusters(fixed, 9);
  for (std::size_t d = 0; d < after.size(); ++d) {
    EXPECT_EQ(after[d]->gpu.launch_seconds, 3e-6);
    EXPECT_EQ(after[d]->message_seconds, before[d]->message_seconds) << "other constants keep their draws";
  }
}

TEST(Draws, ACommandCanSetTheDrawnConstants) {
  for (const std::string name : {"p5-h100", "g4dn-t4", "aimos-v100"}) {
    const auto described = load_cluster(name);
    for (const auto& drawn : drawn_clusters(described, 5)) {
      const auto typed = load_cluster(name + ":" + drawn_changes(*drawn));
      EXPECT_EQ(typed->gpu.launch_seconds, drawn->gpu.launch_seconds);
      EXPECT_EQ(typed->gpu.memory_bytes_per_second, drawn->gpu.memory_bytes_per_second);
      EXPECT_EQ(typed->inter_node_bytes_per_second, drawn->inter_node_bytes_per_second);
      EXPECT_EQ(typed->all_to_all_peer_seconds, drawn->all_to_all_peer_seconds);
      EXPECT_EQ(typed->host.random_access_seconds, drawn->host.random_access_seconds);
      EXPECT_EQ(drawn_changes(*drawn_clusters(typed, 1).front()), "") << "nothing is left to draw";
    }
  }
}

/// The file of a cluster in which one constant alone has an interval with width, the ends value / factor and value *
/// factor.
std::shared_ptr<const Cluster> uncertain_in(const std::string& name, const std::string& key, double factor) {
  Json json = load_cluster(name)->raw;
  const auto settle = [&](Json& object, const std::string& prefix) {
    for (auto& [own, quantity] : object.items()) {
      if (!quantity.is_object() || !quantity.contains("value") || !quantity.at("value").is_number()) continue;
      if (quantity.contains("currency")) continue;
      const double value = quantity.at("value"), width = prefix + own == key ? factor : 1;
      quantity["low"] = value / width;
      quantity["high"] = value * width;
    }
  };
  settle(json, "");
  settle(json.at("gpu"), "gpu.");
  settle(json.at("host"), "host.");
  return sim::cluster_from_json(json);
}

TEST(Draws, BandsWithoutWidthGiveTheDescribedClusterAndWiderOnesMoveFurther) {
  const std::string key = "inter_node_bytes_per_second";
  const double value = load_cluster("p5-h100")->inter_node_bytes_per_second;
  std::vector<double> before(30, 0);
  for (const double factor : {1.0, 1.2, 1.5, 2.0, 4.0}) {
    const auto draws = drawn_clusters(uncertain_in("p5-h100", key, factor), before.size());
    for (std::size_t d = 0; d < draws.size(); ++d) {
      const double moved = std::log(draws[d]->inter_node_bytes_per_second / value);
      EXPECT_NEAR(draws[d]->gpu.launch_seconds, load_cluster("p5-h100")->gpu.launch_seconds, 1e-18);
      EXPECT_TRUE(factor > 1 || moved == 0);
      EXPECT_GE(std::abs(moved) + 1e-12, std::abs(before[d])) << factor;
      EXPECT_GE(moved * before[d], 0) << "in the same direction";
      before[d] = moved;
    }
  }
}

TEST(Draws, EveryConstantHasABandAroundItsValueAndAReasonAndIsOnThePage) {
  std::ifstream file(std::string(STROBE_SOURCE_DIR) + "/docs/explanation/cluster_numbers.md");
  std::stringstream page;
  page << file.rdbuf();
  std::set<std::string> keys;
  for (const UncertainConstant& constant : uncertain_constants()) {
    EXPECT_TRUE(keys.insert(constant.key).second) << constant.key;
    EXPECT_LT(constant.low, 1) << constant.key;
    EXPECT_GT(constant.high, 1) << constant.key;
    EXPECT_NE(std::string(constant.reason), "") << constant.key;
    EXPECT_NE(page.str().find("`" + std::string(constant.key) + "`"), std::string::npos) << constant.key;
  }
}

}  // namespace
}  // namespace strobe
