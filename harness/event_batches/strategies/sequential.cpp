// Sequential: one rank owns every cell, or trains on every event in time order. Every exact strategy must reproduce its
// losses (law 3).
#include "core/names_elsewhere.hpp"
#include "harness/event_batches/strategies/event_options.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

StrategyPlan plan_sequential(const StrategyInput& input, const Json&) {
  if (input.ranks != 1)
    throw InvalidRequest("/ranks", "strategy sequential runs on 1 rank, not " + std::to_string(input.ranks));
  const Placement all = by_vertex(contiguous_owners(input.graph.vertices, 1), input.graph.steps, 1);
  return {all, all, input.blocks, {}, {}};
}

const Register<StrategyTag> sequential_registered{{
    "sequential",
    "everything on one rank, no communication",
    "the reference of every comparison",
    event_batch_fields<EventBatchOptions>(),
    StrategyTag::Value(plan_sequential, true, [](const Json&, std::int64_t ranks) { return ranks == 1; })
        .with_events("event_batches", event_batch_names()),
    {},
}};

const RegisterNames sequential_elsewhere{"strategy", {{"none", "sequential", ""}}};

}  // namespace
}  // namespace strobe
