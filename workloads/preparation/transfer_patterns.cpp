// Draws laundering patterns; the header describes the result. Cost: O(links log largest). Source: the alert patterns of
// github.com/IBM/AMLSim (fan_in, fan_out, cycle); spans and bursts as seen in its sample 20K_fanin200cycle200.
#include "workloads/preparation/transfer_patterns.hpp"

#include <algorithm>
#include <utility>

namespace strobe {
namespace {

using PatternEnds = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// (source, target) of a pattern's links as positions among its `size` members.
PatternEnds pattern_ends(const PatternOptions& options, std::int64_t size, double uniform) {
  const double kind = uniform * (options.fan_in + options.fan_out + options.cycle);
  PatternEnds ends;
  if (kind < options.fan_in) {
    for (std::int64_t i = 1; i < size; ++i) ends.emplace_back(i, 0);
  } else if (kind < options.fan_in + options.fan_out) {
    for (std::int64_t i = 1; i < size; ++i) ends.emplace_back(0, i);
  } else {
    for (std::int64_t i = 0; i < size; ++i) ends.emplace_back(i, (i + 1) % size);
  }
  return ends;
}

}  // namespace

TransferPatterns draw_transfer_patterns(const PatternOptions& options, const RandomStream& random) {
  const std::uint64_t span = std::min(options.span, options.steps);
  const std::uint64_t sizes = options.largest - options.smallest + 1;
  TransferPatterns result;
  result.accounts.resize(options.members, 0);
  std::int64_t first = 0;
  for (std::uint64_t number = 0; first < options.members; ++number) {
    std::uint64_t next = number << 32;
    std::int64_t size = options.smallest + static_cast<std::int64_t>(random.below(next++, sizes));
    if (options.members - first - size < options.smallest) size = options.members - first;
    const PatternEnds ends = pattern_ends(options, size, random.uniform(next++));
    const std::uint64_t begin = random.below(next++, static_cast<std::uint64_t>(options.steps) - span + 1);
    std::vector<std::uint64_t> steps;
    for (std::size_t i = 0; i < ends.size(); ++i) steps.push_back(begin + random.below(next++, span));
    std::sort(steps.begin(), steps.end());
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const std::uint64_t transfers = 1 + random.below(next++, static_cast<std::uint64_t>(options.burst));
      result.links.push_back({static_cast<std::int64_t>(steps[i]), static_cast<VertexId>(first + ends[i].first),
                              static_cast<VertexId>(first + ends[i].second), transfers});
      result.transfers += static_cast<std::int64_t>(transfers);
    }
    first += size;
  }
  return result;
}

}  // namespace strobe
