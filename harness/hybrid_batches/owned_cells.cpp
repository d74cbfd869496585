#include "harness/hybrid_batches/owned_cells.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "harness/hybrid_batches/dealt_windows.hpp"

namespace strobe {
namespace {

/// Cells in a window of `window` steps, on average over windows that begin at one of `starts`.
double cells_of_window(const std::vector<std::int64_t>& of_step, std::int64_t window, const Run& starts) {
  std::int64_t sum = 0;
  for (std::int64_t first = starts.first; first < starts.first + starts.count; ++first)
    for (std::int64_t t = first; t < first + window; ++t) sum += of_step[static_cast<std::size_t>(t)];
  return static_cast<double>(sum) / static_cast<double>(starts.count);
}

}  // namespace

std::vector<bool> never_there(const HybridPlan& plan) {
  const Presence* const presence = plan.graph().presence.get();
  if (presence == nullptr) return {};
  std::vector<bool> missing(plan.owner.size(), true);
  for (Step t = 0; t < plan.trained_steps(); ++t) {
    for (std::size_t v = 0; v < missing.size(); ++v)
      if (presence->exists(static_cast<VertexId>(v), t)) missing[v] = false;
  }
  return missing;
}

Owned count_owned(const HybridPlan& plan) {
  const Presence* const presence = plan.graph().presence.get();
  const auto ranks = static_cast<std::size_t>(plan.ranks());
  Owned owned{std::vector<std::int64_t>(ranks, 0), std::vector<std::vector<std::int64_t>>(ranks)};
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const std::vector<VertexId>& group : plan.groups[r])
      owned.vertices[r] += static_cast<std::int64_t>(group.size());
    if (owned.vertices[r] == 0)
      throw InvalidRequest("/presence",
                           fmt::format("rank {} owns no vertex that exists at a training step; take fewer ranks, "
                                       "another partitioner, or presence=all",
                                       r));
    if (presence != nullptr) owned.cells[r].assign(static_cast<std::size_t>(plan.trained_steps()), 0);
  }
  for (Step t = 0; presence != nullptr && t < plan.trained_steps(); ++t) {
    for (std::size_t v = 0; v < plan.owner.size(); ++v) {
      if (!presence->exists(static_cast<VertexId>(v), t)) continue;
      // With cut=steps every rank draws among all vertices.
      for (std::size_t r = 0; r < ranks; ++r)
        if (plan.cuts_steps() || static_cast<std::size_t>(plan.owner[v]) == r) ++owned.cells[r][t];
    }
  }
  return owned;
}

BatchAction action_of(const HybridPlan& plan, const BatchShare& vertices, const BatchShare& snapshots,
                      const Owned& owned) {
  BatchAction action{vertices, snapshots, {}, {}};
  for (std::size_t r = 0; r < owned.vertices.size(); ++r) {
    const std::int64_t own = owned.vertices[r], steps = plan.trained_steps();
    BatchSize size{vertices.of(own, "vertices of a rank", "/strategy/vertices"),
                   snapshots.of(steps, "training steps", "/strategy/snapshots"),
                   vertices.is_share,
                   {}};
    if (plan.cuts_steps()) size.windows = dealt_windows(steps, size.steps, static_cast<Rank>(r), plan.ranks());
    const Run starts = plan.cuts_steps() ? size.windows : Run{0, steps - size.steps + 1};
    const double all = owned.cells[r].empty() ? static_cast<double>(own * size.steps)
                                              : cells_of_window(owned.cells[r], size.steps, starts);
    if (all == 0)
      throw InvalidRequest("/presence", fmt::format("no vertex exists in the windows of rank {}; take fewer ranks, or "
                                                    "presence=all",
                                                    r));
    action.target_cells.push_back(all * static_cast<double>(size.vertices) / static_cast<double>(own));
    action.of_rank.push_back(size);
  }
  return action;
}

}  // namespace strobe
