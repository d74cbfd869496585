#include "harness/hybrid_batches/dealt_windows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/errors.hpp"
#include "workloads/partitioners/load_aware.hpp"

namespace strobe {
namespace {

/// Rows of matrices of all vertices at step t, and features of those that exist.
std::uint64_t step_bytes(const HybridPlan& plan, std::int64_t t) {
  const auto matrix = [&](const PreparedGraph& graph) {
    const std::size_t value = graph.values64.empty() ? sizeof(float) : sizeof(double);
    const std::int64_t n = graph.vertices;
    const auto entries = static_cast<std::uint64_t>(graph.row_offsets[static_cast<std::size_t>((t + 1) * n)] -
                                                    graph.row_offsets[static_cast<std::size_t>(t * n)]);
    return static_cast<std::uint64_t>(n) * sizeof(std::int64_t) + entries * (sizeof(VertexId) + value);
  };
  const PreparedGraph& inputs = plan.graph();
  const std::size_t value = inputs.features64.empty() ? sizeof(float) : sizeof(double);
  const Presence* const presence = inputs.presence.get();
  const std::int64_t cells = presence == nullptr ? inputs.vertices : presence->count(static_cast<Step>(t));
  std::uint64_t bytes = matrix(inputs) + static_cast<std::uint64_t>(cells * inputs.cell_width()) * value;
  for (const auto& support : plan.full->data.supports) bytes += matrix(*support);
  return bytes;
}

}  // namespace

Run dealt_windows(std::int64_t steps, std::int64_t window, Rank rank, int ranks) {
  if (window * ranks > steps) {
    throw InvalidRequest(
        "/strategy/snapshots",
        fmt::format("windows of {} steps are longer than the {} training steps that each of {} ranks holds; take "
                    "snapshots={} or less, or fewer ranks",
                    window, steps / ranks, ranks, std::max<std::int64_t>(1, steps / ranks)));
  }
  return even_share(steps - window + 1, ranks, rank);
}

Run held_steps(const HybridPlan& plan, Rank rank) {
  std::int64_t first = plan.trained_steps(), end = 0;
  for (const BatchAction& action : plan.actions) {
    const BatchSize& size = action.of_rank[static_cast<std::size_t>(rank)];
    first = std::min(first, size.windows.first);
    end = std::max(end, size.windows.first + size.windows.count - 1 + size.steps);
  }
  return {first, end - first};
}

void share_all_vertices(HybridPlan& plan, const std::vector<double>& load, const std::vector<bool>& missing) {
  const int groups = static_cast<int>(plan.options.groups);
  const std::vector<std::int32_t> group = balanced_groups(load, std::vector<Rank>(load.size(), 0), 1, groups);
  BalancedGroups all(static_cast<std::size_t>(groups));
  for (std::size_t v = 0; v < group.size(); ++v)
    if (missing.empty() || !missing[v]) all[static_cast<std::size_t>(group[v])].push_back(static_cast<VertexId>(v));
  std::erase_if(all, [](const std::vector<VertexId>& some) { return some.empty(); });
  plan.groups.assign(static_cast<std::size_t>(plan.ranks()), all);
}

CacheSizes count_held_steps(const HybridPlan& plan) {
  CacheSizes sizes;
  std::int64_t copies = 0;
  for (Rank rank = 0; rank < plan.ranks(); ++rank) {
    const Run own = even_share(plan.trained_steps(), plan.ranks(), rank), held = held_steps(plan, rank);
    std::uint64_t own_bytes = 0, cached_bytes = 0;
    for (std::int64_t t = own.first; t < own.first + own.count; ++t) own_bytes += step_bytes(plan, t);
    for (std::int64_t t = held.first; t < held.first + held.count; ++t) {
      if (t >= own.first && t < own.first + own.count) continue;
      cached_bytes += step_bytes(plan, t);
      ++copies;
    }
    sizes.own_bytes.push_back(own_bytes);
    sizes.cached_bytes.push_back(cached_bytes);
  }
  sizes.duplication = static_cast<double>(copies) / static_cast<double>(plan.trained_steps());
  return sizes;
}

SampleIndex of_steps(const SampleIndex& index, Run steps) {
  SampleIndex own;
  own.step_offsets.push_back(0);
  for (std::size_t step = 0; step + 1 < index.step_offsets.size(); ++step) {
    const auto t = static_cast<std::int64_t>(step);
    const bool held = t >= steps.first && t < steps.first + steps.count;
    for (std::int64_t i = index.step_offsets[step]; held && i < index.step_offsets[step + 1]; ++i) {
      own.vertex.push_back(index.vertex[static_cast<std::size_t>(i)]);
      own.sample.push_back(index.sample[static_cast<std::size_t>(i)]);
    }
    own.step_offsets.push_back(static_cast<std::int64_t>(own.vertex.size()));
  }
  return own;
}

}  // namespace strobe
