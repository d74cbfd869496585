// PSS, partitioning by spatial snapshots (DGC's first baseline): both stages own the same contiguous steps, so features
// never move. A window or an attention reads inputs of earlier steps. Where a timeline is cut, they come as a temporal
// halo, to all ranks at once. The state of a recurrence is handed from rank to rank. Each rank begins its temporal
// stage when the previous rank has ended its own.
#include "core/names_elsewhere.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

struct PssParameters : StaleOptions {};

const FieldTable& pss_fields() {
  static const FieldTable table = with_stale_fields(make_fields<PssParameters>());
  return table;
}

StrategyPlan plan_pss(const StrategyInput& input, const Json& json) {
  const auto parameters = from_json<PssParameters>(pss_fields(), json, "/strategy");
  require_steps(input.blocks, input.ranks, "pss");
  const Placement placement = by_time(input.graph.vertices, step_owners(input.blocks, input.ranks), input.ranks);
  return {placement, placement, input.blocks, staleness_of(parameters), {}};
}

const Register<StrategyTag> pss_registered{{
    "pss",
    "snapshots to ranks in both stages; a temporal halo, or state handed over, at the cuts",
    "DGC, SIGMOD'23, section 2.2 (PSS)",
    pss_fields(),
    {plan_pss, true},
    {},
}};

const RegisterNames pss_elsewhere{"strategy",
                                  {{"pipeline-parallel", "", "nearest is pss, whose ranks hand states on"},
                                   {"pp", "", "nearest is pss, whose ranks hand states on"}}};

}  // namespace
}  // namespace strobe
