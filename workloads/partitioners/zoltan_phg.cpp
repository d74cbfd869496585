// Zoltan's multilevel hypergraph partitioner PHG on the hypergraph of ESDG section 4.1, merged over steps. It minimises
// the sum over nets of weight (parts - 1), which is exactly the number of rows that ranks send in one spatial pass.
// Vertex weights are their work, so parts are balanced in work. Returns: parts within the same imbalance (3 %) that
// METIS allows, where the graph lets them be; a part that Zoltan leaves empty gets a vertex of the largest one. The
// same seed gives the same parts. For `hypergraph`, every process partitions the whole hypergraph by itself
// (MPI_COMM_SELF), as every process plans by itself. For `hypergraph_parallel`, the processes of an MPI world do it
// together: each holds the nets of its share of the vertices, and its answer depends on their number.
// Cost: O(nnz) expected to build the hypergraph, then Zoltan: near-linear in its pins (bench/partition.cpp).
// Source: Devine, Boman, Heaphy, Bisseling, Catalyurek, Parallel hypergraph partitioning for scientific computing,
// IPDPS 2006.
#include <zoltan.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

#include "core/names_elsewhere.hpp"
#include "workloads/partitioners/hypergraph.hpp"
#include "workloads/partitioners/partition_world.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

struct Destroy {
  void operator()(Zoltan_Struct* zoltan) const { Zoltan_Destroy(&zoltan); }
};
using Zoltan = std::unique_ptr<Zoltan_Struct, Destroy>;

void check(int status, const std::string& what) {
  if (status == ZOLTAN_MEMERR) throw SystemError("Zoltan: " + what + " ran out of memory");
  if (status != ZOLTAN_OK && status != ZOLTAN_WARN) {
    throw SystemError("Zoltan: " + what + " failed with status " + std::to_string(status));
  }
}

/// The hypergraph of this process, or its share of one, and the number of nets of processes before it.
struct ZoltanInput {
  Hypergraph hypergraph;
  std::int64_t first_net = 0;
};

// Zoltan asks for its input by calling back; `data` is a ZoltanInput.
const Hypergraph& input(void* data) { return static_cast<const ZoltanInput*>(data)->hypergraph; }

ZOLTAN_ID_TYPE net_id(void* data, int net) {
  return static_cast<ZOLTAN_ID_TYPE>(static_cast<const ZoltanInput*>(data)->first_net + net);
}

int vertex_count(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(input(data).vertices.count);
}

void list_vertices(void* data, int, int, ZOLTAN_ID_PTR ids, ZOLTAN_ID_PTR local, int, float* weights, int* error) {
  const std::vector<std::int64_t>& work = input(data).vertex_weights;
  for (std::size_t v = 0; v < work.size(); ++v) {
    local[v] = static_cast<ZOLTAN_ID_TYPE>(v);
    ids[v] = static_cast<ZOLTAN_ID_TYPE>(input(data).vertices.first) + local[v];
    weights[v] = static_cast<float>(work[v]);
  }
  *error = ZOLTAN_OK;
}

void size_nets(void* data, int* nets, int* pins, int* format, int* error) {
  *nets = static_cast<int>(input(data).nets());
  *pins = static_cast<int>(input(data).pins.size());
  *format = ZOLTAN_COMPRESSED_EDGE;
  *error = ZOLTAN_OK;
}

void list_nets(void* data, int, int nets, int, int, ZOLTAN_ID_PTR ids, int* first, ZOLTAN_ID_PTR pins, int* error) {
  const Hypergraph& hypergraph = input(data);
  for (int net = 0; net < nets; ++net) {
    ids[net] = net_id(data, net);
    first[net] = static_cast<int>(hypergraph.net_offsets[net]);
  }
  std::transform(hypergraph.pins.begin(), hypergraph.pins.end(), pins,
                 [](VertexId pin) { return static_cast<ZOLTAN_ID_TYPE>(pin); });
  *error = ZOLTAN_OK;
}

void size_weights(void* data, int* nets, int* error) {
  *nets = static_cast<int>(input(data).nets());
  *error = ZOLTAN_OK;
}

void list_weights(void* data, int, int, int nets, int, ZOLTAN_ID_PTR ids, ZOLTAN_ID_PTR local, float* weights,
                  int* error) {
  for (int net = 0; net < nets; ++net) {
    ids[net] = net_id(data, net);
    local[net] = static_cast<ZOLTAN_ID_TYPE>(net);
    weights[net] = static_cast<float>(input(data).net_weights[net]);
  }
  *error = ZOLTAN_OK;
}

Zoltan make_zoltan(ZoltanInput& from, int parts, std::uint64_t seed, MPI_Comm world) {
  float version = 0;
  check(Zoltan_Initialize(0, nullptr, &version), "starting");
  Zoltan zoltan(Zoltan_Create(world));
  if (!zoltan) throw SystemError("Zoltan: no memory for its state");
  const std::pair<const char*, std::string> parameters[] = {
      {"DEBUG_LEVEL", "0"},
      {"LB_METHOD", "HYPERGRAPH"},
      {"HYPERGRAPH_PACKAGE", "PHG"},
      {"LB_APPROACH", "PARTITION"},
      {"PHG_CUT_OBJECTIVE", "CONNECTIVITY"},
      {"PHG_EDGE_SIZE_THRESHOLD", "1.0"},  // nets of hubs count too; the default ignores nets of over N / 4 pins
      {"IMBALANCE_TOL", "1.03"},
      {"NUM_GLOBAL_PARTS", std::to_string(parts)},
      {"SEED", std::to_string(seed & 0x7fffffff)},
      {"NUM_GID_ENTRIES", "1"},
      {"NUM_LID_ENTRIES", "1"},
      {"OBJ_WEIGHT_DIM", "1"},
      {"EDGE_WEIGHT_DIM", "1"},
      {"RETURN_LISTS", "PARTS"},
  };
  for (const auto& [name, value] : parameters) check(Zoltan_Set_Param(zoltan.get(), name, value.c_str()), name);
  check(Zoltan_Set_Num_Obj_Fn(zoltan.get(), vertex_count, &from), "asking for vertices");
  check(Zoltan_Set_Obj_List_Fn(zoltan.get(), list_vertices, &from), "asking for vertices");
  check(Zoltan_Set_HG_Size_CS_Fn(zoltan.get(), size_nets, &from), "asking for nets");
  check(Zoltan_Set_HG_CS_Fn(zoltan.get(), list_nets, &from), "asking for nets");
  check(Zoltan_Set_HG_Size_Edge_Wts_Fn(zoltan.get(), size_weights, &from), "asking for weights");
  check(Zoltan_Set_HG_Edge_Wts_Fn(zoltan.get(), list_weights, &from), "asking for weights");
  return zoltan;
}

/// One direction of what Zoltan returns; freed by Zoltan.
struct PartLists {
  ZOLTAN_ID_PTR ids = nullptr, local = nullptr;
  int *ranks = nullptr, *parts = nullptr;
  int count = 0;
  PartLists() = default;
  PartLists(const PartLists&) = delete;
  PartLists& operator=(const PartLists&) = delete;
  ~PartLists() { Zoltan_LB_Free_Part(&ids, &local, &ranks, &parts); }
};

/// Parts of the vertices of this process.
std::vector<Rank> parts_of(Zoltan_Struct* zoltan, Run vertices) {
  int changed = 0, global_entries = 0, local_entries = 0;
  PartLists in, out;
  check(Zoltan_LB_Partition(zoltan, &changed, &global_entries, &local_entries, &in.count, &in.ids, &in.local, &in.ranks,
                            &in.parts, &out.count, &out.ids, &out.local, &out.ranks, &out.parts),
        "partitioning");
  if (out.count != vertices.count)
    throw SystemError("Zoltan: it returned parts for another number of vertices than it was given");
  std::vector<Rank> part(vertices.count);
  for (int i = 0; i < out.count; ++i) part.at(out.ids[i] - static_cast<ZOLTAN_ID_TYPE>(vertices.first)) = out.parts[i];
  return part;
}

void refuse_large(const ShareHolders& holders, std::int64_t pins, std::int64_t nets) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const std::vector<std::int64_t> sums = holders.sums({nets, pins > most ? 1 : 0});
  if (sums[0] <= most && sums[1] == 0) return;
  throw InvalidRequest(
      "/strategy/partitioner",
      "the hypergraph is too large for Zoltan, which counts in 32 bits; use another partitioner, such as hash");
}

/// Zoltan fails on a process without nets. A net of one vertex is never cut.
void add_uncut_net(Hypergraph& hypergraph) {
  hypergraph.pins.push_back(0);
  hypergraph.net_offsets.push_back(1);
  hypergraph.net_weights.push_back(1);
}

/// Nets of the processes before this one.
std::int64_t nets_before(const ShareHolders& holders, std::int64_t nets) {
  std::vector<std::int64_t> before(holders.size);
  for (int later = holders.rank + 1; later < holders.size; ++later) before[later] = nets;
  return holders.sums(before)[holders.rank];
}

std::vector<Rank> partition_by_nets(const GraphShare& share, int parts, std::uint64_t seed) {
  const ShareHolders& holders = share.holders;
  if (share.vertices < holders.size) {  // Zoltan fails on a process without vertices
    throw InvalidRequest("/strategy/partitioner",
                         "hypergraph_parallel needs at least one vertex for each process; use hypergraph");
  }
  ZoltanInput from;
  holders.together([&] { from.hypergraph = share.nets(); });
  if (holders.several() && from.hypergraph.nets() == 0) add_uncut_net(from.hypergraph);
  refuse_large(holders, from.hypergraph.net_offsets.back(), from.hypergraph.nets());
  from.first_net = nets_before(holders, from.hypergraph.nets());
  std::vector<Rank> part;
  holders.together([&] {
    const Zoltan zoltan = make_zoltan(from, parts, seed, partition_world(holders));
    part = parts_of(zoltan.get(), share.own);
  });
  return holders.all_gather(part);
}

/// One process alone, however many there are.
std::vector<Rank> partition_by_hypergraph(const PreparedGraph& graph, int parts, std::uint64_t seed) {
  return PartitionerTag::Value(partition_by_nets, "hypergraph")(graph, parts, seed);
}

const Register<PartitionerTag> registered{
    {"hypergraph",
     "Zoltan PHG on the hypergraph merged over steps: minimises the rows that are sent",
     "ESDG, SC'21, section 4.1; Devine et al., IPDPS 2006",
     {},
     partition_by_hypergraph,
     {}}};

const Register<PartitionerTag> parallel_registered{
    {"hypergraph_parallel",
     "hypergraph by all MPI processes together, each with the nets of its share of the vertices",
     "ESDG, SC'21, section 4.1; Devine et al., IPDPS 2006",
     {},
     {partition_by_nets, "hypergraph_parallel"},
     {}}};

const RegisterNames zoltan_phg_elsewhere{
    "partitioner", {{"zoltan", "hypergraph", ""}, {"kahypar", "hypergraph", "which Zoltan partitions here"}}};

}  // namespace
}  // namespace strobe
