// Vertex partitioning (ESDG section 4.1; DGC calls it PTS): a rank owns the whole timelines of its vertices in both
// stages, so only neighbours on other ranks cross: a spatial halo whose size depends on the cut.
// range gives contiguous vertex ranges, hash scatters vertices by a seeded hash: the null partitioners.
#include <numeric>

#include "core/random.hpp"
#include "harness/strategy.hpp"

namespace strobe {
namespace {

struct VertexParameters {
  std::string partitioner = "range";
};

const FieldTable& vertex_fields() {
  static const FieldTable table =
      make_fields<VertexParameters>().choice("partitioner", &VertexParameters::partitioner, {"range", "hash"},
                                             "how vertices are assigned: contiguous ranges, or a seeded hash");
  return table;
}

/// Even shares of a seeded random order, so that every rank gets N / P vertices and no rank none.
std::vector<Rank> hashed_owners(std::int64_t vertices, int ranks, std::uint64_t seed) {
  const RandomStream random(seed, random_purpose::partition);
  std::vector<std::int64_t> order(static_cast<std::size_t>(vertices));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = 0; i + 1 < order.size(); ++i) std::swap(order[i], order[i + random.below(i, order.size() - i)]);
  const std::vector<Rank> shares = contiguous_owners(vertices, ranks);
  std::vector<Rank> owners(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) owners[static_cast<std::size_t>(order[i])] = shares[i];
  return owners;
}

StrategyPlan plan_vertex(const StrategyInput& input, const Json& json) {
  const auto parameters = from_json<VertexParameters>(vertex_fields(), json, "/strategy");
  require_at_least(input.graph.vertices, input.ranks, "vertices", "vertex");
  std::vector<Rank> owners = parameters.partitioner == "hash"
                                 ? hashed_owners(input.graph.vertices, input.ranks, input.seed)
                                 : contiguous_owners(input.graph.vertices, input.ranks);
  const Placement placement = by_vertex(std::move(owners), input.graph.steps, input.ranks);
  return {placement, placement, full_batch(input.graph.steps), "exact", {}};
}

const Register<StrategyTag> registered{{
    "vertex",
    "vertices to ranks in both stages; neighbours on other ranks are a halo",
    "ESDG, SC'21, section 4.1; DGC, SIGMOD'23 (PTS)",
    vertex_fields(),
    plan_vertex,
    {},
}};

}  // namespace
}  // namespace strobe
