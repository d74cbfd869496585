// PSS, partitioning by spatial snapshots (DGC's first baseline): both stages own the same contiguous steps, so features
// never move; where a timeline is cut, what the temporal encoder remembers is handed from rank to rank. Each layer's
// hand-over is a chain: a rank begins its temporal stage when the rank before it has ended its own.
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

StrategyPlan plan_pss(const StrategyInput& input, const Json&) {
  require_steps(input.blocks, input.ranks, "pss");
  const Placement placement = by_time(input.graph.vertices, step_owners(input.blocks, input.ranks), input.ranks);
  return {placement, placement, in_blocks(input.blocks), "exact", {}};
}

const Register<StrategyTag> pss_registered{{
    "pss",
    "snapshots to ranks in both stages; temporal state is handed over at the cuts",
    "DGC, SIGMOD'23, section 2.2 (PSS)",
    {},
    {plan_pss, true},
    {},
}};

}  // namespace
}  // namespace strobe
