// Scotch's multilevel partitioner of the graph merged over steps, over all processes of an MPI world (PT-Scotch), or by
// one process alone (Scotch). Vertices weigh their work; an edge weighs the entries of all steps between its ends.
// Scotch minimises the weight of cut edges and balances work to 3 %; a part that it leaves empty gets a vertex of the
// largest one.
// The same seed and the same number of processes give the same parts: both forms run with one thread for each process
// and in Scotch's deterministic mode. Another number of processes gives other parts.
// Memory of a process: the merged lists of its share, then Scotch.
// Source: Chevalier and Pellegrini, PT-Scotch: a tool for efficient parallel graph ordering, Parallel Computing
// 34(6-8), 2008; Pellegrini, Scotch and PT-Scotch 7.0 user's guides.
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

// These headers need the ones above.
#include <ptscotch.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "core/errors.hpp"
#include "core/names_elsewhere.hpp"
#include "workloads/partitioners/partition_world.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

using Numbers = std::vector<SCOTCH_Num>;

void check(int status, const std::string& what) {
  if (status != 0) throw SystemError("Scotch: " + what + " failed");
}

/// Scotch sums the work and the weights of edges, which have two ends, in its own numbers.
void refuse_large(const GraphShare& share) {
  const std::vector<std::int64_t> sums = share.holders.sums({share.work, 2 * share.edges});
  if (std::max(sums[0], sums[1]) <= std::numeric_limits<SCOTCH_Num>::max()) return;
  throw InvalidRequest(
      "/strategy/partitioner",
      "the graph is too large for this Scotch, which counts in 32 bits; use another partitioner, such as hash");
}

/// A share of the merged graph in Scotch's form.
struct ScotchGraph {
  Numbers offsets, neighbours, edge_weights, vertex_weights;

  explicit ScotchGraph(const VertexLists& lists) {
    for (Numbers* numbers : {&neighbours, &edge_weights, &vertex_weights})
      numbers->reserve(1);  // no null of empty shares
    neighbours.assign(lists.neighbours.begin(), lists.neighbours.end());
    edge_weights.assign(lists.weights.begin(), lists.weights.end());
    offsets.assign(lists.offsets.begin(), lists.offsets.end());
    vertex_weights.assign(lists.work.begin(), lists.work.end());
  }
  SCOTCH_Num vertices() const { return static_cast<SCOTCH_Num>(vertex_weights.size()); }
  SCOTCH_Num edges() const { return offsets.back(); }
};

/// One of Scotch's objects, which begins with `init` and ends with `exit`.
template <class T, auto exit>
struct Scotch {
  T value{};
  Scotch() = default;
  Scotch(const Scotch&) = delete;
  Scotch& operator=(const Scotch&) = delete;
  ~Scotch() { exit(&value); }
};
using Strategy = Scotch<SCOTCH_Strat, SCOTCH_stratExit>;
using WholeGraph = Scotch<SCOTCH_Graph, SCOTCH_graphExit>;
using SharedGraph = Scotch<SCOTCH_Dgraph, SCOTCH_dgraphExit>;

/// A context with a fixed seed and one thread, whose algorithms are deterministic.
struct Context : Scotch<SCOTCH_Context, SCOTCH_contextExit> {
  explicit Context(std::uint64_t seed) {
    check(SCOTCH_contextInit(&value), "starting");
    check(SCOTCH_contextOptionSetNum(&value, SCOTCH_OPTIONNUMDETERMINISTIC, 1), "its deterministic mode");
    SCOTCH_contextRandomSeed(&value, static_cast<SCOTCH_Num>(seed & 0x7fffffff));
    SCOTCH_contextRandomReset(&value);
    check(SCOTCH_contextThreadSpawn(&value, 1, nullptr), "starting its thread");
  }
};

Numbers partition_alone(ScotchGraph& graph, int parts, std::uint64_t seed) {
  Numbers part(graph.vertices());
  Context context(seed);
  WholeGraph own, bound;
  Strategy strategy;
  check(SCOTCH_graphInit(&own.value) | SCOTCH_graphInit(&bound.value) | SCOTCH_stratInit(&strategy.value), "starting");
  check(SCOTCH_graphBuild(&own.value, 0, graph.vertices(), graph.offsets.data(), nullptr, graph.vertex_weights.data(),
                          nullptr, graph.edges(), graph.neighbours.data(), graph.edge_weights.data()),
        "building the graph");
  check(SCOTCH_contextBindGraph(&context.value, &own.value, &bound.value), "binding the graph");
  check(SCOTCH_stratGraphMapBuild(&strategy.value, SCOTCH_STRATBALANCE, parts, allowed_imbalance - 1), "its strategy");
  check(SCOTCH_graphPart(&bound.value, parts, &strategy.value, part.data()), "partitioning");
  return part;
}

Numbers partition_together(ScotchGraph& graph, int parts, std::uint64_t seed, const ShareHolders& holders) {
  Numbers part;
  part.reserve(1);  // Scotch takes null for a caller who wants no parts
  part.resize(graph.vertices());
  const MPI_Comm world = partition_world(holders);
  Context context(seed);
  SharedGraph own, bound;
  Strategy strategy;
  check(
      SCOTCH_dgraphInit(&own.value, world) | SCOTCH_dgraphInit(&bound.value, world) | SCOTCH_stratInit(&strategy.value),
      "starting");
  check(SCOTCH_dgraphBuild(&own.value, 0, graph.vertices(), graph.vertices(), graph.offsets.data(), nullptr,
                           graph.vertex_weights.data(), nullptr, graph.edges(), graph.edges(), graph.neighbours.data(),
                           nullptr, graph.edge_weights.data()),
        "building the graph");
  check(SCOTCH_contextBindDgraph(&context.value, &own.value, &bound.value), "binding the graph");
  check(SCOTCH_stratDgraphMapBuild(&strategy.value, SCOTCH_STRATBALANCE, holders.size, parts, allowed_imbalance - 1),
        "its strategy");
  check(SCOTCH_dgraphPart(&bound.value, parts, &strategy.value, part.data()), "partitioning");
  return part;
}

std::vector<Rank> partition_by_ptscotch(const GraphShare& share, int parts, std::uint64_t seed) {
  const ShareHolders& holders = share.holders;
  refuse_large(share);
  std::unique_ptr<ScotchGraph> graph;
  holders.together([&] { graph = std::make_unique<ScotchGraph>(share.lists(share.own)); });
  Numbers part;
  holders.together([&] {
    part = holders.several() ? partition_together(*graph, parts, seed, holders) : partition_alone(*graph, parts, seed);
  });
  return holders.all_gather(std::vector<Rank>(part.begin(), part.end()));
}

const Register<PartitionerTag> registered{
    {"ptscotch",
     "PT-Scotch on the graph merged over steps, by all MPI processes together; without MPI, Scotch",
     "Chevalier and Pellegrini, Parallel Computing 34(6-8), 2008",
     {},
     {partition_by_ptscotch, "ptscotch"},
     {}}};

const RegisterNames ptscotch_elsewhere{"partitioner", {{"scotch", "ptscotch", "which is Scotch in one process"}}};

}  // namespace
}  // namespace strobe
