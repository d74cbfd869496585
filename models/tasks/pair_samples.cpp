#include "models/tasks/pair_samples.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace strobe {
namespace {

using Pair = std::pair<VertexId, VertexId>;

/// All pairs that may be drawn from `ends`, in ascending order of target and source.
std::vector<Pair> list_non_edges(const Snapshot& snapshot, const PairEnds& ends) {
  std::vector<Pair> pairs;
  for (std::uint64_t t = 0; t < ends.target_count(); ++t) {
    const VertexId v = ends.target(t);
    for (std::uint64_t s = 0; s < ends.source_count(); ++s) {
      const VertexId u = ends.source(s);
      if (u != v && !has_edge(snapshot, u, v)) pairs.emplace_back(u, v);
    }
  }
  return pairs;
}

/// How many of the pool's targets each vertex, as a source, cannot be paired with: itself and its neighbours. [N]
std::vector<std::uint64_t> blocked_targets(const Snapshot& snapshot, const NegativePool& pool) {
  const auto vertices = static_cast<VertexId>(snapshot.row_offsets.size() - 1);
  std::vector<std::uint64_t> blocked(vertices, 0);
  const auto pairs = [&](VertexId source, VertexId target) {
    const std::vector<VertexId>& targets = pool.beside(source).targets;
    return targets.empty() || std::binary_search(targets.begin(), targets.end(), target);
  };
  for (VertexId v = 0; v < vertices; ++v) {
    const std::size_t row = v;
    bool loop = false;
    for (std::int64_t e = snapshot.row_offsets[row]; e < snapshot.row_offsets[row + 1]; ++e) {
      const VertexId u = snapshot.columns[e];
      loop = loop || u == v;
      blocked[u] += pairs(u, v) ? 1u : 0u;
    }
    blocked[row] += !loop && pairs(v, v) ? 1u : 0u;
  }
  return blocked;
}

/// Draws `wanted` of the targets that `source` may be paired with, which are frequent among all.
std::vector<VertexId> try_candidates(const Snapshot& snapshot, const PairEnds& ends, VertexId source,
                                     std::uint64_t wanted, const RandomStream& random) {
  std::vector<VertexId> found;
  std::unordered_set<VertexId> taken;
  for (std::uint64_t i = 0; found.size() < wanted; ++i) {
    const VertexId w = ends.target(random.below(i, ends.target_count()));
    if (w == source || has_edge(snapshot, source, w) || !taken.insert(w).second) continue;
    found.push_back(w);
  }
  return found;
}

/// Chooses `wanted` of `free` by a partial Fisher-Yates shuffle.
std::vector<VertexId> choose_candidates(std::vector<VertexId> free, std::uint64_t wanted, const RandomStream& random) {
  for (std::uint64_t i = 0; i < wanted; ++i) std::swap(free[i], free[i + random.below(i, free.size() - i)]);
  free.resize(wanted);
  return free;
}

std::vector<VertexId> free_targets(const Snapshot& snapshot, const PairEnds& ends, VertexId source) {
  std::vector<VertexId> free;
  for (std::uint64_t i = 0; i < ends.target_count(); ++i) {
    const VertexId w = ends.target(i);
    if (w != source && !has_edge(snapshot, source, w)) free.push_back(w);
  }
  return free;
}

}  // namespace

bool has_edge(const Snapshot& snapshot, VertexId source, VertexId target) {
  const auto begin = snapshot.columns.begin() + snapshot.row_offsets[target];
  const auto end = snapshot.columns.begin() + snapshot.row_offsets[static_cast<std::size_t>(target) + 1];
  return std::binary_search(begin, end, source);
}

NegativePool::NegativePool(std::int64_t vertices, std::vector<VertexId> targets) {
  ends_[0] = {static_cast<std::uint64_t>(vertices), {}, std::move(targets)};
}

NegativePool::NegativePool(const std::vector<std::int8_t>& side) : side_(side) {
  for (PairEnds& ends : ends_) ends.vertices = side.size();
  for (std::size_t v = 0; v < side.size(); ++v) {
    if (side[v] < 0) continue;
    const std::size_t own = side[v] == 1 ? 1 : 0;
    ends_[own].sources.push_back(static_cast<VertexId>(v));
    ends_[1 - own].targets.push_back(static_cast<VertexId>(v));
  }
}

ChosenEdges choose_edges(const Snapshot& snapshot, const Snapshot* before, double theta, const RandomStream& random) {
  ChosenEdges chosen;
  for (std::size_t row = 0; row + 1 < snapshot.row_offsets.size(); ++row) {
    const auto v = static_cast<VertexId>(row);
    for (std::int64_t e = snapshot.row_offsets[row]; e < snapshot.row_offsets[row + 1]; ++e) {
      const VertexId u = snapshot.columns[e];
      if (u == v || (before != nullptr && has_edge(*before, u, v))) continue;
      chosen.pairs.emplace_back(u, v);
    }
  }
  chosen.eligible = static_cast<std::int64_t>(chosen.pairs.size());
  const std::size_t wanted = std::llround(theta * static_cast<double>(chosen.eligible));
  for (std::size_t i = 0; i < wanted; ++i) {
    std::swap(chosen.pairs[i], chosen.pairs[i + random.below(i, chosen.pairs.size() - i)]);
  }
  chosen.pairs.resize(wanted);
  return chosen;
}

std::vector<Pair> draw_negatives(const Snapshot& snapshot, const NegativePool& pool, const ChosenEdges& positives,
                                 const RandomStream& random) {
  const std::vector<Pair>& beside = positives.pairs;
  std::vector<Pair> found;
  // A step so dense that non-edges are rare would be searched long: after this many tries they are listed.
  const std::uint64_t tries = 64 * (beside.size() + 16);
  std::uint64_t i = 0;
  for (; found.size() < beside.size() && i < tries; ++i) {
    const PairEnds& ends = pool.beside(beside[found.size()].first);
    const VertexId u = ends.source(random.below(2 * i, ends.source_count()));
    const VertexId v = ends.target(random.below(2 * i + 1, ends.target_count()));
    if (u != v && !has_edge(snapshot, u, v)) found.emplace_back(u, v);
  }
  std::vector<std::pair<const PairEnds*, std::vector<Pair>>> listed;
  for (; found.size() < beside.size(); ++i) {
    const PairEnds* ends = &pool.beside(beside[found.size()].first);
    auto list = std::find_if(listed.begin(), listed.end(), [&](const auto& known) { return known.first == ends; });
    if (list == listed.end()) list = listed.insert(listed.end(), {ends, list_non_edges(snapshot, *ends)});
    if (list->second.empty()) return {};
    found.push_back(list->second[random.below(2 * i, list->second.size())]);
  }
  return found;
}

std::vector<std::vector<VertexId>> draw_candidates(const Snapshot& snapshot, const NegativePool& pool,
                                                   const std::vector<VertexId>& sources,
                                                   const std::vector<std::uint32_t>& keys, std::uint64_t wanted,
                                                   std::uint64_t seed) {
  const std::vector<std::uint64_t> blocked = blocked_targets(snapshot, pool);
  std::vector<std::size_t> by_source(sources.size());
  std::iota(by_source.begin(), by_source.end(), std::size_t{0});
  std::stable_sort(by_source.begin(), by_source.end(), [&](auto a, auto b) { return sources[a] < sources[b]; });
  std::vector<std::vector<VertexId>> drawn(sources.size());
  std::vector<VertexId> free;  // of the source before, once listed
  VertexId free_of = -1;
  for (const std::size_t i : by_source) {
    const VertexId u = sources[i];
    const PairEnds& ends = pool.beside(u);
    const std::uint64_t all = ends.target_count(), available = all - blocked[u];
    const std::uint64_t count = std::min(wanted, available);
    const RandomStream random(seed, random_purpose::ranking, keys[i]);
    if (4 * (available - count) >= all) {  // at least one try in four finds one
      drawn[i] = try_candidates(snapshot, ends, u, count, random);
      continue;
    }
    if (free_of != u) free = free_targets(snapshot, ends, u);
    free_of = u;
    drawn[i] = choose_candidates(free, count, random);
  }
  return drawn;
}

}  // namespace strobe
