// The demands of a simulated exchange on lists of peers. The work is counted, so that it cannot grow with the square of
// the ranks again on any machine.
#include <gtest/gtest.h>

#include "sim_support.hpp"

namespace strobe {
namespace {

/// Every rank has two rows for each other one; counts what is asked.
class CountingPeers final : public PeerList {
 public:
  CountingPeers(int ranks, int rank, std::int64_t& questions, std::int64_t& listed)
      : ranks_(ranks), rank_(rank), questions_(questions), listed_(listed) {
    for (const PeerPart& part : entries()) totals_.add(part);
  }
  PeerParts parts() const override {
    ++listed_;
    return entries();
  }

 private:
  PeerParts entries() const {
    PeerParts parts;
    append_part(parts, {0, rank_ == 0 ? 0 : 2, 0, rank_});
    append_part(parts, {2 * rank_, rank_ + 1 == ranks_ ? 0 : 2, rank_ + 1, ranks_ - rank_ - 1});
    return parts;
  }
  std::int64_t do_rows_between(int first, int last) const override {
    ++questions_;
    return 2 * (last - first - (first <= rank_ && rank_ < last ? 1 : 0));
  }

  int ranks_, rank_;
  std::int64_t &questions_, &listed_;
};

TEST(SimSharedPeers, AnExchangeAsksAFewQuestionsOfEachRankAndListsNobody) {
  for (const int ranks : {16, 512, 1024}) {
    Cluster cluster = sim_test::round_cluster();
    cluster.nodes = 128;
    constexpr int exchanges = 3;
    std::int64_t questions = 0, listed = 0;
    const auto program = [&](bool counted) {
      return [&, counted](Device& device, Communicator& c) {
        const SharedPeers peers = std::make_shared<const CountingPeers>(c.size(), c.rank(), questions, listed);
        for (int i = 0; i < exchanges; ++i) {
          if (!counted) {
            sim_test::exchange(device, c, [](int, int) { return 2; });
            continue;
          }
          const Tensor send = device.allocate(2 * (c.size() - 1), 1), receive = device.allocate(2 * (c.size() - 1), 1);
          Request request = c.start_all_to_all_v(send, peers, receive, peers, Traffic::redistribute);
          c.wait(request);
        }
      };
    };
    const LaunchRequest request = sim_test::request_for(cluster, ranks);
    const sim_test::Outcome shared = sim_test::simulate(request, program(true));
    EXPECT_EQ(listed, 0);
    EXPECT_GT(questions, 0);
    EXPECT_LE(questions, 4 * exchanges * ranks);
    EXPECT_EQ(shared.seconds, sim_test::simulate(request, program(false)).seconds);
  }
}

TEST(SimSharedPeers, GatheredRowsAreOneListForAll) {
  const int ranks = 64;
  Cluster cluster = sim_test::round_cluster();
  cluster.nodes = 128;
  std::vector<PeerRows> rows;
  for (std::int64_t q = 0, next = 0; q < ranks; next += q % 3, ++q) rows.push_back({next, q % 3});
  const SharedPeers list = listed_peers(rows);
  const auto program = [&](bool shared) {
    return [&, shared](Device& device, Communicator& c) {
      const Tensor own = device.allocate(c.rank() % 3, 5), all = device.allocate(list->totals().rows, 5);
      if (shared) {
        c.all_gather_v(own, all, list, Traffic::other);
      } else {
        c.all_gather_v(own, all, rows, Traffic::other);
      }
    };
  };
  const LaunchRequest request = sim_test::request_for(cluster, ranks);
  const sim_test::Outcome one = sim_test::simulate(request, program(true)),
                          each = sim_test::simulate(request, program(false));
  EXPECT_EQ(one.seconds, each.seconds);
  EXPECT_GT(one.seconds[0], 0);
}

TEST(SimSharedPeers, ListsThatDifferInOnePairAreDistinguished) {
  // Sums of rows agree on both sides; only who gets them differs.
  const int ranks = 12;
  Cluster cluster = sim_test::round_cluster();
  cluster.nodes = 128;
  const auto program = [&](Device& device, Communicator& c) {
    std::vector<PeerRows> sends(ranks, PeerRows{0, 2}), receives = sends;
    const std::size_t own = c.rank();
    sends[own] = receives[own] = {0, 0};
    if (c.rank() == 3) ++receives[5].count, --receives[7].count;
    if (c.rank() == 5) ++sends[4].count, --sends[3].count;
    if (c.rank() == 7) ++sends[3].count, --sends[4].count;
    const Tensor rows = device.allocate(4, 1);
    Request request = c.start_all_to_all_v(rows, listed_peers(sends), rows, listed_peers(receives), Traffic::halo);
    c.wait(request);
  };
  try {
    sim_test::simulate(sim_test::request_for(cluster, ranks), program);
    FAIL() << "ranks that disagree were not reported";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 5 has 1 rows for rank 3, which expects 3"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace strobe
