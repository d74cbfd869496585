// The cost of messages: no collective of any cluster, by any algorithm, takes less time than its messages take to
// issue. The test counts messages from the pairs of ranks, independently of the models.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "backends/sim/cluster/cluster_file.hpp"
#include "backends/sim/cost/collective_cost.hpp"
#include "core/errors.hpp"
#include "sim_support.hpp"

namespace strobe {
namespace {

using sim::CollectiveLoad;
using sim::Topology;
using sim_test::round_cluster;

constexpr int rank_counts[] = {2, 3, 5, 8, 9, 16, 33, 64, 100, 128, 256};
constexpr double least_published = 2.75e-7;  // of a message: grouped sends inside an H100 node

/// The cluster with at least that many GPUs, on more nodes where it has a network.
Cluster extended(const Cluster& cluster, int ranks) {
  Cluster larger = cluster;
  if (cluster.inter_node_bytes_per_second > 0) {
    larger.nodes = std::max(cluster.nodes, (ranks + cluster.gpus_per_node - 1) / cluster.gpus_per_node);
  } else {
    larger.gpus_per_node = std::max(cluster.gpus_per_node, ranks);
  }
  return larger;
}

/// Links that take no time: what is left is what messages cost.
Cluster without_links(Cluster cluster) {
  cluster.intra_node_latency_seconds = cluster.inter_node_latency_seconds = 0;
  cluster.intra_node_bytes_per_second = cluster.inter_node_bytes_per_second = 1e30;
  cluster.nvls_bytes_per_second = cluster.nvls_latency_seconds = cluster.nccl_latency_seconds = 0;
  cluster.host_bridge_bytes_per_second = cluster.all_to_all_half_bytes = cluster.all_to_all_peer_seconds = 0;
  cluster.gpu.architecture = "";
  return cluster;
}

std::vector<Cluster> shipped_clusters() {
  std::vector<Cluster> clusters;
  for (const std::string& name : cluster_names()) clusters.push_back(*load_cluster(name));
  return clusters;
}

using Pairs = std::set<std::pair<int, int>>;

Pairs random_pairs(int ranks, double share, std::mt19937& random) {
  Pairs pairs;
  std::uniform_real_distribution<double> draw(0, 1);
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from != to && draw(random) < share) pairs.insert({from, to});
    }
  }
  return pairs;
}

/// Messages of the busiest rank, sent or received.
std::size_t busiest(const Pairs& pairs) {
  std::map<int, std::size_t> sent, received;
  std::size_t most = 0;
  for (const auto& [from, to] : pairs) most = std::max({most, ++sent[from], ++received[to]});
  return most;
}

/// The same where messages go to the place of their receiver inside the node first and to its node then.
std::size_t busiest_by_levels(const Pairs& pairs, int gpus) {
  Pairs inside, outside;
  for (const auto& [from, to] : pairs) {
    const int over = from / gpus * gpus + to % gpus;
    if (over != from) inside.insert({from, over});
    if (over != to) outside.insert({over, to});
  }
  return std::max(busiest(inside), busiest(outside));
}

CollectiveLoad exchange_of(const Pairs& pairs, const Topology& topology, std::uint64_t bytes) {
  CollectiveLoad load;
  load.kind = CollectiveKind::all_to_all_v;
  load.exchange = sim::ExchangeLoad(topology);
  for (const auto& [from, to] : pairs) load.exchange.add(topology, from, to, bytes);
  return load;
}

double whole_seconds(const Cluster& cluster, int ranks, CollectiveKind kind, std::uint64_t bytes) {
  CollectiveLoad load;
  load.kind = kind;
  load.bytes = bytes;
  load.smallest_part_bytes = bytes / static_cast<std::uint64_t>(ranks);
  load.to = ranks - 1;
  return sim::collective_seconds(load, sim::make_topology(cluster, ranks));
}

int levels_of(int count) { return static_cast<int>(std::ceil(std::log2(count))); }

TEST(MessageCost, EveryShippedClusterStatesTheCostOfMessagesAndPeersAndItsSources) {
  for (const std::string& name : cluster_names()) {
    const auto cluster = load_cluster(name);
    EXPECT_GE(cluster->message_seconds, least_published) << name;
    EXPECT_GE(cluster->all_to_all_peer_seconds, default_peer_cost.low) << name;
    for (const char* key : {"message_seconds", "all_to_all_peer_seconds", "covered_ranks"}) {
      ASSERT_TRUE(cluster->raw.contains(key)) << name << " " << key;
      EXPECT_FALSE(cluster->raw.at(key).at("source").get<std::string>().empty()) << name << " " << key;
    }
    for (const char* key : {"message_seconds", "all_to_all_peer_seconds"}) {
      const Json& cost = cluster->raw.at(key);
      if (cost.at("source").get<std::string>().rfind("default", 0) != 0) continue;
      EXPECT_TRUE(cost.contains("low") && cost.contains("high")) << name << " " << key;
    }
  }
}

TEST(MessageCost, AnExchangeTakesAtLeastItsPeersTimesAMessage) {
  std::mt19937 random(7);
  for (const Cluster& shipped : shipped_clusters()) {
    for (const AllToAll way : {AllToAll::grouped, AllToAll::pairwise, AllToAll::hierarchical}) {
      for (const int ranks : rank_counts) {
        for (Cluster cluster : {extended(shipped, ranks), without_links(extended(shipped, ranks))}) {
          cluster.all_to_all = way;
          const Pairs pairs = random_pairs(ranks, ranks > 64 ? 0.1 : 0.5, random);
          const Topology topology = sim::make_topology(cluster, ranks);
          const std::size_t peers =
              way == AllToAll::hierarchical ? busiest_by_levels(pairs, cluster.gpus_per_node) : busiest(pairs);
          EXPECT_GE(sim::collective_seconds(exchange_of(pairs, topology, 1), topology),
                    static_cast<double>(peers) * std::max(least_published, cluster.message_seconds))
              << cluster.name << ", " << all_to_all_names[static_cast<int>(way)] << ", " << ranks << " ranks";
        }
      }
    }
  }
}

TEST(MessageCost, OnlyPeersWithBytesCount) {
  const Cluster cluster = without_links(*load_cluster("aimos-v100"));
  const Topology topology = sim::make_topology(cluster, 128);
  Pairs ring;
  for (int rank = 0; rank < 128; ++rank) ring.insert({rank, (rank + 1) % 128});
  EXPECT_EQ(sim::collective_seconds(exchange_of({}, topology, 1), topology), 0);
  EXPECT_EQ(sim::collective_seconds(exchange_of(ring, topology, 0), topology), 0);
  EXPECT_NEAR(sim::collective_seconds(exchange_of(ring, topology, 1), topology), cluster.message_seconds, 1e-15);
}

TEST(MessageCost, OtherCollectivesTakeAtLeastTheirLongestChainOfMessages) {
  for (const Cluster& shipped : shipped_clusters()) {
    for (const int ranks : rank_counts) {
      for (const bool hierarchical : {false, true}) {
        Cluster cluster = without_links(extended(shipped, ranks));
        cluster.hierarchical_collectives = hierarchical;
        const int in_node = std::min(ranks, cluster.gpus_per_node);
        const int nodes = (ranks + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
        const int ring = ranks - 1, tree = in_node - 1 + levels_of(nodes);
        const auto at_least = [&](CollectiveKind kind, int messages) {
          EXPECT_GE(whole_seconds(cluster, ranks, kind, 4096), messages * least_published * (1 - 1e-12))
              << cluster.name << ", " << collective_names[static_cast<int>(kind)] << ", " << ranks << " ranks";
        };
        at_least(CollectiveKind::all_gather_v, ring);
        at_least(CollectiveKind::reduce_scatter, ring);
        at_least(CollectiveKind::broadcast, ring);
        at_least(CollectiveKind::all_reduce, 2 * std::min({ring, tree, in_node - 1 + nodes - 1}));
        at_least(CollectiveKind::barrier, 2 * levels_of(ranks));
        at_least(CollectiveKind::send, 1);
      }
    }
  }
}

TEST(MessageCost, AFixedExchangeDoesNotGetShorterWithoutEnd) {
  for (const Cluster& shipped : shipped_clusters()) {
    double last = 0;
    for (int ranks = 1024; ranks <= 16384; ranks *= 2) {
      const Cluster cluster = extended(shipped, ranks);
      const Topology topology = sim::make_topology(cluster, ranks);
      CollectiveLoad load;
      load.kind = CollectiveKind::all_to_all_v;
      load.exchange = sim::ExchangeLoad(topology);
      load.exchange.most_messages = static_cast<std::uint64_t>(ranks - 1);
      load.exchange.messages = load.exchange.most_messages * static_cast<std::uint64_t>(ranks);
      const std::uint64_t bytes = 1000000000ull / static_cast<std::uint64_t>(ranks);
      const auto sides = topology.nodes > 1 ? std::pair{&load.exchange.sent_outside, &load.exchange.received_outside}
                                            : std::pair{&load.exchange.sent_inside, &load.exchange.received_inside};
      for (auto* side : {sides.first, sides.second}) std::fill(side->begin(), side->end(), bytes);
      const double seconds = sim::collective_seconds(load, topology);
      EXPECT_GE(seconds, (ranks - 1) * least_published) << shipped.name;
      if (ranks >= 8192) {
        EXPECT_GT(seconds, last) << shipped.name << " on " << ranks;
      }
      last = seconds;
    }
  }
}

TEST(MessageCost, ARankIssuesItsMessagesOneAfterTheOther) {
  Cluster cluster = without_links(round_cluster());
  cluster.message_seconds = 1e-6;
  constexpr int ranks = 64;
  for (const bool gathers : {false, true}) {
    const auto outcome =
        sim_test::simulate(sim_test::request_for(cluster, ranks), [&](Device& device, Communicator& c) {
          const Tensor tensor = device.allocate(1, 1, ElementType::f32);
          std::vector<Request> requests;
          for (int peer = 1; peer < ranks && c.rank() == 0; ++peer) {
            requests.push_back(gathers ? c.start_receive(tensor, peer, 0, Traffic::other)
                                       : c.start_send(tensor, peer, 0, Traffic::other));
          }
          if (c.rank() > 0) {
            requests.push_back(gathers ? c.start_send(tensor, 0, 0, Traffic::other)
                                       : c.start_receive(tensor, 0, 0, Traffic::other));
          }
          for (Request& request : requests) c.wait(request);
        });
    EXPECT_GE(outcome.slowest(), (ranks - 1) * 1e-6 * (1 - 1e-12));
    EXPECT_LE(outcome.slowest(), ranks * 2e-6);
  }
}

TEST(MessageCost, AMachineThatWasMeasuredPaysForRanksBeyondItsMeasurements) {
  Json json = load_cluster("aimos-v100")->raw;
  json["calibrated"] = true;
  json.erase("covered_ranks");
  json["calibration"]["collectives"]["all_to_all_v"] = {{{"ranks", 4}, {"seconds", 5e-7}, {"seconds_per_byte", 1e-12}}};
  json["calibration"]["collectives"]["all_reduce"] = {{{"ranks", 4}, {"seconds", 5e-7}}};
  const auto cluster = sim::cluster_from_json(json);
  EXPECT_EQ(cluster->covered_ranks, 4);
  std::mt19937 random(3);
  for (const int ranks : {2, 4, 8, 64, 128}) {
    const Topology topology = sim::make_topology(*cluster, ranks);
    const Pairs all = random_pairs(ranks, 1.1, random);
    const double seconds = sim::collective_seconds(exchange_of(all, topology, 8), topology);
    const double fitted = 5e-7 + 8e-12 * (ranks - 1);
    const double sum = whole_seconds(*cluster, ranks, CollectiveKind::all_reduce, 8);
    if (ranks <= 4) {
      EXPECT_NEAR(seconds, fitted, 1e-15);
      EXPECT_EQ(sum, 5e-7);
    } else {
      EXPECT_NEAR(seconds, std::max(fitted + (ranks - 4) * 1e-6, (ranks - 1) * 1e-6), 1e-12);
      EXPECT_GE(sum, 2 * std::min(7, ranks - 1) * 1e-6) << ranks;
    }
  }
}

TEST(MessageCost, AFileWithoutTheKeyGetsTheDefaultAndAStatedNumberStays) {
  Json json = load_cluster("aimos-v100")->raw;
  const Json unknown = {{"value", nullptr}, {"reason", "nobody measured it"}};
  for (const char* key : {"message_seconds", "all_to_all_peer_seconds", "covered_ranks"}) json.erase(key);
  EXPECT_EQ(sim::cluster_from_json(json)->message_seconds, default_message_cost.seconds);
  EXPECT_EQ(sim::cluster_from_json(json)->all_to_all_peer_seconds, default_peer_cost.seconds);
  EXPECT_EQ(sim::cluster_from_json(json)->covered_ranks, 128);
  json["message_seconds"] = json["all_to_all_peer_seconds"] = json["covered_ranks"] = unknown;
  EXPECT_EQ(sim::cluster_from_json(json)->message_seconds, default_message_cost.seconds);
  EXPECT_EQ(load_cluster("aimos-v100:message_seconds=3e-6")->message_seconds, 3e-6);
  EXPECT_EQ(load_cluster("aimos-v100:nodes=64")->covered_ranks, 128);
  EXPECT_TRUE(load_cluster("aimos-v100:nodes=64")->beyond_sources(129));
  EXPECT_FALSE(load_cluster("aimos-v100:nodes=64")->beyond_sources(128));
}

TEST(MessageCost, AValueLiesInItsInterval) {
  Json json = load_cluster("aimos-v100")->raw;
  for (const auto& [bound, value] : {std::pair{"low", 2e-6}, {"high", 1e-7}}) {
    Json changed = json;
    changed["message_seconds"][bound] = value;
    try {
      sim::cluster_from_json(changed);
      FAIL() << bound;
    } catch (const InvalidRequest& error) {
      EXPECT_EQ(error.where(), std::string("/message_seconds/") + bound);
    }
  }
}

TEST(MessageCost, ABetterNetworkOrACheaperMessageNeverSlowsACollective) {
  std::mt19937 random(11);
  const auto fields = {&Cluster::intra_node_latency_seconds, &Cluster::inter_node_latency_seconds,
                       &Cluster::all_to_all_peer_seconds, &Cluster::message_seconds};
  for (const Cluster& shipped : shipped_clusters()) {
    for (const AllToAll way : {AllToAll::grouped, AllToAll::pairwise, AllToAll::hierarchical}) {
      for (const int ranks : {2, 8, 9, 64}) {
        const Pairs pairs = random_pairs(ranks, 0.3, random);
        for (const auto field : fields) {
          Cluster cluster = extended(shipped, ranks);
          cluster.all_to_all = way;
          std::map<int, double> before;
          for (const double share : {1.0, 0.5, 0.1, 0.01, 0.0}) {
            Cluster better = cluster;
            better.*field *= share;
            const Topology topology = sim::make_topology(better, ranks);
            std::map<int, double> now = {{-1, sim::collective_seconds(exchange_of(pairs, topology, 100), topology)}};
            for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather_v,
                                              CollectiveKind::broadcast, CollectiveKind::barrier})
              now[static_cast<int>(kind)] = whole_seconds(better, ranks, kind, 100000);
            for (const auto& [kind, seconds] : before) EXPECT_LE(now[kind], seconds * (1 + 1e-12)) << shipped.name;
            before = now;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace strobe
