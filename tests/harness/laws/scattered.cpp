// A strategy for tests: owners are drawn for each cell, so that timelines are cut at nearly every step and neighbours
// are on any rank. Training that is exact here is exact for any chunks. The last `idle` ranks own nothing.
#include "core/random.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

struct ScatteredParameters : StaleOptions, CutOptions {
  int idle = 0;
};

const FieldTable& scattered_fields() {
  static const FieldTable table = with_stale_fields(with_states_field(make_fields<ScatteredParameters>().integer(
      "idle", &ScatteredParameters::idle, "ranks", "last ranks that own nothing", 0, 4096)));
  return table;
}

StrategyPlan plan_scattered(const StrategyInput& input, const Json& json) {
  const auto parameters = from_json<ScatteredParameters>(scattered_fields(), json, "/strategy");
  const int owners = input.ranks - parameters.idle;
  if (owners < 1) throw InvalidRequest("/strategy/idle", "every rank is idle");
  Placement placement{input.ranks, input.graph.vertices, {}, {}};
  for (std::int64_t t = 0; t < input.graph.steps; ++t) {
    std::vector<Rank> owner;
    for (std::int64_t v = 0; v < input.graph.vertices; ++v) {
      const auto words = philox({static_cast<std::uint32_t>(v), static_cast<std::uint32_t>(t), 0, 0},
                                {static_cast<std::uint32_t>(input.seed), 77});
      owner.push_back(static_cast<Rank>(words[0] % static_cast<std::uint32_t>(owners)));
    }
    placement.map_of_step.push_back(static_cast<std::int32_t>(placement.maps.size()));
    placement.maps.push_back(vertex_map(std::move(owner), input.ranks));
  }
  return {placement, placement, input.blocks, staleness_of(parameters), {}, {}, {}, cut_states_of(parameters)};
}

const Register<StrategyTag> scattered_registered{{
    "scattered",
    "every cell to a rank drawn for it (a test: worse than any chunks)",
    "",
    scattered_fields(),
    {plan_scattered},
    {},
}};

}  // namespace
}  // namespace strobe
