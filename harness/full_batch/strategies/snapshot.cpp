// Snapshot partitioning (ESDG section 4.2; DGC calls it PSS-TS). The spatial stages own whole snapshots, contiguous in
// time, and need no communication. The temporal stages own whole timelines of a contiguous vertex range. Each layer
// with a temporal stage redistributes T N F floats (1 - 1/P) in each direction, whatever the graph's structure.
#include "core/names_elsewhere.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

StrategyPlan plan_snapshot(const StrategyInput& input, const Json&) {
  require_steps(input.blocks, input.ranks, "snapshot");
  require_at_least(input.graph.vertices, input.ranks, "vertices", "snapshot");
  return {by_time(input.graph.vertices, step_owners(input.blocks, input.ranks), input.ranks),
          by_vertex(contiguous_owners(input.graph.vertices, input.ranks), input.graph.steps, input.ranks),
          input.blocks,
          {},
          {}};
}

const Register<StrategyTag> snapshot_registered{{
    "snapshot",
    "snapshots to ranks for the spatial stages, vertices to ranks for the temporal stages",
    "ESDG, SC'21, section 4.2; DGC, SIGMOD'23 (PSS-TS)",
    {},
    {plan_snapshot, true},
    {},
}};

const RegisterNames snapshot_elsewhere{
    "strategy",
    {{"pss-ts", "snapshot", ""},
     {"esdg", "snapshot", "ESDG's snapshot partitioning; snapshot_groups is its section 6.5"},
     {"pipad", "", "nearest is snapshot"},
     {"tp", "", "no strategy here divides features or weights"},
     {"mp", "", "no strategy here divides features or weights"},
     {"tensor-parallel", "", "no strategy here divides features or weights"},
     {"model-parallel", "", "no strategy here divides features or weights"}}};

}  // namespace
}  // namespace strobe
