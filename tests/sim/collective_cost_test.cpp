// Collective cost models: closed forms, a published table, and metamorphic relations that any cost model must keep.
#include "backends/sim/cost/collective_cost.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "sim_support.hpp"

namespace strobe {
namespace {

using sim::CollectiveLoad;
using sim::Topology;
using sim_test::round_cluster;

double seconds_of(const Cluster& cluster, int ranks, const CollectiveLoad& load) {
  return sim::collective_seconds(load, sim::make_topology(cluster, ranks));
}

CollectiveLoad whole(CollectiveKind kind, std::uint64_t bytes) {
  CollectiveLoad load;
  load.kind = kind;
  load.bytes = bytes;
  return load;
}

CollectiveLoad parts(CollectiveKind kind, std::uint64_t bytes, std::uint64_t smallest) {
  CollectiveLoad load = whole(kind, bytes);
  load.smallest_part_bytes = smallest;
  return load;
}

CollectiveLoad exchange(const Topology& topology, const std::function<std::uint64_t(int, int)>& bytes) {
  CollectiveLoad load = whole(CollectiveKind::all_to_all_v, 0);
  load.exchange = sim::ExchangeLoad(topology);
  for (int p = 0; p < topology.ranks; ++p) {
    for (int q = 0; q < topology.ranks; ++q) load.exchange.add(topology, p, q, p == q ? 0 : bytes(p, q));
  }
  return load;
}

/// One load of every kind, for relations that hold for all of them.
std::vector<CollectiveLoad> one_of_each(const Topology& topology) {
  std::vector<CollectiveLoad> loads;
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::broadcast, CollectiveKind::barrier}) {
    loads.push_back(whole(kind, 1 << 20));
  }
  for (const CollectiveKind kind : {CollectiveKind::all_gather_v, CollectiveKind::reduce_scatter}) {
    loads.push_back(parts(kind, 1 << 20, (1 << 20) / static_cast<std::uint64_t>(topology.ranks)));
  }
  loads.push_back(exchange(topology, [](int p, int q) { return static_cast<std::uint64_t>(1000 * p + 7 * q); }));
  CollectiveLoad message = whole(CollectiveKind::send, 1 << 20);
  message.to = topology.ranks - 1;
  loads.push_back(message);
  return loads;
}

TEST(CollectiveCost, RingAllReduceOnOneNodeIsThakursClosedForm) {
  for (const double n : {2.0, 3.0, 8.0}) {
    const double bytes = 64e6;
    const double closed = 2 * (n - 1) * 2e-6 + 2 * (n - 1) / n * bytes / 1e11;
    EXPECT_NEAR(seconds_of(round_cluster(), static_cast<int>(n), whole(CollectiveKind::all_reduce, 64000000)), closed,
                1e-12 * closed);
  }
}

TEST(CollectiveCost, RingAllReduceOverNodesCountsTheHopsBetweenThem) {
  // 16 ranks on 2 nodes: 15 hops, 1 between nodes, twice around; the network is the bottleneck.
  const double closed = 2 * (14 * 2e-6 + 1 * 8e-6) + 2 * 15.0 / 16 * 64e6 / 1e10;
  EXPECT_NEAR(seconds_of(round_cluster(), 16, whole(CollectiveKind::all_reduce, 64000000)), closed, 1e-12 * closed);
}

TEST(CollectiveCost, SmallAllReduceOnManyNodesTakesTheTree) {
  const double tree = 2 * (7 * 2e-6 + 4 * 8e-6) + 2 * 8 / 1e10;
  const double ring = 2 * (112 * 2e-6 + 15 * 8e-6) + 2 * 127.0 / 128 * 8 / 1e10;
  ASSERT_LT(tree, ring);
  EXPECT_NEAR(seconds_of(round_cluster(), 128, whole(CollectiveKind::all_reduce, 8)), tree, 1e-12 * tree);
}

TEST(CollectiveCost, OtherClosedForms) {
  const Cluster c = round_cluster();
  const double s = 8e6;
  EXPECT_NEAR(seconds_of(c, 8, parts(CollectiveKind::all_gather_v, 8000000, 1000000)), 7 * 2e-6 + 7.0 / 8 * s / 1e11,
              1e-15);
  EXPECT_NEAR(seconds_of(c, 8, parts(CollectiveKind::reduce_scatter, 8000000, 1000000)), 7 * 2e-6 + 7.0 / 8 * s / 1e11,
              1e-15);
  EXPECT_NEAR(seconds_of(c, 8, whole(CollectiveKind::broadcast, 8000000)), 7 * 2e-6 + s / 1e11, 1e-15);
  EXPECT_NEAR(seconds_of(c, 8, whole(CollectiveKind::barrier, 0)), 2 * 3 * 2e-6, 1e-15);
  EXPECT_NEAR(seconds_of(c, 9, whole(CollectiveKind::barrier, 0)), 2 * 4 * 8e-6, 1e-15);
  CollectiveLoad message = whole(CollectiveKind::send, 8000000);
  message.to = 7;
  EXPECT_NEAR(seconds_of(c, 16, message), 2e-6 + s / 1e11, 1e-15);
  message.to = 8;
  EXPECT_NEAR(seconds_of(c, 16, message), 8e-6 + s / 1e10, 1e-15);
}

TEST(CollectiveCost, RedistributionOnAimosMatchesTheFlowLevelTable) {
  // 1e6 vertices x 192 steps x 6 features in fp32, from by-time to by-vertex: bandwidth-bound milliseconds of a max-min
  // flow simulation of this cluster, which knows no cost of messages.
  const std::vector<std::pair<int, double>> table = {{4, 7.2},   {8, 4.2},   {16, 48.0},
                                                     {32, 36.0}, {64, 21.0}, {128, 11.3}};
  const auto aimos = load_cluster("aimos-v100:all_to_all_peer_seconds=0,message_seconds=0");
  for (const auto& [ranks, milliseconds] : table) {
    const Topology topology = sim::make_topology(*aimos, ranks);
    const double pair_bytes = 1e6 * 192 * 6 * 4 / ranks / ranks;
    const CollectiveLoad load = exchange(topology, [&](int, int) { return static_cast<std::uint64_t>(pair_bytes); });
    EXPECT_NEAR(sim::collective_seconds(load, topology) * 1e3, milliseconds, 0.06) << ranks << " ranks";
  }
}

TEST(CollectiveCost, HalfTheBandwidthOrMoreLatencyIsNeverFaster) {
  const Cluster fast = round_cluster();
  for (const auto field : {&Cluster::intra_node_bytes_per_second, &Cluster::inter_node_bytes_per_second,
                           &Cluster::intra_node_latency_seconds, &Cluster::inter_node_latency_seconds}) {
    Cluster slow = fast;
    const bool bandwidth = slow.*field > 1;
    slow.*field *= bandwidth ? 0.5 : 2;
    for (const int ranks : {2, 7, 8, 9, 64, 128}) {
      for (const CollectiveLoad& load : one_of_each(sim::make_topology(fast, ranks))) {
        EXPECT_GE(seconds_of(slow, ranks, load), seconds_of(fast, ranks, load))
            << collective_names[static_cast<int>(load.kind)] << " on " << ranks;
      }
    }
  }
}

TEST(CollectiveCost, NothingIsFreeUnlessLinksAreIdealAndNothingIsPaidAlone) {
  Cluster ideal = round_cluster();
  ideal.intra_node_bytes_per_second = ideal.inter_node_bytes_per_second = std::numeric_limits<double>::infinity();
  ideal.intra_node_latency_seconds = ideal.inter_node_latency_seconds = 0;
  for (const CollectiveLoad& load : one_of_each(sim::make_topology(ideal, 20))) {
    EXPECT_EQ(seconds_of(ideal, 20, load), 0.0);
    EXPECT_GT(seconds_of(round_cluster(), 20, load), 0.0);
    EXPECT_EQ(seconds_of(round_cluster(), 1, load), 0.0);
  }
  const Topology four = sim::make_topology(round_cluster(), 4);
  EXPECT_EQ(sim::collective_seconds(exchange(four, [](int, int) { return 0; }), four), 0.0);
}

TEST(CollectiveCost, SkewCostsMoreThanEvenForTheSameTotal) {
  // Inside one node: every rank sends all to rank 0, or to one hub per sender; over nodes: node 0 sends everything.
  const Topology node = sim::make_topology(round_cluster(), 8);
  const CollectiveLoad even = exchange(node, [](int, int) { return 1000000; });
  const CollectiveLoad to_hub = exchange(node, [](int, int q) { return q == 0 ? 8000000 : 0; });
  const CollectiveLoad from_hub = exchange(node, [](int p, int) { return p == 0 ? 8000000 : 0; });
  EXPECT_GT(sim::collective_seconds(to_hub, node), 4 * sim::collective_seconds(even, node));
  EXPECT_GT(sim::collective_seconds(from_hub, node), 4 * sim::collective_seconds(even, node));

  const Topology nodes = sim::make_topology(round_cluster(), 32);
  const CollectiveLoad spread = exchange(nodes, [](int p, int q) { return p / 8 != q / 8 ? 1000000 : 0; });
  const CollectiveLoad one_sends = exchange(nodes, [](int p, int q) { return p / 8 == 0 && q / 8 != 0 ? 4000000 : 0; });
  EXPECT_NEAR(sim::collective_seconds(one_sends, nodes) / sim::collective_seconds(spread, nodes), 4.0, 0.01);
}

TEST(CollectiveCost, MoreSkewIsNeverCheaper) {
  const Topology topology = sim::make_topology(round_cluster(), 16);
  double before = 0;
  for (int skew = 0; skew <= 10; ++skew) {
    const CollectiveLoad load = exchange(topology, [&](int p, int) {
      return static_cast<std::uint64_t>(p == 0 ? 100000 + 15000 * skew : 100000 - 1000 * skew);
    });
    const double seconds = sim::collective_seconds(load, topology);
    EXPECT_GE(seconds, before) << "skew " << skew;
    before = seconds;
  }
}

TEST(CollectiveCost, UnevenPartsCostNoLessThanEvenOnes) {
  for (const CollectiveKind kind : {CollectiveKind::all_gather_v, CollectiveKind::reduce_scatter}) {
    EXPECT_GT(seconds_of(round_cluster(), 8, parts(kind, 8000000, 0)),
              seconds_of(round_cluster(), 8, parts(kind, 8000000, 1000000)));
  }
}

TEST(Topology, RanksMustFitTheCluster) {
  EXPECT_EQ(sim::make_topology(round_cluster(), 128).nodes, 16);
  EXPECT_EQ(sim::make_topology(round_cluster(), 9).nodes, 2);
  for (const int ranks : {0, 129}) {
    try {
      sim::make_topology(round_cluster(), ranks);
      FAIL() << ranks << " ranks were placed";
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), "--ranks");
      EXPECT_NE(std::string(error.what()).find("16 nodes x 8 GPUs = 128"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace strobe
