#include "harness/placement/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/placement/placement.hpp"

namespace strobe {

std::vector<Run> even_blocks(std::int64_t steps, std::int64_t count) {
  std::vector<Run> blocks;
  for (std::int64_t b = 0; b < count; ++b) blocks.push_back(even_share(steps, count, b));
  return blocks;
}

std::vector<Rank> step_owners(const std::vector<Run>& blocks, int owners) {
  std::vector<Rank> owner_of_step;
  for (const Run& block : blocks) {
    const std::vector<Rank> of_block = contiguous_owners(block.count, owners);
    owner_of_step.insert(owner_of_step.end(), of_block.begin(), of_block.end());
  }
  return owner_of_step;
}

void require_at_least(std::int64_t items, int ranks, const std::string& what, const std::string& strategy) {
  if (items < ranks) {
    throw InvalidRequest("/ranks",
                         fmt::format("strategy {} divides {} {} among the ranks, so it takes at most {} ranks, "
                                     "not {}",
                                     strategy, items, what, items, ranks));
  }
}

void require_steps(const std::vector<Run>& blocks, int owners, const std::string& strategy) {
  const auto fewest =
      std::min_element(blocks.begin(), blocks.end(), [](const Run& a, const Run& b) { return a.count < b.count; });
  if (blocks.size() == 1) return require_at_least(fewest->count, owners, "steps", strategy);
  if (fewest->count >= owners) return;
  throw InvalidRequest("/nb", fmt::format("strategy {} divides the steps of each block among the ranks, but {} blocks "
                                          "leave {} steps to a block, fewer than {} ranks; use fewer blocks",
                                          strategy, blocks.size(), fewest->count, owners));
}

}  // namespace strobe
