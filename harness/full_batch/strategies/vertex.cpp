// Vertex partitioning (ESDG section 4.1; DGC calls it PTS): a rank owns the whole timelines of its vertices in both
// stages. Only neighbours on other ranks cross. They are a spatial halo whose size depends on the cut.
#include "core/names_elsewhere.hpp"
#include "harness/placement/model_hops.hpp"
#include "harness/placement/strategy.hpp"
#include "workloads/partitioners/load_aware.hpp"
#include "workloads/partitioners/partitioner.hpp"

namespace strobe {
namespace {

struct VertexParameters : StaleOptions {
  std::string partitioner = "range";
};

/// All partitions of a shape have the same counts. They are counted as those of a hash.
std::vector<std::string> searched_partitioners(bool sizes_only) {
  return sizes_only ? std::vector<std::string>{"hash"} : PartitionerRegistry::instance().names();
}

const FieldTable& vertex_fields() {
  static const FieldTable table = with_stale_fields(make_fields<VertexParameters>()
                                                        .text("partitioner", &VertexParameters::partitioner,
                                                              "how vertices are assigned; see strobe list partitioners")
                                                        .searched(searched_partitioners));
  return table;
}

StrategyPlan plan_vertex(const StrategyInput& input, const Json& json) {
  const auto parameters = from_json<VertexParameters>(vertex_fields(), json, "/strategy");
  const auto& partitioner = PartitionerRegistry::instance().find(parameters.partitioner, "/strategy/partitioner");
  require_at_least(input.graph.vertices, input.ranks, "vertices", "vertex");
  std::vector<double> load;
  const std::vector<Rank> owner =
      partitioner.value(input.graph, input.ranks, input.seed, model_hops(input.layers, input.graph.first_product_done),
                        &load, input.holders);
  const Placement placement = by_vertex(owner, input.graph.steps, input.ranks, listed_owners(input.only_rank));
  StrategyPlan plan{placement, placement, input.blocks, staleness_of(parameters), {}};
  if (!load.empty()) {
    const auto group = balanced_groups(load, owner, input.ranks, default_load_groups);
    plan.loads = std::make_shared<const VertexLoads>(VertexLoads{std::move(load), group});
  }
  return plan;
}

/// DynaHB's baseline of full batches that exchange halos.
struct AdtParameters : VertexParameters {
  AdtParameters() { partitioner = "load_aware"; }
};

const FieldTable& adt_fields() {
  static const FieldTable table = with_stale_fields(make_fields<AdtParameters>().text(
      "partitioner", &AdtParameters::partitioner, "how vertices are assigned; see strobe list partitioners"));
  return table;
}

const Register<StrategyTag> adt_registered{{
    "adt",
    "vertex with partitioner load_aware: full batches that exchange halos (ADT)",
    "Song et al., DynaHB, VLDB'24, section 6.1",
    adt_fields(),
    StrategyTag::Value(plan_vertex, true).as_preset(),
    {},
}};

const Register<StrategyTag> vertex_registered{{
    "vertex",
    "vertices to ranks in both stages; neighbours on other ranks are a halo",
    "ESDG, SC'21, section 4.1; DGC, SIGMOD'23 (PTS)",
    vertex_fields(),
    {plan_vertex, true},
    {},
}};

const RegisterNames vertex_elsewhere{"strategy",
                                     {{"pts", "vertex", "DGC's name for partitioning by vertices"},
                                      {"cagnet", "vertex", "its one-dimensional form; the others are not here"}}};

}  // namespace
}  // namespace strobe
