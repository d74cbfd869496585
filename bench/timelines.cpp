// One epoch of training where timelines lie whole on their ranks, and where each is cut in several places: owners are
// drawn for blocks of 64 vertices and a quarter of the steps, as chunks might lie. Cut timelines go in rounds of packed
// sequences with temporal halos, or, as a judge, segment by segment of whole steps. Two ranks, a uniform graph of 4,000
// vertices and 48 steps; the time is the median epoch of the run itself.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench/measure.hpp"
#include "core/random.hpp"
#include "harness/full_batch/full_batch_schedule.hpp"
#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/run/run_case.hpp"

namespace strobe::bench {
namespace {

constexpr int ranks = 2;

enum class Walk { whole, rounds, segments };

Case case_of(const std::string& model) {
  const Json request = {{"workload", {{"name", "uniform"}, {"vertices", 4000}, {"steps", 49}, {"density", 4.0}}},
                        {"model", {{"name", model}}},
                        {"strategy", {{"name", "vertex"}}},
                        {"ranks", ranks},
                        {"epochs", 5},
                        {"warmup", 1}};
  return case_from_json(request, "");
}

Placement cut_placement(const PreparedGraph& graph) {
  Placement placement{ranks, graph.vertices, {}, {}};
  for (std::int64_t t = 0; t < graph.steps; ++t) {
    std::vector<Rank> owner;
    for (std::int64_t v = 0; v < graph.vertices; ++v) {
      const auto words =
          philox({static_cast<std::uint32_t>(v / 64), static_cast<std::uint32_t>(t * 4 / graph.steps), 0, 0}, {1, 1});
      owner.push_back(static_cast<Rank>(words[0] % ranks));
    }
    placement.map_of_step.push_back(static_cast<std::int32_t>(placement.maps.size()));
    placement.maps.push_back(vertex_map(std::move(owner), ranks));
  }
  return placement;
}

void train(benchmark::State& state, const std::string& model, Walk walk) {
  const Case c = case_of(model);
  FullBatchCase begun = begin_full_batch(c, PlanUse::run);
  begun.options.packs = walk != Walk::segments;
  std::shared_ptr<const FullBatchPlan> plan = lay_out(begun, 1);
  if (walk != Walk::whole) {
    const Placement cut = cut_placement(*begun.data.graph);
    plan = lay_out(begun, StrategyPlan{cut, cut, {{0, begun.data.graph->steps}}, {}, {}});
  }
  const auto planned = std::make_shared<const PlannedCase>(PlannedCase{c, full_batch_schedule(plan), plan->notes});
  for (auto _ : state) {
    const CaseResult result = run_planned(planned, c);
    std::vector<double> epochs;
    for (const EpochSample& sample : result.samples) {
      if (sample.epoch > 0 && sample.rank == 0) epochs.push_back(sample.epoch_seconds);
    }
    if (result.status != "ok" || epochs.empty())
      return state.SkipWithError(("the run failed: " + result.reason).c_str());
    std::nth_element(epochs.begin(), epochs.begin() + static_cast<std::ptrdiff_t>(epochs.size() / 2), epochs.end());
    state.SetIterationTime(epochs[epochs.size() / 2]);
  }
}

const Registration registered{[] {
  for (const std::string model : {"tm-gcn", "cd-gcn", "t-gcn", "mpnn-lstm", "dysat"}) {
    for (const auto& [name, walk] :
         {std::pair("whole", Walk::whole), std::pair("rounds", Walk::rounds), std::pair("segments", Walk::segments)}) {
      const auto run = [=, walk = walk](benchmark::State& state) { train(state, model, walk); };
      register_guarded(("timelines/" + model + "/" + name).c_str(), run)
          ->UseManualTime()
          ->Iterations(3)
          ->Unit(benchmark::kMillisecond);
    }
  }
}};

}  // namespace
}  // namespace strobe::bench
