// Counts entries of peer lists as redistribution.cpp and plan_builder.cpp make them. A rank that owns whole steps meets
// the ranks that share steps. Its list has one entry per part of the map's counts. A rank that shares steps meets their
// single owners. Its list has one entry per part of their numbers of steps. So no list is longer than both together.
#include "harness/full_batch/exchange/exchange_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/errors.hpp"
#include "core/system/machine_limits.hpp"
#include "core/units.hpp"
#include "harness/full_batch/exchange/exchange.hpp"
#include "harness/full_batch/exchange/state_handover.hpp"

namespace strobe {
namespace {

constexpr double entry_bytes = sizeof(PeerPart), rank_bytes = sizeof(RankExchange);
/// About the bytes that a pair takes while PlanBuilder makes a plan: rows, moves and places on both sides.
constexpr double pair_bytes = 160;
/// An exchange on one rank: the object, and its sides where the rank moves something.
constexpr double held_bytes = sizeof(Exchange), sides_bytes = 2 * sizeof(ExchangeSide) + sizeof(PeerSide);
/// Bytes of one hand-over on a rank that has no part in it, for both directions of an epoch and an evaluation. They
/// hold records of the tape with their tensors, and spans. An estimate.
constexpr double handover_call_bytes = 1600;

double square(double x) { return x * x; }

/// Parts into which the counts of a map's owners fall.
std::int64_t count_parts(const VertexMap& map) {
  PeerParts parts;
  bool ranges = true;
  for (std::size_t q = 0; q < map.owned.size(); ++q)
    ranges = ranges && map.owned[q].size() == (map.owned_count[q] > 0 ? 1 : 0);
  std::int64_t next = 0;
  for (std::size_t q = 0; q < map.owned.size(); ++q) {
    const std::int64_t count = map.owned_count[q];
    append_part(parts, {ranges && count > 0 ? map.owned[q][0].first : next, count, static_cast<int>(q), 1});
    next += count;
  }
  return static_cast<std::int64_t>(parts.size());
}

/// One placement as its peers see it.
struct Seen {
  double owners = 0;  // ranks with cells
  double parts = 0;   // of the list of any peer
};

Seen seen(const Placement& placement) {
  std::vector<std::int64_t> steps(placement.ranks, 0), first(steps.size(), 0);
  std::vector<bool> owns(steps.size(), false);
  Seen result;
  std::set<std::int32_t> shared;
  for (Step t = 0; t < placement.steps(); ++t) {
    const VertexMap& map = placement.map(t);
    if (map.single >= 0) {
      const std::size_t rank = map.single;
      if (steps[rank]++ == 0) first[rank] = t;
      owns[rank] = true;
    } else if (shared.insert(placement.map_of_step[t]).second) {
      map.for_owners([&owns](Rank rank, std::int64_t) { owns[rank] = true; });
      result.parts += static_cast<double>(count_parts(map)) + 1;
    }
  }
  PeerParts parts;
  for (std::size_t q = 0; q < steps.size(); ++q) append_part(parts, {first[q], steps[q], static_cast<int>(q), 1});
  result.parts += static_cast<double>(parts.size()) + 1;  // a rank's own rows can split a list
  result.owners = static_cast<double>(std::count(owns.begin(), owns.end(), true));
  result.parts = std::min(result.parts, static_cast<double>(placement.ranks));
  return result;
}

double owner_count(const VertexMap& map) {
  double owners = 0;
  map.for_owners([&owners](Rank, std::int64_t) { ++owners; });
  return owners;
}

/// Pairs of ranks that two maps of the same step make.
double pairs_between(const VertexMap& a, const VertexMap& b, std::int64_t vertices) {
  return std::min(owner_count(a) * owner_count(b), static_cast<double>(vertices));
}

/// Bytes that stay, and the most bytes that are there only while one plan is made.
struct TakenBytes {
  double lasting = 0, passing = 0;
  void add(const TakenBytes& other) {
    lasting += other.lasting;
    passing = std::max(passing, other.passing);
  }
};

/// The plans of all ranks of a process, and the exchanges that the ranks hold. Calls share the plans' lists.
TakenBytes of_lists(double ranks, double active, double entries) {
  return {active * (rank_bytes + sides_bytes) + ranks * held_bytes + entries * entry_bytes, 0};
}

/// The same for moves that are collected step by step.
TakenBytes of_pairs(double ranks, double active, double pairs) {
  TakenBytes bytes = of_lists(ranks, active, 2 * pairs);
  bytes.passing = std::max(bytes.passing, pairs * pair_bytes + active * ranks * sizeof(std::int32_t));
  return bytes;
}

TakenBytes of_redistribution(const Placement& from, const Placement& to) {
  const double ranks = from.ranks;
  std::map<std::pair<const VertexMap*, const VertexMap*>, double> pairs;
  bool same = true;
  for (Step t = 0; t < from.steps(); ++t) {
    const VertexMap &a = from.map(t), &b = to.map(t);
    same = same && &a == &b;
    if (a.single < 0 && b.single < 0 && &a != &b) pairs.try_emplace({&a, &b}, pairs_between(a, b, from.vertices));
  }
  const Seen before = seen(from), behind = seen(to);
  const double active = std::max(before.owners, behind.owners);
  if (same) return of_lists(ranks, active, 0);
  if (pairs.empty()) return of_lists(ranks, active, before.owners * behind.parts + behind.owners * before.parts);
  double sum = 0;
  for (const auto& [maps, count] : pairs) sum += count;
  return of_pairs(ranks, active, std::min(sum, square(ranks)));
}

TakenBytes of_halo(const Placement& placement, double limit) {
  double pairs = 0;
  for (const auto& map : placement.maps) pairs += map->single < 0 ? square(owner_count(*map)) : 0;
  const double ranks = placement.ranks;
  return pairs == 0 || limit == 0 ? of_lists(ranks, ranks, 0)
                                  : of_pairs(ranks, ranks, std::min({pairs, limit, square(ranks)}));
}

/// The same with the four exchanges of a route through servers, in which every rank may meet every server.
TakenBytes with_route(TakenBytes bytes, double ranks, int servers) {
  for (int i = 0; servers > 0 && i < 4; ++i) bytes.add(of_pairs(ranks, ranks, ranks * servers));
  return bytes;
}

/// One layer's hand-overs between the maps of a placement and, at the block's border, from those `before`.
TakenBytes of_handovers(const Placement* before, const Placement& placement, int servers) {
  TakenBytes bytes;
  const VertexMap* last = before == nullptr ? nullptr : &before->map(static_cast<Step>(before->steps() - 1));
  for (const TemporalSegment& segment : temporal_segments(placement)) {
    const VertexMap& map = placement.map(static_cast<Step>(segment.first_step));
    if (last != nullptr) {
      const double pairs = pairs_between(*last, map, placement.vertices);
      bytes.add(with_route(of_lists(placement.ranks, owner_count(*last) + owner_count(map), 2 * pairs), placement.ranks,
                           servers));
      bytes.lasting += placement.ranks * handover_call_bytes;
    }
    last = &map;
  }
  return bytes;
}

}  // namespace

double exchange_bytes(const ExchangeDemand& demand) {
  TakenBytes bytes;
  const auto halo_of = [&demand](const Placement& placement) {
    return with_route(of_halo(placement, demand.pairs_limit), placement.ranks, demand.servers);
  };
  std::optional<Placement> spatial_before, temporal_before;
  for (const Run& block : demand.blocks) {
    const std::vector<Step> steps = step_range(block.first, block.count);
    const Placement spatial = of_steps(demand.spatial, steps), temporal = of_steps(demand.temporal, steps);
    const TakenBytes redistribution = of_redistribution(spatial, temporal), halo = halo_of(spatial);
    const auto times = static_cast<int>(demand.overlap > 1 ? 1 + demand.overlap : 1);
    for (int i = 0; i < times; ++i) {
      for (const TakenBytes& one : {redistribution, redistribution, halo}) bytes.add(one);
    }
    bytes.add(halo);  // of the training samples
    for (std::int64_t i = 0; i < demand.step_supports * block.count; ++i) {
      bytes.add(halo_of(of_steps(spatial, {static_cast<Step>(i % block.count)})));
    }
    for (const LayerShape& layer : demand.layers) {
      if (!remembers(layer.need)) continue;
      const auto& before = layer.step_by_step ? spatial_before : temporal_before;
      bytes.add(of_handovers(before ? &*before : nullptr, layer.step_by_step ? spatial : temporal, demand.servers));
    }
    spatial_before = spatial;
    temporal_before = temporal;
  }
  bytes.add(halo_of(demand.spatial));  // of the test samples
  return bytes.lasting + bytes.passing;
}

double exchange_bytes_within_memory(const ExchangeDemand& demand) {
  const double bytes = exchange_bytes(demand), memory = usable_memory_bytes();
  if (bytes <= memory) return bytes;
  throw InvalidRequest(
      "/ranks",
      fmt::format(
          "the exchanges of {} ranks with nb={} take about {} to plan, but only {} are free; take fewer ranks{}",
          demand.spatial.ranks, demand.blocks.size(), format_bytes(bytes), format_bytes(memory),
          demand.blocks.size() > 1 ? " or a smaller nb" : ""));
}

}  // namespace strobe
