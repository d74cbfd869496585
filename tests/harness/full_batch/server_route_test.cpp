// Exchanges through servers, compared with a count by hand of what must cross, and with the exchange from peer to peer,
// bit for bit. Sums on servers are compared with an all-reduce.
#include "harness/full_batch/exchange/server_route.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "backends/cluster.hpp"
#include "harness/full_batch/exchange/exchange.hpp"
#include "harness/full_batch/exchange/server_sums.hpp"
#include "harness/full_batch/exchange/state_handover.hpp"
#include "tests/harness/full_batch/random_halo.hpp"

namespace strobe::server_route_test {
namespace {

using test::RandomHalo;

ListScope with_servers(int servers) { return {ListScope::Kind::all, 0, servers}; }

/// Rows that cross between ranks on the way to servers and from them.
struct Crossing {
  std::int64_t pushed = 0, pulled = 0, pushed_back = 0, pulled_back = 0;
  friend bool operator==(const Crossing&, const Crossing&) = default;
};

/// Counted from what each rank needs: no plan is asked.
Crossing count_by_hand(const RandomHalo& random, int servers) {
  Crossing crossing;
  std::set<std::tuple<Rank, VertexId, Step>> pushed;
  for (Rank reader = 0; reader < random.placement.ranks; ++reader) {
    for (Step t = 0; t < random.placement.steps(); ++t) {
      for (const VertexId v : random.needs.of(reader, t)) {
        const Rank owner = random.placement.owner(v, t);
        const test::Cells& own = random.inputs[owner];
        const auto row = std::find(own.begin(), own.end(), std::pair(t, v)) - own.begin();
        const int server = server_of_row(owner, row, servers);
        const Rank at = static_cast<Rank>(server * random.placement.ranks / servers);
        if (pushed.emplace(owner, v, t).second && at != owner) ++crossing.pushed;
        crossing.pulled += at != reader ? 1 : 0;
        crossing.pushed_back += at != reader ? 1 : 0;
        crossing.pulled_back += at != owner ? 1 : 0;
      }
    }
  }
  return crossing;
}

Crossing planned(const ServerRoute& route) {
  return {route.push.total_rows(), route.pull.total_rows(), route.push_back.total_rows(), route.pull_back.total_rows()};
}

TEST(ServerRoute, RowsCrossAsOftenAsACountByHandSays) {
  for (const int ranks : {2, 3, 4, 7}) {
    for (int servers = 1; servers <= ranks; ++servers) {
      for (const std::uint64_t seed : {1, 2, 3}) {
        const RandomHalo random(ranks, seed);
        const ExchangePlan plan = halo(random.placement, random.needs, with_servers(servers));
        ASSERT_NE(plan.servers, nullptr);
        const Crossing crossing = count_by_hand(random, servers);
        EXPECT_EQ(planned(*plan.servers), crossing) << ranks << " ranks, " << servers << " servers";
        EXPECT_EQ(sent_rows(plan, false), crossing.pushed + crossing.pulled);
        EXPECT_EQ(sent_rows(plan, true), crossing.pushed_back + crossing.pulled_back);
        EXPECT_EQ(sent_rows(random.plan, true), random.plan.total_rows()) << "from peer to peer";
      }
    }
  }
}

TEST(ServerRoute, ReadersGetTheCellsThatTheyNeed) {
  for (const int ranks : {2, 4, 7}) {
    for (int servers = 1; servers <= ranks; ++servers) {
      for (const std::uint64_t seed : {4, 5}) {
        const RandomHalo random(ranks, seed);
        const ExchangePlan plan = halo(random.placement, random.needs, with_servers(servers));
        const std::vector<test::Cells> stores = test::carry(plan.servers->push, random.inputs);
        const std::vector<test::Cells> outputs = test::carry(plan.servers->pull, stores);
        std::set<std::pair<Step, VertexId>> held;
        std::size_t rows = 0;
        for (Rank r = 0; r < ranks; ++r) {
          rows += stores[r].size();
          held.insert(stores[r].begin(), stores[r].end());
          for (std::size_t i = random.inputs[r].size(); i < outputs[r].size(); ++i)
            EXPECT_EQ(outputs[r][i], random.outputs[r][i]) << "halo row " << i << " of rank " << r;
        }
        EXPECT_EQ(rows, held.size()) << "a row is stored once";
        EXPECT_FALSE(held.contains({-1, -1})) << "a place of a store stayed empty";
      }
    }
  }
}

void expect_same_counts(const ExchangePlan& a, const ExchangePlan& b) {
  ASSERT_EQ(a.ranks.size(), b.ranks.size());
  for (std::size_t r = 0; r < a.ranks.size(); ++r) {
    const RankExchange &here = a.ranks[r], &there = b.ranks[r];
    EXPECT_EQ(here.keep_moves, there.keep_moves);
    EXPECT_EQ(here.kept_rows, there.kept_rows);
    for (const auto side : {&RankExchange::send, &RankExchange::receive}) {
      EXPECT_EQ((here.*side).moves, (there.*side).moves);
      EXPECT_EQ((here.*side).in_place, (there.*side).in_place);
      EXPECT_EQ((here.*side).parts(), (there.*side).parts());
    }
  }
}

TEST(ServerRoute, CountsAreTheSameWithoutIndexLists) {
  const RandomHalo random(5, 9);
  const ExchangePlan all = halo(random.placement, random.needs, with_servers(2));
  for (const ListScope& scope : {ListScope{ListScope::Kind::none, 0, 2}, ListScope{ListScope::Kind::one, 1, 2}}) {
    const ExchangePlan plan = halo(random.placement, random.needs, scope);
    for (const bool backward : {false, true}) {
      for (std::size_t i = 0; i < 2; ++i) expect_same_counts(*carriers(plan, backward)[i], *carriers(all, backward)[i]);
    }
    expect_same_counts(plan, all);
    for (Rank r = 0; r < 5; ++r) {
      EXPECT_EQ(plan.of(r).send.list.empty(), !scope.covers(r) || all.of(r).send.list.empty()) << r;
      EXPECT_EQ(plan.servers->pull.of(r).receive.list.empty(),
                !scope.covers(r) || all.servers->pull.of(r).receive.list.empty());
    }
  }
}

TEST(ServerRoute, ServersAreSpreadAndRowsAreSpreadOverThem) {
  EXPECT_EQ(rank_of_server(0, 1, 16), 0);
  EXPECT_EQ(rank_of_server(3, 4, 16), 12);
  EXPECT_EQ(rank_of_server(1, 2, 3), 1);
  std::vector<int> rows(4, 0);
  for (Rank owner = 0; owner < 10; ++owner) {
    for (std::int64_t row = 0; row < 1000; ++row) ++rows[server_of_row(owner, row, 4)];
  }
  for (const int count : rows) EXPECT_NEAR(count, 2500, 5 * 44) << "five standard deviations";
}

struct Machine {
  std::string communicator;
  std::shared_ptr<const Cluster> cluster;
};

std::vector<Machine> machines() {
  std::vector<Machine> all = {{"local", nullptr}};
  for (const bool shared : {true, false}) {
    auto cluster = std::make_shared<Cluster>(*load_cluster("aimos-v100:nodes=2"));
    cluster->shared_host_memory = shared;
    all.push_back({"sim", cluster});
  }
  return all;
}

void launch(const Machine& machine, int ranks, const RankProgram& program) {
  LaunchRequest request;
  request.ranks = ranks;
  request.device.precision = ElementType::f32;
  request.device.cluster = machine.cluster;
  request.make_device = DeviceRegistry::instance().find(machine.cluster == nullptr ? "cpu" : "sim").value;
  CommunicatorRegistry::instance().find(machine.communicator).value.launch(request, program);
}

std::vector<float> drawn(std::int64_t count, std::uint64_t seed, Rank rank) {
  const RandomStream random(seed, random_purpose::test, 5 + static_cast<std::uint32_t>(rank));
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(random.uniform(static_cast<std::uint64_t>(i)) - 0.5) / 3);
  return values;
}

std::vector<float> values_of(Device& device, const Tensor& tensor) {
  std::vector<float> values(tensor.elements());
  if (!values.empty()) device.move_out(tensor, values.data());
  return values;
}

/// The result on one rank of an exchange: its output rows, the gradient of its input rows, and the bytes that it sent.
struct Seen {
  std::vector<float> there, back;
  std::uint64_t sent_bytes = 0;
};

std::vector<Seen> exchanged(const Machine& machine, const ExchangePlan& plan, std::uint64_t seed) {
  std::vector<Seen> seen(plan.rank_count);
  constexpr std::int64_t width = 3;
  launch(machine, plan.rank_count, [&](Device& device, Communicator& communicator) {
    const Exchange exchange(device, plan, Traffic::halo);
    const auto tensor = [&](std::int64_t rows, std::uint64_t of) {
      const std::vector<float> values = drawn(rows * width, of, device.rank());
      return device.move_in(values.data(), rows, width, ElementType::f32);
    };
    Tape tape(device, false);
    const Var y = exchange.apply_everywhere(tape, communicator, Tape::constant(tensor(exchange.input_rows(), seed)));
    Seen& own = seen[device.rank()];
    own.there = values_of(device, y->value);
    own.back =
        values_of(device, exchange.return_gradient(device, communicator, tensor(exchange.output_rows(), seed + 9)));
    for (const Span& span : device.spans().spans()) own.sent_bytes += span.sent_bytes;
  });
  return seen;
}

void expect_same_exchange(const Machine& machine, const ExchangePlan& peers, const ExchangePlan& served,
                          std::uint64_t seed) {
  const std::vector<Seen> a = exchanged(machine, peers, seed), b = exchanged(machine, served, seed);
  std::uint64_t sent = 0;
  for (std::size_t r = 0; r < a.size(); ++r) {
    EXPECT_EQ(a[r].there, b[r].there) << machine.communicator << " rank " << r;
    EXPECT_EQ(a[r].back, b[r].back) << machine.communicator << " rank " << r;
    sent += b[r].sent_bytes;
  }
  EXPECT_EQ(sent, 12u * static_cast<std::uint64_t>(sent_rows(served, false) + sent_rows(served, true)));
}

TEST(ServerRoute, HalosAndTheirGradientsAreThoseFromPeerToPeerBitForBit) {
  for (const Machine& machine : machines()) {
    for (const int ranks : {2, 3, 6}) {
      for (const int servers : {1, 2, ranks}) {
        for (const std::uint64_t seed : {1, 2}) {
          const RandomHalo random(ranks, seed);
          expect_same_exchange(machine, random.plan, halo(random.placement, random.needs, with_servers(servers)), seed);
        }
      }
    }
  }
}

TEST(ServerRoute, StatesOfCutTimelinesAreThoseFromPeerToPeerBitForBit) {
  const int ranks = 4;
  const Placement time = by_time(11, contiguous_owners(8, ranks), ranks);
  for (const Machine& machine : machines()) {
    for (const int servers : {1, 3}) {
      const auto of = [&](int count) {
        return state_handover(nullptr, time, temporal_segments(time), 0, test::remembering_layer(2),
                              with_servers(count));
      };
      const StateHandover peers = of(0), served = of(servers);
      for (std::size_t s = 1; s < peers.plans.size(); ++s) {
        ASSERT_NE(served.plans[s].servers, nullptr);
        expect_same_exchange(machine, peers.plans[s], served.plans[s], 3 + s);
      }
    }
  }
}

TEST(ServerSums, AreThoseOfAnAllReduceBitForBit) {
  for (const Machine& machine : machines()) {
    for (const int ranks : {1, 2, 5}) {
      for (const int servers : {1, 2, ranks}) {
        if (servers > ranks) continue;
        for (const std::int64_t elements : {1, 3, 1000}) {
          std::vector<std::vector<float>> reduced(ranks), served(ranks);
          std::vector<std::uint64_t> sent(ranks, 0);
          launch(machine, ranks, [&](Device& device, Communicator& communicator) {
            const std::size_t rank = device.rank();
            const std::vector<float> values = drawn(elements, 7, device.rank());
            const Tensor a = device.move_in(values.data(), elements, 1, ElementType::f32),
                         b = device.move_in(values.data(), elements, 1, ElementType::f32);
            communicator.all_reduce(a, Traffic::other);
            sum_on_servers(device, communicator, b, servers, Traffic::gradient);
            reduced[rank] = values_of(device, a), served[rank] = values_of(device, b);
            for (const Span& span : device.spans().spans())
              if (span.traffic == Traffic::gradient) sent[rank] += span.sent_bytes;
          });
          EXPECT_EQ(reduced, served) << machine.communicator << ranks << servers << elements;
          std::uint64_t total = 0;
          for (const std::uint64_t bytes : sent) total += bytes;
          EXPECT_EQ(total, 8u * static_cast<std::uint64_t>(elements * (ranks - 1))) << "as much as an all-reduce";
        }
      }
    }
  }
}

}  // namespace
}  // namespace strobe::server_route_test
