// Builds the nets of one step by transposing it with a counting sort. Looks each net up among the kept ones by a hash
// of its pins. Nets of equal hash are compared pin by pin, so merging never changes the cut.
#include "workloads/partitioners/hypergraph.hpp"

#include <algorithm>
#include <span>

#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

using Pins = std::span<const VertexId>;

std::uint64_t hash_of(Pins pins) {
  std::uint64_t hash = 0x9E3779B97F4A7C15u + pins.size();
  for (const VertexId pin : pins) {
    hash = (hash ^ static_cast<std::uint64_t>(pin)) * 0xFF51AFD7ED558CCDu;
    hash ^= hash >> 32;
  }
  return hash;
}

/// Keeps distinct nets and counts how often each was added: an open-addressed table of net numbers.
class NetSet {
 public:
  explicit NetSet(Hypergraph& kept) : kept_(kept), slots_(1024, -1) { kept_.net_offsets = {0}; }

  void add(Pins pins) {
    const std::uint64_t hash = hash_of(pins);
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot] >= 0; slot = (slot + 1) & (slots_.size() - 1)) {
      const std::size_t net = slots_[slot];
      if (hashes_[net] != hash || !std::ranges::equal(pins_of(net), pins)) continue;
      ++kept_.net_weights[net];
      return;
    }
    slots_[slot] = kept_.nets();
    hashes_.push_back(hash);
    kept_.net_weights.push_back(1);
    kept_.pins.insert(kept_.pins.end(), pins.begin(), pins.end());
    kept_.net_offsets.push_back(static_cast<std::int64_t>(kept_.pins.size()));
    if (hashes_.size() * 2 > slots_.size()) grow();
  }

 private:
  Pins pins_of(std::size_t net) const {
    const std::size_t first = kept_.net_offsets[net];
    return {kept_.pins.data() + first, static_cast<std::size_t>(kept_.net_offsets[net + 1]) - first};
  }

  void grow() {
    slots_.assign(slots_.size() * 2, -1);
    for (std::size_t net = 0; net < hashes_.size(); ++net) {
      std::size_t slot = hashes_[net] & (slots_.size() - 1);
      while (slots_[slot] >= 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<std::int64_t>(net);
    }
  }

  Hypergraph& kept_;
  std::vector<std::uint64_t> hashes_;  // [nets]
  std::vector<std::int64_t> slots_;    // a power of two; -1 where free
};

/// The nets of own vertices at step t one after the other: `offsets` is [own + 1]. Pins ascend, because rows are
/// visited in order.
void nets_of_step(const RowShare& rows, Step t, std::vector<std::int64_t>& offsets, std::vector<VertexId>& pins) {
  // Calls visit(place of u, v) for every reader v of u, and once for u itself in the order of v.
  const auto for_pins = [&](const auto& visit) {
    const auto count = static_cast<std::uint64_t>(rows.own.count);
    const auto visit_own = [&](VertexId u, VertexId v) {
      const auto place = static_cast<std::uint64_t>(u - rows.own.first);
      if (place < count) visit(place, v);
    };
    rows.for_readings(t, visit_own, [&](VertexId v) { visit_own(v, v); });
  };
  std::fill(offsets.begin(), offsets.end(), 0);
  for_pins([&](std::uint64_t u, VertexId) { ++offsets[u + 1]; });
  for (std::size_t u = 1; u < offsets.size(); ++u) offsets[u] += offsets[u - 1];
  pins.resize(offsets.back());
  std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
  for_pins([&](std::uint64_t u, VertexId v) { pins[next[u]++] = v; });
}

}  // namespace

Hypergraph communication_hypergraph(const PreparedGraph& graph) {
  return communication_hypergraph(RowShare{graph, {0, graph.vertices}, {}});
}

Hypergraph communication_hypergraph(const RowShare& rows) {
  const Run vertices = rows.own;
  Hypergraph hypergraph;
  hypergraph.vertices = vertices;
  hypergraph.vertex_weights = vertex_work(rows.graph, vertices);
  NetSet nets(hypergraph);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(vertices.count) + 1);
  std::vector<VertexId> pins;
  for (Step t = 0; t < rows.graph.steps; ++t) {
    nets_of_step(rows, t, offsets, pins);
    for (std::size_t u = 0; u + 1 < offsets.size(); ++u) {
      const auto first = static_cast<std::size_t>(offsets[u]), end = static_cast<std::size_t>(offsets[u + 1]);
      if (end - first > 1) nets.add({pins.data() + first, end - first});
    }
  }
  return hypergraph;
}

}  // namespace strobe
