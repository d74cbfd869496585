// PSS, partitioning by spatial snapshots (DGC's first baseline): both stages own the same whole steps, so features
// never move. A window or an attention reads inputs of earlier steps. Where a timeline is cut, they come as a temporal
// halo, to all ranks at once. The state of a recurrence is handed from rank to rank. Each rank begins its temporal
// stage when the previous rank has ended its own. With deal=cyclic a rank has every P-th step, and waits at each.
#include "core/names_elsewhere.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

struct PssParameters : StaleOptions, CutOptions {
  std::string deal = "contiguous";
};

const FieldTable& pss_fields() {
  static const FieldTable table = with_stale_fields(with_states_field(make_fields<PssParameters>().choice(
      "deal", &PssParameters::deal, {"contiguous", "cyclic"},
      "steps to ranks: runs of steps that follow each other, or step t to rank t mod "
      "ranks, as DGC's program deals them")));
  return table;
}

StrategyPlan plan_pss(const StrategyInput& input, const Json& json) {
  const auto parameters = from_json<PssParameters>(pss_fields(), json, "/strategy");
  require_steps(input.blocks, input.ranks, "pss");
  std::vector<Rank> owners = step_owners(input.blocks, input.ranks);
  for (std::size_t t = 0; parameters.deal == "cyclic" && t < owners.size(); ++t)
    owners[t] = static_cast<Rank>(t % static_cast<std::size_t>(input.ranks));
  const Placement placement = by_time(input.graph.vertices, owners, input.ranks);
  return {placement, placement, input.blocks, staleness_of(parameters), {}, {}, {}, cut_states_of(parameters)};
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
