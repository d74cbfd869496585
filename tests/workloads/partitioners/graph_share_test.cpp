// Partitioners in parts, with threads as processes: the same owners on all, and those of one process where promised.
// Shares put together compared with the whole graph.
#include "workloads/partitioners/graph_share.hpp"

#include <gtest/gtest.h>

#include <new>
#include <numeric>
#include <set>

#include "core/errors.hpp"
#include "tests/workloads/partitioners/on_holders.hpp"
#include "tests/workloads/partitioners/random_graphs.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"
#include "workloads/partitioners/run_exchanges.hpp"

namespace strobe {
namespace {

using testing_partitioners::on_holders;

TEST(GraphShare, OnePassPlacesTheSameAtEveryNumberOfProcesses) {
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    for (const PreparedGraph& graph : {testing_partitioners::random_graph(30 + 97 * seed, 3, 4, seed),
                                       testing_partitioners::planted_graph(240, 6, 5, 1, seed)}) {
      for (const std::string rule : {"ldg", "fennel"}) {
        const auto& partitioner = PartitionerRegistry::instance().find(rule).value;
        const int parts = 2 + static_cast<int>(seed);
        const std::vector<Rank> alone = partitioner(graph, parts, 1);
        for (const int size : {2, 3, 7, 40}) {
          std::vector<std::vector<Rank>> owner(size);
          on_holders(size, [&](const ShareHolders& holders) {
            owner[holders.rank] = partitioner(graph, parts, 1, 2, nullptr, holders);
          });
          EXPECT_EQ(owner, std::vector(size, alone)) << rule << ", " << size << " processes, seed " << seed;
        }
      }
    }
  }
}

/// Weights of nets times the other parts that they touch.
std::int64_t cut_of(const std::vector<Hypergraph>& shares, const std::vector<Rank>& part) {
  std::int64_t cut = 0;
  for (const Hypergraph& share : shares) {
    for (std::size_t net = 0; net + 1 < share.net_offsets.size(); ++net) {
      std::set<Rank> touched;
      for (std::int64_t pin = share.net_offsets[net]; pin < share.net_offsets[net + 1]; ++pin)
        touched.insert(part[share.pins[pin]]);
      cut += share.net_weights[net] * (static_cast<std::int64_t>(touched.size()) - 1);
    }
  }
  return cut;
}

TEST(GraphShare, SharesAddUpToTheGraph) {
  const PreparedGraph graph = testing_partitioners::random_graph(101, 4, 5, 3);
  const Hypergraph whole = communication_hypergraph(graph);
  for (const int size : {1, 2, 5}) {
    std::int64_t work = 0, edges = 0, nets = 0;
    std::vector<std::int64_t> weights;
    std::vector<Hypergraph> shares(size);
    std::vector<std::int64_t> works(size), edges_of(size);
    on_holders(size, [&](const ShareHolders& holders) {
      const GraphShare share = share_of(graph, holders);
      works[holders.rank] = share.work, edges_of[holders.rank] = share.edges;
      shares[holders.rank] = share.nets();
      const VertexLists lists = share.lists(share.own), those = merged_lists(graph, share.own);
      EXPECT_EQ(lists.offsets, those.offsets);
      EXPECT_EQ(lists.neighbours, those.neighbours);
      EXPECT_EQ(lists.weights, those.weights);
    });
    for (int rank = 0; rank < size; ++rank) {
      work += works[rank], edges += edges_of[rank];
      weights.insert(weights.end(), shares[rank].vertex_weights.begin(), shares[rank].vertex_weights.end());
      for (const std::int64_t weight : shares[rank].net_weights) nets += weight;
    }
    EXPECT_EQ(weights, whole.vertex_weights);
    EXPECT_EQ(work, std::accumulate(weights.begin(), weights.end(), std::int64_t{0}));
    EXPECT_EQ(nets, std::accumulate(whole.net_weights.begin(), whole.net_weights.end(), std::int64_t{0}));
    const VertexLists lists = merged_lists(graph, {0, graph.vertices});
    EXPECT_EQ(2 * edges, std::accumulate(lists.weights.begin(), lists.weights.end(), std::int64_t{0}));
    for (const int parts : {2, 6}) {
      const std::vector<Rank> part = PartitionerRegistry::instance().find("hash").value(graph, parts, 1);
      EXPECT_EQ(cut_of(shares, part), connectivity_minus_one(graph, part, parts)) << size << " shares";
    }
  }
}

TEST(GraphShare, AFailureOfOneProcessIsOneOfAll) {
  std::vector<std::string> said(3);
  on_holders(3, [&](const ShareHolders& holders) {
    holders.together([] {});
    EXPECT_EQ(holders.sums({holders.rank, 1}), (std::vector<std::int64_t>{3, 3}));
    try {
      holders.together([&] {
        if (holders.rank == 1) throw InvalidRequest("/strategy", "too large");
      });
    } catch (const InvalidRequest& error) {
      said[holders.rank] = std::string("own: ") + error.what();
    } catch (const SystemError& error) {
      said[holders.rank] = error.what();
    }
  });
  EXPECT_NE(said[1].find("own: "), std::string::npos) << said[1];
  for (const int other : {0, 2}) {
    EXPECT_NE(said[other].find("rank 1: "), std::string::npos) << said[other];
    EXPECT_NE(said[other].find("too large"), std::string::npos) << said[other];
  }
}

TEST(GraphShare, ExchangesReachThoseTheyAreMeantFor) {
  on_holders(3, [](const ShareHolders& holders) {
    const auto name = [](int from, int to) { return std::to_string(from) + " to " + std::to_string(to); };
    const std::vector<std::string> received = holders.exchange([&] {
      return std::vector{name(holders.rank, 0), std::string(), name(holders.rank, 2)};
    });
    for (int from = 0; from < 3; ++from) EXPECT_EQ(received[from], holders.rank == 1 ? "" : name(from, holders.rank));
    std::string said;
    try {
      holders.exchange([&]() -> std::vector<std::string> {
        if (holders.rank == 2) throw InvalidRequest("/strategy", "too large");
        return {"", "", ""};
      });
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_NE(said.find("too large"), std::string::npos) << said;
    EXPECT_EQ(said.starts_with("rank 2: "), holders.rank != 2) << said;
  });
}

TEST(GraphShare, AProcessWithoutMemoryIsNamed) {
  on_holders(2, [](const ShareHolders& holders) {
    std::string said;
    try {
      holders.together([&] {
        if (holders.rank == 1) throw std::bad_alloc();
      });
    } catch (const std::bad_alloc&) {
      said = "own";
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_EQ(said, holders.rank == 1 ? "own" : "rank 1: its memory is exhausted");
  });
}

/// The error of a process that fails at `place` of work that exchanges twice, or of another one.
std::string error_of_exchanges(const ShareHolders& holders, int failing, int place) {
  try {
    run_exchanges(holders, [&](const ShareHolders& all) {
      for (int at = 0; at < 3; ++at) {
        if (holders.rank == failing && at == place) throw InvalidRequest("/strategy", "too large");
        if (at < 2) all.exchange([&] { return std::vector<std::string>(all.size, std::to_string(at)); });
      }
    });
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(GraphShare, AProcessThatFailsBetweenExchangesStopsAll) {
  for (int place = 0; place < 4; ++place) {
    on_holders(3, [&](const ShareHolders& holders) {
      const std::string said = error_of_exchanges(holders, 2, place);
      EXPECT_EQ(said.find("too large") != std::string::npos, place < 3) << said;
      EXPECT_EQ(said.starts_with("rank 2: "), place < 3 && holders.rank != 2) << said;
      EXPECT_EQ(holders.sums({1}), std::vector<std::int64_t>{3}) << "all meet again";
    });
  }
}

/// A process that failed earlier sends what the others do not expect.
TEST(GraphShare, AProcessThatDoesNotPartitionIsNamed) {
  on_holders(2, [](const ShareHolders& holders) {
    if (holders.rank == 1) {
      holders.gather("\x01it failed");
      return;
    }
    try {
      holders.sums({1});
      ADD_FAILURE() << "the other process sent no sum";
    } catch (const SystemError& error) {
      EXPECT_NE(std::string(error.what()).find("rank 1 ended before"), std::string::npos) << error.what();
    }
  });
}

}  // namespace
}  // namespace strobe
