// NCCL's tuning model as far as it concerns a choice between protocols. Returns base latency per call, latency per hop
// and bandwidth of each protocol. The links' latency and bandwidth are the cluster's, taken as those of LL's latency
// and Simple's bandwidth; the tables below say how much later the other protocols are and which share of the bandwidth,
// and at most how much of it, they get:
//   LL     ring half of the bandwidth, tree a third of that (1 / 3.8); at most what the architecture's LL reaches
//   LL128  ring 0.92, tree 7/9 inside a node and 120/128 over several; from Volta on, where GPUs have NVLink
//   Simple all of it; a tree 0.92 of its pattern's 0.85
// Between nodes, LL128 and Simple send in chunks, for which NCCL counts the latency that the network's plug-in tells
// it: once for LL128, twice for Simple. Where a cluster states it, their hops take at least that.
// Not taken over: the tree's correction by size (0.4 to 1.0), limits per channel (they depend on the number of
// channels, which NCCL searches for), NVLS, PAT and CollNet. Invariant: more bandwidth or less latency of a link is
// never slower. Source: NCCL 2.30, src/graph/tuning.cc.
#include "backends/sim/cost/nccl_protocols.hpp"

namespace strobe::sim {
namespace {

constexpr double us = 1e-6, GB = 1e9;
enum Protocol { ll, ll128, simple, protocols };
constexpr const char* names[protocols] = {"LL", "LL128", "Simple"};

constexpr double base_ring[protocols] = {6.6 * us, 14.0 * us, 8.4 * us};
constexpr double base_tree[protocols] = {6.8 * us, 14.0 * us, 8.4 * us};
/// Latency of one hop beyond LL's.
constexpr double nvlink_ring[protocols] = {0, 1.3 * us, 2.8 * us}, nvlink_tree[protocols] = {0, 0.65 * us, 3.4 * us};
constexpr double pci_ring[protocols] = {0, 1.5 * us, 4.7 * us}, pci_tree[protocols] = {0, 0.9 * us, 3.0 * us};
constexpr double net_ring[protocols] = {0, 1.3 * us, 11.3 * us}, net_tree[protocols] = {0, 3.5 * us, 9.0 * us};

/// NCCL's own latency of an LL hop between nodes, which a measured link's latency contains.
constexpr double net_ll_ring = 2.7 * us, net_ll_tree = 5.0 * us;

/// Most that LL reaches on 1, 2 and at least 4 nodes. Turing counts as Volta.
struct Limits {
  const char* architecture;
  double ll_bytes_per_second[3];
};
constexpr Limits limits[] = {{"volta", {39 * GB, 39 * GB, 20.4 * GB}},
                             {"turing", {39 * GB, 39 * GB, 20.4 * GB}},
                             {"ampere", {87.7 * GB, 22.5 * GB, 19 * GB}},
                             {"hopper", {141 * GB, 45 * GB, 35 * GB}},
                             {"blackwell", {282 * GB, 90 * GB, 70 * GB}}};

/// Bandwidth distinguishes NVLink from PCIe: the bound is more than PCIe 4 x16 reaches, less than two NVLinks of any
/// GPU.
bool has_nvlink(const Topology& topology) { return topology.intra.bytes_per_second > 30 * GB; }

double ll_limit(const Topology& topology) {
  const int column = topology.nodes == 1 ? 0 : topology.nodes < 4 ? 1 : 2;
  for (const Limits& row : limits) {
    if (topology.architecture == row.architecture) return row.ll_bytes_per_second[column];
  }
  return std::numeric_limits<double>::infinity();
}

bool offers(const Topology& topology, int protocol) {
  return protocol != ll128 || (has_nvlink(topology) && topology.architecture != "turing");
}

/// Latency of a hop between nodes: `beyond` LL's, which NCCL takes as `own`.
double net_latency(const Topology& topology, int protocol, double beyond, double own) {
  const double link = topology.inter.latency_seconds + beyond;
  if (protocol == ll || topology.nccl_latency_seconds == 0) return link;
  return std::max(link, own + beyond + (protocol == simple ? 2 : 1) * topology.nccl_latency_seconds);
}

/// Two trees share the bytes, and each node is an inner one of one tree. Beyond two nodes a link between nodes carries
/// S up and S down in either direction. On two nodes each tree has its root in another node, so a direction
/// carries half of S up and the other half down: the time of 2 S / B is that of twice the bandwidth there.
double tree_bytes_per_second(const Topology& topology) {
  if (topology.nodes != 2) return topology.ring_bytes_per_second();
  return std::min(topology.inside_bytes_per_second(), 2 * topology.inter.bytes_per_second);
}

ProtocolCost links_only(const Topology& topology) {
  return {"links", 0, topology.intra.latency_seconds, topology.inter.latency_seconds, topology.ring_bytes_per_second()};
}

}  // namespace

double call_seconds(const Topology& topology) { return topology.architecture.empty() ? 0 : base_ring[ll]; }

std::vector<ProtocolCost> ring_protocols(const Topology& topology) {
  if (topology.architecture.empty()) return {links_only(topology)};
  const double links = topology.ring_bytes_per_second(), share[protocols] = {0.5, 0.92, 1.0};
  const double* inside = has_nvlink(topology) ? nvlink_ring : pci_ring;
  std::vector<ProtocolCost> costs;
  for (int p = ll; p < protocols; ++p) {
    if (!offers(topology, p)) continue;
    const double bandwidth = p == ll ? std::min(links * share[p], ll_limit(topology)) : links * share[p];
    costs.push_back({names[p], base_ring[p], topology.intra.latency_seconds + inside[p],
                     net_latency(topology, p, net_ring[p], net_ll_ring), bandwidth});
  }
  return costs;
}

std::vector<ProtocolCost> tree_protocols(const Topology& topology) {
  if (topology.architecture.empty()) return {links_only(topology)};
  const double links = tree_bytes_per_second(topology) * 0.92 * 0.85;
  const double share[protocols] = {1 / 3.8, topology.nodes == 1 ? 7.0 / 9 : 120.0 / 128, 1.0};
  const double* inside = has_nvlink(topology) ? nvlink_tree : pci_tree;
  std::vector<ProtocolCost> costs;
  for (int p = ll; p < protocols; ++p) {
    if (!offers(topology, p)) continue;
    const double bandwidth = p == ll ? std::min(links * share[p], ll_limit(topology)) : links * share[p];
    costs.push_back({names[p], base_tree[p], topology.intra.latency_seconds + inside[p],
                     net_latency(topology, p, net_tree[p], net_ll_tree), bandwidth});
  }
  return costs;
}

}  // namespace strobe::sim
