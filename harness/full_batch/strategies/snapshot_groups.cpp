// Snapshot groups (ESDG section 6.5, decisions E21), for snapshots too large for one rank and for fewer steps than
// ranks. Ranks [k g, (k + 1) g) are group k. Steps go to groups, contiguous inside each block. The vertices of a
// snapshot are cut into g lanes. Rank k g + l holds lane l of its group's snapshots, so neighbours in other lanes are a
// halo inside the group. Temporal stages own whole timelines, and there are G = P / g groups. With temporal = lanes,
// the ranks that hold lane l in some group share that lane's vertices, and a redistribution moves (G - 1) / G of the
// rows. With temporal = ranges they own even vertex ranges as under `snapshot`, and (P - 1) / P of the rows move. One
// group is vertex partitioning; groups of one rank are snapshot partitioning.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/placement/model_hops.hpp"
#include "harness/placement/strategy.hpp"
#include "workloads/partitioners/partitioner.hpp"

namespace strobe {
namespace {

struct GroupParameters : StaleOptions {
  std::int64_t group_size = 0;
  std::string partitioner = "range";
  std::string temporal = "lanes";
};

std::vector<std::string> searched_sizes(bool /*sizes_only*/) { return {"2", "4", "8", "16"}; }

/// All partitions of a shape have the same counts. Ranges are the fastest to make.
std::vector<std::string> searched_lanes(bool sizes_only) {
  return sizes_only ? std::vector<std::string>{"range"} : PartitionerRegistry::instance().names();
}

/// One group is vertex partitioning, which is a strategy of its own.
bool several_groups(const Json& parameters, std::int64_t ranks) {
  return ranks > 1 && parameters.value("group_size", std::int64_t{0}) < ranks;
}

const FieldTable& group_fields() {
  static const FieldTable table = with_stale_fields(
      make_fields<GroupParameters>()
          .integer("group_size", &GroupParameters::group_size, "ranks",
                   "ranks that share a snapshot, a divisor of the ranks; 0 takes the smallest, but at least 2, that "
                   "leaves no more groups than steps in a block",
                   0, 1 << 20)
          .searched(searched_sizes)
          .text("partitioner", &GroupParameters::partitioner,
                "how the vertices of a snapshot are divided among a group's ranks; see strobe list partitioners")
          .searched(searched_lanes)
          .choice("temporal", &GroupParameters::temporal, {"lanes", "ranges"},
                  "vertices of a rank in temporal stages: a share of those that it has in spatial stages (lanes), or "
                  "an even range of all"));
  return table;
}

int group_size_of(const GroupParameters& parameters, const StrategyInput& input) {
  const std::int64_t ranks = input.ranks;
  std::int64_t size = parameters.group_size;
  if (size != 0 && ranks % size != 0) {
    throw InvalidRequest("/strategy/group_size", "groups of " + std::to_string(size) + " ranks cannot be made of " +
                                                     std::to_string(ranks) + " ranks");
  }
  if (size == 0) {
    std::int64_t steps = input.graph.steps;
    for (const Run& block : input.blocks) steps = std::min(steps, block.count);
    size = std::min<std::int64_t>(2, ranks);
    while (size < ranks && (ranks % size != 0 || ranks / size > steps)) ++size;
  }
  return static_cast<int>(size);
}

/// Ranks that own the timelines of each lane's vertices: even shares, in order, for the lane's rank in each group.
std::vector<Rank> share_lanes(const std::vector<Rank>& lane, int size, int groups) {
  std::vector<std::vector<std::size_t>> members(size);
  for (std::size_t v = 0; v < lane.size(); ++v) members[lane[v]].push_back(v);
  std::vector<Rank> owner(lane.size());
  for (Rank l = 0; l < size; ++l) {
    const std::vector<std::size_t>& vertices = members[l];
    const std::vector<Rank> group = contiguous_owners(static_cast<std::int64_t>(vertices.size()), groups);
    for (std::size_t i = 0; i < vertices.size(); ++i) owner[vertices[i]] = group[i] * size + l;
  }
  return owner;
}

Placement in_groups(const std::vector<Rank>& lane, int size, const std::vector<Rank>& group_of_step, int ranks,
                    const Run& listed) {
  Placement placement;
  placement.ranks = ranks;
  placement.vertices = static_cast<std::int64_t>(lane.size());
  for (Rank group = 0; group < ranks / size; ++group) {
    if (size == 1) {
      placement.maps.push_back(single_owner_map(placement.vertices, group));
      continue;
    }
    std::vector<Rank> owner(lane);
    for (Rank& rank : owner) rank += group * size;
    placement.maps.push_back(vertex_map(std::move(owner), ranks, listed));
  }
  placement.map_of_step.assign(group_of_step.begin(), group_of_step.end());
  return placement;
}

/// Groups of one rank hold all neighbours of their snapshots, so they have no halo.
void refuse_stale_alone(const Staleness& staleness, int size, int ranks) {
  if (!staleness.reuses() || size > 1 || ranks == 1) return;
  throw InvalidRequest("/strategy/stale",
                       "groups of 1 rank have no halos, whose rows could be stale; use stale=none, or a larger "
                       "group_size");
}

StrategyPlan plan_snapshot_groups(const StrategyInput& input, const Json& json) {
  const auto parameters = from_json<GroupParameters>(group_fields(), json, "/strategy");
  const auto& partitioner = PartitionerRegistry::instance().find(parameters.partitioner, "/strategy/partitioner");
  const int size = group_size_of(parameters, input), groups = input.ranks / size;
  const Staleness staleness = staleness_of(parameters);
  refuse_stale_alone(staleness, size, input.ranks);
  require_steps(input.blocks, groups, "snapshot_groups with group_size=" + std::to_string(size));
  require_at_least(input.graph.vertices, input.ranks, "vertices", "snapshot_groups");
  const std::vector<Rank> lane = partitioner.value(
      input.graph, size, input.seed, model_hops(input.layers, input.graph.first_product_done), nullptr, input.holders);
  const Run listed = size == 1 ? all_owners : listed_owners(input.only_rank);
  const Placement spatial = in_groups(lane, size, step_owners(input.blocks, groups), input.ranks, listed);
  const bool lanes = parameters.temporal == "lanes";
  if (lanes && groups == 1) return {spatial, spatial, input.blocks, staleness, {}};
  std::vector<Rank> timelines =
      lanes ? share_lanes(lane, size, groups) : contiguous_owners(input.graph.vertices, input.ranks);
  return {
      spatial, by_vertex(std::move(timelines), input.graph.steps, input.ranks, listed), input.blocks, staleness, {}};
}

const Register<StrategyTag> snapshot_groups_registered{{
    "snapshot_groups",
    "snapshots to groups of ranks, which share them by vertex; vertices to ranks for the temporal stages",
    "ESDG, SC'21, section 6.5",
    group_fields(),
    {plan_snapshot_groups, true, several_groups},
    {},
}};

}  // namespace
}  // namespace strobe
