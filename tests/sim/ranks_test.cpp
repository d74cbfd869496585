// Communicator sim: determinism, independence of the order in which ranks are scheduled, a thousand ranks, and how it
// ends when ranks fail, stay away or disagree.
#include <gtest/gtest.h>

#include <chrono>

#include "backends/sim/cost/collective_cost.hpp"
#include "sim_support.hpp"

namespace strobe {
namespace {

using sim_test::Outcome;
using sim_test::request_for;
using sim_test::round_cluster;
using sim_test::simulate;
using sim_test::work_of_bytes;

/// Everything at once, with work that differs between ranks.
void mixed_program(Device& device, Communicator& c) {
  const int next = (c.rank() + 1) % c.size(), previous = (c.rank() + c.size() - 1) % c.size();
  for (int round = 0; round < 4; ++round) {
    work_of_bytes(device, 100000 * (1 + (c.rank() * 7 + round * 3) % 11));
    device.move_in(nullptr, 1000 * (1 + c.rank() % 3), 4, ElementType::f32);
    Request under_way =
        sim_test::start_exchange(device, c, [&](int p, int q) { return (p * 31 + q * 17 + round) % 500; });
    Request sum = c.start_all_reduce(device.allocate(1000, 1), Traffic::gradient);
    work_of_bytes(device, 50000 * (1 + c.rank() % 5));
    if (c.size() > 1) {
      Request out = c.start_send(device.allocate(10, 1 + c.rank()), next, round % 2, Traffic::state);
      c.receive(device.allocate(10, 1 + previous), previous, round % 2, Traffic::state);
      c.wait(out);
    }
    c.wait(under_way);
    c.wait(sum);
    c.broadcast(device.allocate(100, 1), round % c.size(), Traffic::state);
    c.barrier();
  }
}

bool same(const Span& a, const Span& b) {
  return a.name == b.name && a.phase == b.phase && a.stream == b.stream && a.traffic == b.traffic &&
         a.blocking == b.blocking && a.begin_seconds == b.begin_seconds && a.end_seconds == b.end_seconds &&
         a.work.flops == b.work.flops && a.work.bytes() == b.work.bytes() && a.sent_bytes == b.sent_bytes &&
         a.transfer_bytes == b.transfer_bytes && a.messages == b.messages;
}

void expect_same(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.seconds, b.seconds);
  for (std::size_t r = 0; r < a.spans.size(); ++r) {
    ASSERT_EQ(a.spans[r].size(), b.spans[r].size()) << "rank " << r;
    for (std::size_t i = 0; i < a.spans[r].size(); ++i) {
      EXPECT_TRUE(same(a.spans[r][i], b.spans[r][i])) << "rank " << r << " span " << i;
    }
  }
}

TEST(SimRanks, EachHasOneDevice) {
  static std::vector<int> made;
  made.clear();
  LaunchRequest request = request_for(round_cluster(), 5);
  request.make_device.make = [](const DeviceRequest& wanted) {
    made.push_back(wanted.rank);
    EXPECT_EQ(wanted.ranks, 5);
    return DeviceRegistry::instance().find("sim").value(wanted);
  };
  simulate(request, [](Device&, Communicator&) {});
  EXPECT_EQ(made, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(SimRanks, GatherAndScatterPayForTheirParts) {
  // Parts of 1, 2, 3 and 4 million bytes.
  const auto parts = [] {
    std::vector<PeerRows> rows;
    for (std::int64_t q = 0, first = 0; q < 4; first += rows.back().count, ++q)
      rows.push_back({first, (q + 1) * 125000});
    return rows;
  };
  for (const CollectiveKind kind : {CollectiveKind::all_gather_v, CollectiveKind::reduce_scatter}) {
    sim::CollectiveLoad load;
    load.kind = kind;
    load.bytes = 10000000;
    load.smallest_part_bytes = 1000000;
    const double expected = sim::collective_seconds(load, sim::make_topology(round_cluster(), 4));
    const Outcome outcome = simulate(request_for(round_cluster(), 4), [&](Device& device, Communicator& c) {
      const Tensor all = device.allocate(1250000, 2), own = device.allocate((c.rank() + 1) * 125000, 2);
      if (kind == CollectiveKind::all_gather_v)
        c.all_gather_v(own, all, parts(), Traffic::state);
      else
        c.reduce_scatter(all, parts(), own, Traffic::state);
    });
    EXPECT_NEAR(outcome.slowest(), expected, 1e-12) << collective_names[static_cast<int>(kind)];
  }
}

TEST(SimRanks, TwoRunsLeaveTheSameSpans) {
  for (const int ranks : {1, 5, 19}) {
    const LaunchRequest request = request_for(round_cluster(), ranks);
    const Outcome first = simulate(request, mixed_program);
    ASSERT_GT(first.spans[0].size(), 20u);
    expect_same(first, simulate(request, mixed_program));
  }
}

TEST(SimRanks, TimesDoNotDependOnTheOrderOfScheduling) {
  for (const int ranks : {2, 3, 8, 19}) {
    const LaunchRequest request = request_for(round_cluster(), ranks);
    expect_same(simulate(request, mixed_program, sim::ScheduleOrder::smallest_clock),
                simulate(request, mixed_program, sim::ScheduleOrder::largest_rank));
  }
}

TEST(SimRanks, HalfTheBandwidthIsNeverFasterForAWholeProgram) {
  const double fast = simulate(request_for(round_cluster(), 19), mixed_program).slowest();
  for (const auto field : {&Cluster::intra_node_bytes_per_second, &Cluster::inter_node_bytes_per_second,
                           &Cluster::host_to_device_bytes_per_second}) {
    Cluster slow = round_cluster();
    slow.*field /= 2;
    EXPECT_GE(simulate(request_for(slow, 19), mixed_program).slowest(), fast);
  }
}

TEST(SimRanks, AThousandRanksAreQuick) {
  Cluster big = round_cluster();
  big.nodes = 128;
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = simulate(request_for(big, 1024), [](Device& device, Communicator& c) {
    for (int round = 0; round < 4; ++round) {
      work_of_bytes(device, 100000 + 100 * c.rank());
      sim_test::exchange(device, c, [](int, int) { return 3; });
      c.all_reduce(device.allocate(1000, 1), Traffic::gradient);
    }
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(outcome.seconds[0], outcome.seconds[1023]);
  // 4 x (the slowest rank's compute, a redistribution over the node's network, a tree all-reduce).
  const double compute = (100000 + 100 * 1023) / 4 * 4 / 1e11;
  const double exchange = 8e-6 + 8.0 * 1016 * 12 / 1e10;
  const double reduce = 2 * (7 * 2e-6 + 7 * 8e-6) + 2 * 4000 / 1e10;
  EXPECT_NEAR(outcome.seconds[0], 4 * (compute + exchange + reduce), 1e-9);
  EXPECT_LT(took.count(), 60.0);  // generous: shared machines and sanitizers; about a second otherwise
}

TEST(SimRanks, ListsWithAndWithoutValuesMoveAndCostTheSame) {
  // Without values equal neighbours in the lists become one part; with values every rank keeps its own.
  const auto program = [](Device& device, Communicator& c) {
    for (const int kinds : {1, 2, 3, 17}) {
      sim_test::exchange(device, c, [&](int p, int q) { return (p * 7 + q / 3) % kinds * 2; });
    }
  };
  for (const int ranks : {2, 5, 17, 40}) {
    const Outcome shapes = simulate(request_for(round_cluster(), ranks), program);
    expect_same(shapes, simulate(request_for(round_cluster(), ranks, true), program));
    EXPECT_GT(shapes.slowest(), 0.0);
  }
}

TEST(SimRanks, ARankThatNeverComesIsNamedAtOnce) {
  LaunchRequest request = request_for(round_cluster(), 5);
  request.timeout_seconds = 3600;
  try {
    simulate(request, [](Device&, Communicator& c) {
      c.barrier();
      if (c.rank() != 2 && c.rank() != 4) c.barrier();
    });
    FAIL() << "the barrier completed without ranks 2 and 4";
  } catch (const CollectiveTimeout& error) {
    EXPECT_EQ(error.missing(), (std::vector<int>{2, 4}));
    EXPECT_NE(std::string(error.what()).find("barrier"), std::string::npos);
  }
}

TEST(SimRanks, TheCauseOfAChainOfWaitsIsNamedNotItsEnd) {
  // Rank 0 waits for rank 1, which waits for a message that rank 2 never sends.
  try {
    simulate(request_for(round_cluster(), 3), [](Device& device, Communicator& c) {
      if (c.rank() == 1) c.receive(device.allocate(1, 1), 2, 9, Traffic::state);
      if (c.rank() != 2) c.receive(device.allocate(1, 1), 1 - c.rank(), 0, Traffic::state);
    });
    FAIL() << "a message that nobody sent arrived";
  } catch (const CollectiveTimeout& error) {
    EXPECT_EQ(error.missing(), std::vector<int>{2});
    EXPECT_NE(std::string(error.what()).find("rank 1 "), std::string::npos) << error.what();
  }
}

TEST(SimRanks, WaitingInACircleEnds) {
  EXPECT_THROW(simulate(request_for(round_cluster(), 3),
                        [](Device& device, Communicator& c) {
                          const Tensor tensor = device.allocate(1, 1);
                          c.receive(tensor, (c.rank() + 1) % 3, 0, Traffic::state);
                          c.send(tensor, (c.rank() + 2) % 3, 0, Traffic::state);
                        }),
               CollectiveTimeout);
}

TEST(SimRanks, DisagreementNamesBothSides) {
  const auto message_of = [](const RankProgram& program) -> std::string {
    try {
      simulate(request_for(round_cluster(), 3), program);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message_of([](Device& device, Communicator& c) {
              if (c.rank() == 1) return c.barrier();
              c.all_reduce(device.allocate(4, 1), Traffic::gradient);
            }),
            "ranks disagree: rank 0 called all_reduce where rank 1 called barrier");
  EXPECT_EQ(message_of([](Device& device, Communicator& c) {
              c.all_reduce(device.allocate(4 + c.rank() / 2, 1), Traffic::gradient);
            }),
            "ranks disagree: all_reduce: rank 0 has [4, 1] of 4-byte elements where rank 2 has [5, 1] of 4-byte "
            "elements");
  EXPECT_EQ(message_of([](Device& device, Communicator& c) {
              c.broadcast(device.allocate(4, 1), c.rank() == 2 ? 1 : 0, Traffic::state);
            }),
            "ranks disagree: broadcast: rank 0 names root 0 where rank 2 names root 1");
  const auto exchange_with = [](int odd_one, std::int64_t sent, std::int64_t expected) {
    return [=](Device& device, Communicator& c) {
      std::vector<PeerRows> out(3), in(3);
      if (c.rank() == odd_one) out[2] = {0, sent};
      if (c.rank() == 2) in[odd_one] = {0, expected};
      c.all_to_all_v(device.allocate(9, 1), out, device.allocate(9, 1), in, Traffic::halo);
    };
  };
  EXPECT_EQ(message_of(exchange_with(1, 3, 4)),
            "ranks disagree: all_to_all_v: rank 1 has 3 rows for rank 2, which expects 4");
  EXPECT_EQ(message_of(exchange_with(0, 0, 4)),
            "ranks disagree: all_to_all_v: rank 0 has 0 rows for rank 2, which expects 4");
  EXPECT_EQ(message_of(exchange_with(1, 3, 0)),
            "ranks disagree: all_to_all_v: rank 1 has 3 rows for rank 2, which expects 0");
}

TEST(SimRanks, AMessageOfAnotherSizeNamesBothSides) {
  try {
    simulate(request_for(round_cluster(), 3), [](Device& device, Communicator& c) {
      if (c.rank() == 1) c.send(device.allocate(4, 1), 2, 0, Traffic::state);
      if (c.rank() == 2) c.receive(device.allocate(5, 1), 1, 0, Traffic::state);
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "ranks disagree: send of 16 bytes by rank 1 meets receive of 20 bytes by rank 2");
  }
}

TEST(SimRanks, TheFirstRealCauseIsRethrownAndPeersAreInformed) {
  int reported = 0;
  try {
    simulate(request_for(round_cluster(), 4), [&](Device& device, Communicator& c) {
      try {
        if (c.rank() == 3) device.allocate(2000000000, 1);
        c.barrier();
      } catch (const PeerFailed& failure) {
        ++reported;
        EXPECT_NE(std::string(failure.what()).find("rank 3 failed"), std::string::npos) << failure.what();
        throw;
      }
    });
    FAIL() << "nobody failed";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.rank(), 3);
  }
  EXPECT_EQ(reported, 3);
}

TEST(SimRanks, ARankMayWaitInsideACatchBlock) {
  const Outcome outcome = simulate(request_for(round_cluster(), 6), [](Device&, Communicator& c) {
    for (int round = 0; round < 3; ++round) {
      const std::string text = "rank " + std::to_string(c.rank()) + " round " + std::to_string(round);
      try {
        throw Error(text);
      } catch (const Error& error) {
        c.barrier();
        EXPECT_EQ(error.what(), text);
        try {
          throw Error("inner " + text);
        } catch (const Error& inner) {
          c.barrier();
          EXPECT_EQ(inner.what(), "inner " + text);
        }
        EXPECT_EQ(error.what(), text);
      }
    }
  });
  EXPECT_GT(outcome.slowest(), 0.0);
}

TEST(SimRanks, AreRefusedWhenTheyDoNotFitOrTheirDevicesAreReal) {
  EXPECT_THROW(simulate(request_for(round_cluster(), 129), mixed_program), InvalidRequest);
  EXPECT_THROW(simulate(request_for(round_cluster(), 0), mixed_program), InvalidRequest);
  LaunchRequest request = request_for(round_cluster(), 2);
  request.make_device = DeviceRegistry::instance().find("cpu").value;
  EXPECT_THROW(simulate(request, mixed_program), InvalidRequest);
  request.device.cluster = nullptr;
  EXPECT_THROW(simulate(request, mixed_program), InvalidRequest);
}

}  // namespace
}  // namespace strobe
