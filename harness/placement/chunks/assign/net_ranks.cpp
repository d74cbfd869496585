#include "harness/placement/chunks/assign/net_ranks.hpp"

#include <algorithm>
#include <numeric>

namespace strobe {

NetRanks::NetRanks(const CellNets& nets, int ranks, std::vector<Rank>& rank, std::vector<double>& load)
    : nets_(nets),
      rank_(rank),
      load_(load),
      held_(ranks, 0),
      first_(nets.weight.size() + 1, 0),
      count_(nets.weight.size(), 0),
      kept_(ranks, 0) {
  for (const std::uint32_t net : nets.nets) ++first_[net + std::size_t{1}];
  for (std::int64_t& room : first_) room = std::min<std::int64_t>(room, ranks);
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  parts_.resize(first_.back());
  for (std::uint32_t node = 0; node < nets.nodes(); ++node) {
    ++held_[rank[node]];
    for (std::int64_t e = nets.offsets[node]; e < nets.offsets[node + std::size_t{1}]; ++e)
      add(nets.nets[e], rank[node], nets.multiplicity[e]);
  }
}

std::int64_t NetRanks::add(std::uint32_t net, Rank rank, std::int64_t pins) {
  Part* const first = parts_.data() + first_[net];
  Part* part = first;
  while (part != first + count_[net] && part->rank != rank) ++part;
  if (part == first + count_[net]) *part = {rank, 0}, ++count_[net];
  const std::int64_t now = part->pins + pins;
  part->pins = static_cast<std::uint32_t>(now);
  if (now == 0) *part = first[--count_[net]];
  return now;
}

bool NetRanks::at_border(std::uint32_t node) const {
  for (std::int64_t e = nets_.offsets[node]; e < nets_.offsets[node + std::size_t{1}]; ++e)
    if (count_[nets_.nets[e]] > 1) return true;
  return false;
}

NodeMove NetRanks::best_move(std::uint32_t node, double most, bool anywhere) {
  const Rank from = rank_[node];
  if (held_[from] < 2) return {};
  std::fill(kept_.begin(), kept_.end(), std::int64_t{0});
  std::int64_t base = 0;  // of a move to a rank that reads none of the node's nets
  for (std::int64_t e = nets_.offsets[node]; e < nets_.offsets[node + std::size_t{1}]; ++e) {
    const std::uint32_t net = nets_.nets[e];
    const std::int64_t weight = nets_.weight[net];
    base -= weight;
    for (std::int64_t i = first_[net]; i < first_[net] + count_[net]; ++i) {
      if (parts_[i].rank != from) kept_[parts_[i].rank] += weight;
      if (parts_[i].rank == from && parts_[i].pins == nets_.multiplicity[e]) base += weight;
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
