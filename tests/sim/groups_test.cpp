// Groups of simulated ranks. Their collectives take the time that fits the places of the members. They run at the same
// time as others and in the order in which a rank starts them. Times are worked out by hand from the round cluster's
// links.
#include <gtest/gtest.h>

#include <chrono>

#include "sim_support.hpp"

namespace strobe {
namespace {

using sim_test::Outcome;
using sim_test::request_for;
using sim_test::round_cluster;
using sim_test::simulate;

constexpr double inside_latency = 2e-6, outside_latency = 8e-6, inside_rate = 1e11, outside_rate = 1e10;
constexpr std::int64_t reduced_elements = 1000000;
constexpr double reduced_bytes = 4.0 * reduced_elements;

/// Groups of ranks that have `rank % count` in common.
RankGroups strided(int ranks, int count) {
  RankGroups groups(static_cast<std::size_t>(count));
  for (int r = 0; r < ranks; ++r) groups[r % count].push_back(r);
  return groups;
}

/// Groups of `length` ranks that follow each other.
RankGroups blocks(int ranks, int length) {
  RankGroups groups(static_cast<std::size_t>((ranks + length - 1) / length));
  for (int r = 0; r < ranks; ++r) groups[r / length].push_back(r);
  return groups;
}

/// Seconds of an all_reduce of `reduced_bytes` in each rank's group, by rank; 0 for a rank in none.
std::vector<double> all_reduce_seconds(const Cluster& cluster, int ranks, const RankGroups& groups) {
  std::vector<double> seconds(ranks, 0);
  simulate(request_for(cluster, ranks), [&](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> group = c.split(groups);
    if (group == nullptr) return;
    const Tensor tensor = device.allocate(reduced_elements, 1);
    device.synchronize();
    const double begin = device.now();
    group->all_reduce(tensor, Traffic::gradient);
    seconds[c.rank()] = device.now() - begin;
  });
  return seconds;
}

/// Ring over `nodes` nodes with `ranks` ranks whose slowest hop has `rate` bytes per second.
double ring_seconds(double ranks, double nodes, double rate) {
  const double hops = (ranks - nodes) * inside_latency + (nodes - 1) * outside_latency;
  return 2 * hops + 2 * (ranks - 1) / ranks * reduced_bytes / rate;
}

void expect_all(const std::vector<double>& seconds, double wanted) {
  for (std::size_t r = 0; r < seconds.size(); ++r) EXPECT_NEAR(seconds[r], wanted, 1e-9 * wanted) << "rank " << r;
}

TEST(SimGroups, ACollectiveWaitsForTheEarlierOneOfAnyOfItsRanks) {
  const double one = ring_seconds(2, 1, inside_rate);
  for (const int busy : {0, 1}) {
    // The busy rank shares a group with rank 2, then one with the other rank; both start before it waits.
    const int idle = 1 - busy;
    std::vector<double> ends(3);
    simulate(request_for(round_cluster(), 3), [&](Device& device, Communicator& c) {
      const std::unique_ptr<Communicator> first = c.split({{busy, 2}}), second = c.split({{0, 1}});
      const Tensor a = device.allocate(reduced_elements, 1), b = device.allocate(reduced_elements, 1);
      device.synchronize();
      const double begin = device.now();
      std::vector<std::pair<Communicator*, Request>> under_way;
      if (c.rank() != idle) under_way.emplace_back(first.get(), first->start_all_reduce(a, Traffic::gradient));
      if (c.rank() != 2) under_way.emplace_back(second.get(), second->start_all_reduce(b, Traffic::gradient));
      for (auto& [group, request] : under_way) group->wait(request);
      ends[c.rank()] = device.now() - begin;
    });
    EXPECT_NEAR(ends[2], one, 1e-9 * one);
    EXPECT_NEAR(ends[busy], 2 * one, 1e-9 * one);
    EXPECT_NEAR(ends[idle], 2 * one, 1e-9 * one);
  }
}

TEST(SimGroups, InsideANodeTheyTakeItsLinks) {
  expect_all(all_reduce_seconds(round_cluster(), 16, blocks(16, 8)), ring_seconds(8, 1, inside_rate));
  expect_all(all_reduce_seconds(round_cluster(), 16, blocks(16, 4)), ring_seconds(4, 1, inside_rate));
  expect_all(all_reduce_seconds(round_cluster(), 3, blocks(3, 1)), 0);
}

TEST(SimGroups, OverNodesTheyTakeTheNetworkAndShareItWithTheirSiblings) {
  const std::vector<double> single = all_reduce_seconds(round_cluster(), 16, {{0, 8}});
  EXPECT_NEAR(single[0], ring_seconds(2, 2, outside_rate), 1e-12);
  EXPECT_EQ(single[8], single[0]);
  EXPECT_EQ(single[1], 0);
  const std::vector<double> two = all_reduce_seconds(round_cluster(), 16, {{0, 8}, {1, 9}});
  EXPECT_NEAR(two[0], ring_seconds(2, 2, outside_rate / 2), 1e-12);
  const double latency = 2 * outside_latency;
  EXPECT_NEAR(two[0] - latency, 2 * (single[0] - latency), 1e-12);
  expect_all(all_reduce_seconds(round_cluster(), 16, strided(16, 8)), ring_seconds(2, 2, outside_rate / 8));
  // A sibling that stays inside a node takes nothing of the network; one of other nodes neither.
  const std::vector<double> inside = all_reduce_seconds(round_cluster(), 32, {{0, 8}, {1, 2, 3}, {16, 24}});
  EXPECT_NEAR(inside[0], ring_seconds(2, 2, outside_rate), 1e-12);
  EXPECT_NEAR(inside[24], ring_seconds(2, 2, outside_rate), 1e-12);
  EXPECT_NEAR(inside[2], ring_seconds(3, 1, inside_rate), 1e-12);
}

TEST(SimGroups, MembersMayBeUneven) {
  const std::vector<double> seconds = all_reduce_seconds(round_cluster(), 16, {{0, 1, 2, 3, 4, 5, 6, 7, 8}});
  EXPECT_NEAR(seconds[8], ring_seconds(9, 2, outside_rate), 1e-12);
}

TEST(SimGroups, OfAllRanksTakeTheLaunchsTime) {
  for (const int ranks : {2, 8, 13, 40}) {
    double whole = 0;
    simulate(request_for(round_cluster(), ranks), [&](Device& device, Communicator& c) {
      c.barrier();
      const double begin = device.now();
      c.all_reduce(device.allocate(reduced_elements, 1), Traffic::gradient);
      whole = device.now() - begin;
    });
    expect_all(all_reduce_seconds(round_cluster(), ranks, blocks(ranks, ranks)), whole);
  }
}

TEST(SimGroups, ShareTheBridgeOfANode) {
  Cluster bridged = round_cluster();
  bridged.host_bridge_bytes_per_second = 1e11;
  expect_all(all_reduce_seconds(bridged, 8, blocks(8, 4)), ring_seconds(4, 1, 1e11 / 2 / 4));
}

TEST(SimGroups, OfGroupsShareTheirGroupsLinks) {
  double seconds = 0;
  simulate(request_for(round_cluster(), 16), [&](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> even = c.split(strided(16, 2));
    const std::unique_ptr<Communicator> pair = even->split(strided(8, 4));  // 0 and 8 of the launch, 2 and 10, ...
    const double begin = device.now();
    pair->all_reduce(device.allocate(reduced_elements, 1), Traffic::gradient);
    if (c.rank() == 0) seconds = device.now() - begin;
  });
  EXPECT_NEAR(seconds, ring_seconds(2, 2, outside_rate / 2 / 4), 1e-12);
}

TEST(SimGroups, ExchangesKnowWhichMembersShareANode) {
  std::vector<double> seconds(16, 0);
  simulate(request_for(round_cluster(), 16), [&](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> group = c.split(strided(16, 2));  // four members in each of two nodes
    const double begin = device.now();
    sim_test::exchange(device, *group, [](int, int) { return 1000; });
    seconds[c.rank()] = device.now() - begin;
  });
  const double inside = 3 * 4000 / inside_rate, outside = 4 * 4 * 4000 / (outside_rate / 2);
  expect_all(seconds, outside_latency + std::max(inside, outside));
}

TEST(SimGroups, MessagesTakeTheLinkBetweenTheirRanks) {
  std::vector<double> seconds(16, 0);
  simulate(request_for(round_cluster(), 16), [&](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> group = c.split({{3, 5, 9}});
    if (group == nullptr) return;
    const Tensor tensor = device.allocate(reduced_elements, 1);
    const double begin = device.now();
    if (group->rank() == 0) group->send(tensor, 1, 0, Traffic::state);
    if (group->rank() == 1) group->receive(tensor, 0, 0, Traffic::state);
    seconds[c.rank()] = device.now() - begin;
    if (group->rank() == 1) group->send(tensor, 2, 0, Traffic::state);
    if (group->rank() == 2) group->receive(tensor, 1, 0, Traffic::state);
    if (group->rank() == 2) seconds[9] = device.now() - begin;
  });
  const double near = inside_latency + reduced_bytes / inside_rate;
  EXPECT_NEAR(seconds[3], near, 1e-12);
  EXPECT_NEAR(seconds[5], near, 1e-12);
  EXPECT_NEAR(seconds[9], near + outside_latency + reduced_bytes / outside_rate, 1e-12);
}

TEST(SimGroups, RunAtTheSameTimeAndInTheOrderOfStartingOnARank) {
  const double group_seconds = ring_seconds(8, 1, inside_rate), whole_seconds = ring_seconds(16, 2, outside_rate);
  double ended_group = 0, ended_whole = 0;
  simulate(request_for(round_cluster(), 16), [&](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> group = c.split(blocks(16, 8));
    const Tensor tensor = device.allocate(reduced_elements, 1);
    c.barrier();
    const double begin = device.now();
    Request first = group->start_all_reduce(tensor, Traffic::gradient);
    Request second = c.start_all_reduce(tensor, Traffic::gradient);
    Request third = group->start_all_reduce(tensor, Traffic::gradient);
    group->wait(third);
    if (c.rank() == 3) ended_group = device.now() - begin;
    c.wait(second);
    group->wait(first);
    if (c.rank() == 3) ended_whole = device.now() - begin;
  });
  EXPECT_NEAR(ended_group, 2 * group_seconds + whole_seconds, 1e-12);
  EXPECT_EQ(ended_whole, ended_group);
}

/// Work and collectives on three levels that differ between ranks.
void mixed_groups(Device& device, Communicator& c) {
  const std::unique_ptr<Communicator> near = c.split(blocks(c.size(), 3)), far = c.split(strided(c.size(), 2));
  const std::unique_ptr<Communicator> some = far->split({{0}});
  for (int round = 0; round < 5; ++round) {
    sim_test::work_of_bytes(device, 100000 * (1 + (c.rank() * 7 + round * 3) % 11));
    Request whole = c.start_all_reduce(device.allocate(1000, 1), Traffic::gradient);
    Request inner = near->start_all_reduce(device.allocate(500 + round, 1), Traffic::gradient, Reduction::max);
    sim_test::work_of_bytes(device, 50000 * (1 + c.rank() % 5));
    Request outer = sim_test::start_exchange(device, *far, [&](int p, int q) { return (p * 31 + q * 17) % 50; });
    if (some != nullptr) some->barrier();
    if (c.rank() % 3 == 0) near->wait(inner);
    c.wait(whole);
    if (c.rank() % 3 != 0) near->wait(inner);
    far->wait(outer);
  }
}

TEST(SimGroups, TimesDoNotDependOnTheOrderOfScheduling) {
  for (const int ranks : {2, 5, 8, 19}) {
    const LaunchRequest request = request_for(round_cluster(), ranks);
    const Outcome first = simulate(request, mixed_groups, sim::ScheduleOrder::smallest_clock);
    const Outcome second = simulate(request, mixed_groups, sim::ScheduleOrder::largest_rank);
    EXPECT_EQ(first.seconds, second.seconds) << ranks << " ranks";
    EXPECT_EQ(first.seconds, simulate(request_for(round_cluster(), ranks, true), mixed_groups).seconds);
    EXPECT_GT(first.slowest(), 0.0);
  }
}

template <class Failure>
std::string failure_of(int ranks, const RankProgram& program) {
  try {
    simulate(request_for(round_cluster(), ranks), program);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no error of that kind";
}

TEST(SimGroups, OtherOrdersOfStartingAreReportedInsteadOfWaitingForEver) {
  const std::string what = failure_of<Error>(4, [](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> group = c.split({{0, 1}});
    const Tensor tensor = device.allocate(10, 1);
    Request inner;
    if (c.rank() == 0) inner = group->start_all_reduce(tensor, Traffic::gradient);
    Request whole = c.start_all_reduce(tensor, Traffic::gradient);
    if (c.rank() == 1) inner = group->start_all_reduce(tensor, Traffic::gradient);
    c.wait(whole);
    if (group != nullptr) group->wait(inner);
  });
  EXPECT_EQ(what, "ranks started collectives of several communicators in different orders");
}

TEST(SimGroups, WhoKeepsAnEarlierCollectiveFromEndingIsNamed) {
  const std::string what = failure_of<CollectiveTimeout>(4, [](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> group = c.split({{0, 1}, {2, 3}});
    if (c.rank() == 2) return;
    const Tensor tensor = device.allocate(10, 1);
    Request whole = c.start_all_reduce(tensor, Traffic::gradient);
    if (c.rank() < 2) group->barrier();
    c.wait(whole);
  });
  EXPECT_NE(what.find("missing ranks: 2"), std::string::npos) << what;
}

TEST(SimGroups, DisagreementsNameRanksOfTheLaunch) {
  const std::string what = failure_of<Error>(6, [](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> group = c.split(strided(6, 2));
    group->all_reduce(device.allocate(c.rank() == 5 ? 7 : 6, 1), Traffic::gradient);
  });
  EXPECT_EQ(what,
            "ranks disagree: all_reduce: rank 1 has [6, 1] of 4-byte elements where rank 5 has [7, 1] of 4-byte "
            "elements");
}

TEST(SimGroups, OfThousandsOfRanksAreQuick) {
  Cluster big = round_cluster();
  big.nodes = 512;
  const auto begin = std::chrono::steady_clock::now();
  simulate(request_for(big, 4096), [](Device& device, Communicator& c) {
    const std::unique_ptr<Communicator> near = c.split(blocks(4096, 8)), far = c.split(strided(4096, 8));
    for (int round = 0; round < 4; ++round) {
      near->all_reduce(device.allocate(1000, 1), Traffic::gradient);
      far->all_reduce(device.allocate(1000, 1), Traffic::gradient);
    }
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 60.0);  // generous: shared machines and sanitizers; about a second otherwise
}

}  // namespace
}  // namespace strobe
