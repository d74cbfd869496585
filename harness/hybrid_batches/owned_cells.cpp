#include "harness/hybrid_batches/owned_cells.hpp"

#include <fmt/format.h>

#include <numeric>

#include "core/errors.hpp"
#include "harness/hybrid_batches/dealt_windows.hpp"

namespace strobe {
namespace {

/// [steps - window + 1] vertices of the groups that exist at some step of each window, by its first step.
std::vector<std::int64_t> existing_by_window(const BalancedGroups& groups, const Presence& presence, std::int64_t steps,
                                             std::int64_t window) {
  std::vector<std::int64_t> existing(static_cast<std::size_t>(steps - window + 1), 0);
  // The first step from `t` on at which a vertex exists.
  std::vector<std::int64_t> next(static_cast<std::size_t>(presence.vertices()), steps);
  for (std::int64_t t = steps; t-- > 0;) {
    for (const std::vector<VertexId>& group : groups) {
      for (const VertexId v : group) {
        if (presence.exists(v, static_cast<Step>(t))) next[static_cast<std::size_t>(v)] = t;
        const bool in_window = next[static_cast<std::size_t>(v)] < t + window;
        if (t <= steps - window && in_window) ++existing[static_cast<std::size_t>(t)];
      }
    }
  }
  return existing;
}

/// Target cells of a batch, on average over windows that begin at one of `starts`; 0: no vertex exists in any.
/// `existing` vertices can be drawn in each window, of `own` in all. Each is equally likely, so a batch has their share
/// of the window's cells. A window without any gives way to the next.
double mean_target_cells(const BatchSize& size, const Run& starts, const std::vector<std::int64_t>& existing,
                         const std::vector<std::int64_t>& cells, std::int64_t own) {
  double sum = 0, next = 0;
  // The second round gives windows at the end the first ones after them.
  for (std::int64_t i = 2 * starts.count; i-- > 0;) {
    const std::int64_t first = starts.first + i % starts.count, there = existing[static_cast<std::size_t>(first)];
    if (there > 0) {
      const auto begin = cells.begin() + first;
      const auto all = static_cast<double>(std::accumulate(begin, begin + size.steps, std::int64_t{0}));
      next = all * static_cast<double>(drawn_vertices(size, there, own)) / static_cast<double>(there);
    }
    if (i < starts.count) sum += next;
  }
  return sum / static_cast<double>(starts.count);
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
      ++owned.cells[plan.cuts_steps() ? 0 : static_cast<std::size_t>(plan.owner[v])][static_cast<std::size_t>(t)];
    }
  }
  // With cut=steps every rank draws among all vertices.
  for (std::size_t r = 1; plan.cuts_steps() && r < ranks; ++r) owned.cells[r] = owned.cells[0];
  return owned;
}

BatchAction action_of(const HybridPlan& plan, const BatchShare& vertices, const BatchShare& snapshots,
                      const Owned& owned) {
  BatchAction action{vertices, snapshots, {}, {}};
  const Presence* const presence = plan.graph().presence.get();
  std::vector<std::int64_t> existing;
  for (std::size_t r = 0; r < owned.vertices.size(); ++r) {
    const std::int64_t own = owned.vertices[r], steps = plan.trained_steps();
    BatchSize size{vertices.of(own, "vertices of a rank", "/strategy/vertices"),
                   snapshots.of(steps, "training steps", "/strategy/snapshots"),
                   vertices.is_share,
                   {}};
    if (plan.cuts_steps()) size.windows = dealt_windows(steps, size.steps, static_cast<Rank>(r), plan.ranks());
    const Run starts = plan.cuts_steps() ? size.windows : Run{0, steps - size.steps + 1};
    double cells = static_cast<double>(size.vertices * size.steps);
    if (presence != nullptr) {
      // With cut=steps all ranks have the same vertices.
      if (r == 0 || !plan.cuts_steps()) existing = existing_by_window(plan.groups[r], *presence, steps, size.steps);
      cells = mean_target_cells(size, starts, existing, owned.cells[r], own);
    }
    if (cells == 0)
      throw InvalidRequest("/presence", fmt::format("no vertex exists in the windows of rank {}; take fewer ranks, or "
                                                    "presence=all",
                                                    r));
    action.target_cells.push_back(cells);
    action.of_rank.push_back(size);
  }
  return action;
}

}  // namespace strobe
