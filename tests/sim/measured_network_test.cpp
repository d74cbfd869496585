// Behaviour of collectives libraries on a network, as measured: all-to-alls that pay for peers and small messages, in
// rounds or by levels, and sums in the switch. Each is compared with its closed form and with laws.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/sim/cluster/cluster_file.hpp"
#include "backends/sim/cost/collective_cost.hpp"
#include "core/errors.hpp"
#include "sim_support.hpp"

namespace strobe {
namespace {

using sim::CollectiveLoad;
using sim::Topology;
using sim_test::round_cluster;

double exchange_seconds(const Cluster& cluster, int ranks, std::uint64_t bytes_per_peer) {
  const Topology topology = sim::make_topology(cluster, ranks);
  CollectiveLoad load;
  load.kind = CollectiveKind::all_to_all_v;
  load.exchange = sim::ExchangeLoad(topology);
  for (int p = 0; p < ranks; ++p) {
    for (int q = 0; q < ranks; ++q) load.exchange.add(topology, p, q, bytes_per_peer);
  }
  load.exchange.most_messages = static_cast<std::uint64_t>(ranks - 1);
  return sim::collective_seconds(load, topology);
}

double sum_seconds(const Cluster& cluster, int ranks, std::uint64_t bytes) {
  CollectiveLoad load;
  load.kind = CollectiveKind::all_reduce;
  load.bytes = bytes;
  return sim::collective_seconds(load, sim::make_topology(cluster, ranks));
}

TEST(MeasuredNetwork, PeersAndSmallMessagesCostMoreBetweenNodes) {
  Cluster cluster = round_cluster();
  const double inside = exchange_seconds(cluster, 8, 100000), before = exchange_seconds(cluster, 16, 100000);
  cluster.all_to_all_efficiency = 0.5;
  cluster.all_to_all_half_bytes = 50000;
  cluster.all_to_all_peer_seconds = 1e-5;
  EXPECT_EQ(exchange_seconds(cluster, 8, 100000), inside);  // one node has no network
  // One NIC for 8 GPUs: each sends 8 messages of 100 kB to the other node, and counts 15 longer by 50 kB.
  EXPECT_NEAR(exchange_seconds(cluster, 16, 100000),
              8e-6 + 15 * 1e-5 + (8 * 8 * 100000.0 + 8 * 15 * 50000.0) / (0.5 * 1e10), 1e-12);
  EXPECT_GT(exchange_seconds(cluster, 16, 100000), before);
}

TEST(MeasuredNetwork, RoundsAreNeverFasterThanMessagesPostedAtOnce) {
  Cluster rounds = round_cluster();
  rounds.all_to_all = AllToAll::pairwise;
  for (const int ranks : {2, 4, 8, 9, 16, 64}) {
    for (const std::uint64_t bytes : {1u, 1000u, 1000000u}) {
      EXPECT_GE(exchange_seconds(rounds, ranks, bytes), exchange_seconds(round_cluster(), ranks, bytes) * (1 - 1e-12))
          << ranks << " ranks, " << bytes;
    }
  }
  EXPECT_NEAR(exchange_seconds(rounds, 4, 1000000), 3 * 2e-6 + 3e6 / 1e11, 1e-12);
}

TEST(MeasuredNetwork, PeersOfOneNodeCostNothingMore) {
  for (const AllToAll way : {AllToAll::grouped, AllToAll::pairwise}) {
    Cluster cluster = round_cluster();
    cluster.all_to_all = way;
    const double inside = exchange_seconds(cluster, 4, 1000000), over = exchange_seconds(cluster, 16, 1000000);
    cluster.all_to_all_peer_seconds = 1e-5;
    EXPECT_EQ(exchange_seconds(cluster, 4, 1000000), inside);
    EXPECT_NEAR(exchange_seconds(cluster, 16, 1000000), over + 15 * 1e-5, 1e-12);
  }
}

TEST(MeasuredNetwork, RoundsLastAsLongAsTheBusiestRankSendsOrReceives) {
  Cluster rounds = round_cluster();
  rounds.all_to_all = AllToAll::pairwise;
  const Topology topology = sim::make_topology(rounds, 4);
  for (const bool one_sends : {true, false}) {
    CollectiveLoad load;
    load.kind = CollectiveKind::all_to_all_v;
    load.exchange = sim::ExchangeLoad(topology);
    for (int other = 1; other < 4; ++other)
      load.exchange.add(topology, one_sends ? 0 : other, one_sends ? other : 0, 1000000);
    EXPECT_NEAR(sim::collective_seconds(load, topology), 3 * 2e-6 + 3e6 / 1e11, 1e-12);
  }
}

TEST(MeasuredNetwork, LevelsPayWherePeersAreDear) {
  Cluster grouped = round_cluster();
  grouped.all_to_all_peer_seconds = 1e-5;
  Cluster levels = grouped;
  levels.all_to_all = AllToAll::hierarchical;
  EXPECT_LT(exchange_seconds(levels, 128, 100), exchange_seconds(grouped, 128, 100));  // 15 peers, not 127
  EXPECT_GT(exchange_seconds(levels, 128, 10000000), exchange_seconds(grouped, 128, 10000000) * 0.99);
  // 2 nodes of 8: inside 7 + 8 x 7/8 messages, then 8 x 8 through the NIC.
  EXPECT_NEAR(exchange_seconds(levels, 16, 1000), 2e-6 + (7000 + 8000 * 7.0 / 8) / 1e11 + 8e-6 + 1e-5 + 64000 / 1e10,
              1e-12);
}

TEST(MeasuredNetwork, SumsInTheSwitchFollowTheirBusBandwidth) {
  Cluster cluster = round_cluster();
  cluster.nvls_bytes_per_second = 2e11;
  cluster.nvls_latency_seconds = 1e-5;
  EXPECT_NEAR(sum_seconds(cluster, 8, 64000000), 1e-5 + 2 * 7.0 / 8 * 64e6 / 2e11, 1e-12);
  EXPECT_EQ(sum_seconds(cluster, 4, 64000000), sum_seconds(round_cluster(), 4, 64000000));  // half a node has none
  EXPECT_NEAR(sum_seconds(round_cluster(), 8, 0), 14 * 2e-6, 1e-15) << "without that switch, nothing takes its latency";
  // Two nodes: a direction carries the buffer once; three and more: twice.
  EXPECT_NEAR(sum_seconds(cluster, 16, 640000000), 2e-5 + 2 * 8e-6 + 640e6 / 1e10, 1e-9);
  EXPECT_NEAR(sum_seconds(cluster, 32, 640000000),
              std::min(sum_seconds(round_cluster(), 32, 640000000), 2e-5 + 2 * 16e-6 + 2 * 640e6 / 1e10), 1e-9);
}

TEST(MeasuredNetwork, KeysAreCheckedByTheirPointer) {
  Json json = load_cluster("p5-h100")->raw;
  const auto complaint = [&](const char* key, const Json& value) -> std::string {
    Json changed = json;
    changed[key] = value;
    try {
      sim::cluster_from_json(changed);
    } catch (const InvalidRequest& error) {
      return error.where();
    }
    return "accepted";
  };
  const auto number = [](double value) { return Json{{"value", value}, {"source", "a test"}, {"date", "2026-11-28"}}; };
  EXPECT_EQ(complaint("all_to_all_efficiency", number(1.5)), "/all_to_all_efficiency/value");
  EXPECT_EQ(complaint("all_to_all_efficiency", number(0)), "/all_to_all_efficiency/value");
  EXPECT_EQ(complaint("all_to_all", "rounds"), "/all_to_all");
  EXPECT_EQ(complaint("all_to_all", "pairwise"), "accepted");
  EXPECT_EQ(complaint("jitter", number(3)), "/jitter/value");
  EXPECT_EQ(complaint("jitter", number(0.04)), "accepted");
}

}  // namespace
}  // namespace strobe
