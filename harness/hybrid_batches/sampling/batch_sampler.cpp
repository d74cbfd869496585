#include "harness/hybrid_batches/sampling/batch_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/random.hpp"

namespace strobe {
namespace {

/// Draws `count` of `from` without replacement, as the beginning of a shuffle. Only positions that changed are stored.
void draw_some(const std::vector<VertexId>& from, std::int64_t count, const RandomStream& random, std::uint64_t& next,
               std::vector<VertexId>& drawn) {
  if (count == static_cast<std::int64_t>(from.size())) {
    drawn.insert(drawn.end(), from.begin(), from.end());
    return;
  }
  std::unordered_map<std::uint64_t, std::uint64_t> moved;
  const auto at = [&](std::uint64_t i) {
    const auto found = moved.find(i);
    return found == moved.end() ? i : found->second;
  };
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    const std::uint64_t j = i + random.below(next++, from.size() - i), chosen = at(j);
    moved[j] = at(i);
    drawn.push_back(from[chosen]);
  }
}

std::int64_t vertices_in(const BalancedGroups& groups) {
  std::int64_t count = 0;
  for (const std::vector<VertexId>& group : groups) count += static_cast<std::int64_t>(group.size());
  return count;
}

/// The vertices that exist at some step of the window.
BalancedGroups existing_in(const BalancedGroups& groups, const BatchWindow& window, const Presence& presence) {
  BalancedGroups some(groups.size());
  const auto exists = [&](VertexId v) {
    bool any = false;
    // Most vertices that exist in a window exist at its end.
    for (std::int64_t t = window.count; t-- > 0 && !any;) any = presence.exists(v, static_cast<Step>(window.first + t));
    return any;
  };
  for (std::size_t g = 0; g < groups.size(); ++g)
    std::copy_if(groups[g].begin(), groups[g].end(), std::back_inserter(some[g]), exists);
  return some;
}

/// The numbers of vertices that groups give, `count` in all, for an `offset` below the number of vertices. Over uniform
/// offsets all vertices are equally likely (systematic sampling).
std::vector<std::int64_t> shares_of(const BalancedGroups& groups, std::int64_t count, std::int64_t offset) {
  std::vector<std::int64_t> shares;
  const std::int64_t all = vertices_in(groups);
  std::int64_t before = 0, given = 0;
  for (const std::vector<VertexId>& group : groups) {
    before += static_cast<std::int64_t>(group.size());
    const std::int64_t until = (count * before + offset) / all;
    shares.push_back(until - given);
    given = until;
  }
  return shares;
}

}  // namespace

std::int64_t drawn_vertices(const BatchSize& size, std::int64_t existing, std::int64_t all) {
  if (!size.is_share) return std::min(size.vertices, existing);
  const double share = static_cast<double>(size.vertices) / static_cast<double>(all);
  return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(existing)));
}

DrawnTargets draw_targets(const BalancedGroups& groups, const BatchSize& size, std::int64_t steps, std::uint64_t seed,
                          Rank rank, std::uint64_t number, std::uint64_t attempt, const Presence* presence) {
  // Each draw has its own part of the rank's stream: no batch has 2^28 vertices.
  const RandomStream random(seed, random_purpose::hybrid_batch, static_cast<std::uint32_t>(rank));
  std::uint64_t next = (number << 32) + (attempt << 28);
  const std::uint64_t end = next + (std::uint64_t{1} << 28);
  DrawnTargets drawn;
  drawn.window.count = size.steps;
  const Run starts = size.windows.count > 0 ? size.windows : Run{0, steps - size.steps + 1};
  auto place = static_cast<std::int64_t>(random.below(next++, static_cast<std::uint64_t>(starts.count)));
  drawn.window.first = static_cast<Step>(starts.first + place);
  BalancedGroups some;
  for (std::int64_t i = 0; presence != nullptr && i < starts.count && vertices_in(some) == 0; ++i) {
    if (i > 0) place = (place + 1) % starts.count;
    drawn.window.first = static_cast<Step>(starts.first + place);
    some = existing_in(groups, drawn.window, *presence);
  }
  const BalancedGroups& from = presence == nullptr ? groups : some;
  const std::int64_t existing = vertices_in(from);
  const std::int64_t count = presence == nullptr ? size.vertices : drawn_vertices(size, existing, vertices_in(groups));
  const auto offset = static_cast<std::int64_t>(random.below(end - 1, static_cast<std::uint64_t>(existing)));
  const std::vector<std::int64_t> shares = shares_of(from, count, offset);
  for (std::size_t g = 0; g < from.size(); ++g) draw_some(from[g], shares[g], random, next, drawn.vertices);
  std::sort(drawn.vertices.begin(), drawn.vertices.end());
  return drawn;
}

}  // namespace strobe
