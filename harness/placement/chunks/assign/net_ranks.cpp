#include "harness/placement/chunks/assign/net_ranks.hpp"

#include <algorithm>
#include <span>

namespace strobe {

NetRanks::NetRanks(const CellNets& nets, int ranks, std::span<Rank> rank, std::span<double> load)
    : nets_(nets),
      rank_(rank),
      load_(load),
      held_(ranks, 0),
      met_(nets.weight.size(), reading_bound()),
      kept_(ranks, 0) {
  GrowingColumn<std::int64_t> pins(met_.size(), reading_bound());
  for (const std::uint32_t net : nets.nets) ++pins[net];
  std::int64_t first = 0;
  for (std::size_t net = 0; net < met_.size(); ++net) {
    met_[net] = {nets.weight[net], first, 0};
    first += std::min<std::int64_t>(pins[net], ranks);
  }
  parts_.resize(first);
  for (std::uint32_t node = 0; node < nets.nodes(); ++node) {
    ++held_[rank[node]];
    for (std::int64_t e = nets.offsets[node]; e < nets.offsets[node + std::size_t{1}]; ++e)
      add(nets.nets[e], rank[node], 1);
  }
}

std::uint32_t NetRanks::add(std::uint32_t net, Rank rank, int pins) {
  std::uint32_t& count = met_[net].count;
  Part* const first = parts_.data() + met_[net].first;
  Part* part = first;
  while (part != first + count && part->rank != rank) ++part;
  if (part == first + count) *part = {rank, 0}, ++count;
  const std::uint32_t now = part->pins + pins;
  part->pins = now;
  if (now == 0) *part = first[--count];
  return now;
}

bool NetRanks::at_border(std::uint32_t node) const {
  for (std::int64_t e = nets_.offsets[node]; e < nets_.offsets[node + std::size_t{1}]; ++e)
    if (met_[nets_.nets[e]].count > 1) return true;
  return false;
}

NodeMove NetRanks::best_move(std::uint32_t node, double most, bool anywhere) {
  const Rank from = rank_[node];
  if (held_[from] < 2) return {};
  std::fill(kept_.begin(), kept_.end(), std::int64_t{0});
  std::int64_t base = 0;  // of a move to a rank that reads none of the node's nets
  for (std::int64_t e = nets_.offsets[node]; e < nets_.offsets[node + std::size_t{1}]; ++e) {
    const Net& net = met_[nets_.nets[e]];
    base -= net.weight;
    if (net.count == 1) continue;  // the other pins stay
    for (const Part& part : std::span(parts_.data() + net.first, net.count)) {
      if (part.rank != from) kept_[part.rank] += net.weight;
      if (part.rank == from && part.pins == 1) base += net.weight;
    }
  }
  NodeMove best;
  for (Rank to = 0; to < static_cast<Rank>(kept_.size()); ++to) {
    if (to == from || (kept_[to] == 0 && !anywhere) || load_[to] + nets_.load[node] > most) continue;
    const std::int64_t gain = base + kept_[to];
    if (best.to >= 0 && (gain < best.gain || (gain == best.gain && load_[to] >= load_[best.to]))) continue;
    best = {gain, to};
  }
  return best;
}

}  // namespace strobe
