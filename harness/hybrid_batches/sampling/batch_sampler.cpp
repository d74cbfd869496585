#include "harness/hybrid_batches/sampling/batch_sampler.hpp"

#include <algorithm>
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

}  // namespace

DrawnTargets draw_targets(const BalancedGroups& groups, const BatchSize& size, std::int64_t steps, std::uint64_t seed,
                          Rank rank, std::uint64_t number, std::uint64_t attempt) {
  // Each draw has its own part of the rank's stream: no batch has 2^28 vertices.
  const RandomStream random(seed, random_purpose::hybrid_batch, static_cast<std::uint32_t>(rank));
  std::uint64_t next = (number << 32) + (attempt << 28);
  DrawnTargets drawn;
  drawn.window.count = size.steps;
  const Run windows = size.windows.count > 0 ? size.windows : Run{0, steps - size.steps + 1};
  drawn.window.first =
      static_cast<Step>(windows.first + random.below(next++, static_cast<std::uint64_t>(windows.count)));
  const std::int64_t count = groups.size();
  for (std::int64_t g = 0; g < count; ++g) {
    const std::int64_t share = size.vertices / count + (g < size.vertices % count ? 1 : 0);
    draw_some(groups[g], share, random, next, drawn.vertices);
  }
  std::sort(drawn.vertices.begin(), drawn.vertices.end());
  return drawn;
}

}  // namespace strobe
