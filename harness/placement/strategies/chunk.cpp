// Partitioning by graph chunks (PGC, DGC, SIGMOD'23, section 4): cells that exchange much are grouped into chunks
// across steps and vertices, and chunks are assigned so that ranks have like workloads and cut little. Both stages of a
// cell are its chunk's rank's, so neighbours and earlier cells on other ranks are halos, and states are handed over.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <utility>

#include "core/errors.hpp"
#include "harness/placement/chunks/chunk_assignment.hpp"
#include "harness/placement/chunks/chunk_merging.hpp"
#include "harness/placement/chunks/chunk_workload.hpp"
#include "harness/placement/chunks/label_propagation.hpp"
#include "harness/placement/chunks/placed_chunks.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

struct ChunkParameters : StaleOptions {
  std::string max_cells = "auto";
  std::int64_t rounds = 30;
  std::int64_t levels = 16;
  std::string weights = "traffic";
  std::string cost = "cost_model";
  std::string assign = "score";
};

const FieldTable& chunk_fields() {
  static const FieldTable table = with_stale_fields(
      make_fields<ChunkParameters>()
          .text("max_cells", &ChunkParameters::max_cells, "cells that a chunk may have; auto takes cells / (16 ranks)")
          .integer("rounds", &ChunkParameters::rounds, "", "rounds of label propagation at most", 1, 1 << 20)
          .integer(
              "levels", &ChunkParameters::levels, "",
              "graphs that label propagation goes over at most: 1 is that of cells alone, as DGC prints it; behind "
              "it come those of the chunks found so far, while any merge",
              1, 1 << 20)
          .choice(
              "weights", &ChunkParameters::weights, {"traffic", "unit", "profiled"},
              "edges between cells: the columns that the model moves along them, 1, or how often the model's layers "
              "aggregate neighbours and earlier cells (DGC: 2 to 1 for T-GCN)")
          .choice("cost", &ChunkParameters::cost, {"cost_model", "cells", "edges"},
                  "workload of a chunk: its operations' time by their arithmetic and memory, or its numbers of cells, "
                  "or of cells and edges")
          .choice("assign", &ChunkParameters::assign, {"score", "lpt", "score_then_fill"},
                  "chunks to ranks: DGC's Algorithm 1, the least loaded rank, or Algorithm 1 and a chunk for each rank "
                  "left empty"));
  return table;
}

std::int64_t most_cells(const ChunkParameters& parameters, std::int64_t cells, int ranks) {
  if (parameters.max_cells == "auto") return std::max<std::int64_t>(1, cells / (16 * static_cast<std::int64_t>(ranks)));
  std::int64_t count = 0;
  const char* end = parameters.max_cells.data() + parameters.max_cells.size();
  const auto read = std::from_chars(parameters.max_cells.data(), end, count);
  if (read.ec == std::errc() && read.ptr == end && count >= 1) return count;
  throw InvalidRequest("/strategy/max_cells",
                       fmt::format("expected a number of cells from 1 on, or auto, found '{}'", parameters.max_cells));
}

void require_chunks(const ChunkGraph& chunks, std::int64_t cells, int ranks) {
  require_at_least(cells, ranks, "cells", "chunk");
  if (chunks.count() >= ranks) return;
  throw InvalidRequest("/strategy/max_cells",
                       fmt::format("{} chunks are too few for {} ranks; with max_cells={} there are as many",
                                   chunks.count(), ranks, cells / ranks));
}

/// Cells to the ranks of their chunks; steps with the same owners share them.
Placement place(const PreparedGraph& graph, const PlacedChunks& chunks, int ranks) {
  std::vector<std::vector<Rank>> owner(static_cast<std::size_t>(graph.steps),
                                       std::vector<Rank>(static_cast<std::size_t>(graph.vertices), -1));
  for_cells(graph, [&](NodeId node, VertexId v, Step t) {
    owner[static_cast<std::size_t>(t)][static_cast<std::size_t>(v)] = chunks.rank[chunks.of_cell[node]];
  });
  Placement placement{ranks, graph.vertices, {}, {}};
  for (std::size_t t = 0; t < owner.size(); ++t) {
    if (t == 0 || owner[t] != owner[t - 1]) placement.maps.push_back(nullptr);
    placement.map_of_step.push_back(static_cast<std::int32_t>(placement.maps.size()) - 1);
  }
  for (std::size_t t = owner.size(); t-- > 0;) {
    auto& map = placement.maps[static_cast<std::size_t>(placement.map_of_step[t])];
    if (map != nullptr) continue;
    const bool alike = std::adjacent_find(owner[t].begin(), owner[t].end(), std::not_equal_to<>()) == owner[t].end();
    map = alike && owner[t].front() >= 0 ? single_owner_map(graph.vertices, owner[t].front())
                                         : partial_vertex_map(std::move(owner[t]), ranks);
  }
  return placement;
}

std::shared_ptr<const PlacedChunks> make_chunks(const StrategyInput& input, const ChunkParameters& parameters) {
  const PreparedGraph& graph = input.graph;
  const std::vector<LayerShape>& layers = *input.layers;
  const bool product_done = graph.first_product_done || graph.features_kept;
  SuperGraph super = super_graph(graph, traffic_weights(layers, product_done, parameters.weights));
  const std::int64_t cells = super.nodes(), most = most_cells(parameters, cells, input.ranks);
  PropagatedLabels labels = propagate_labels(super, most, parameters.rounds, input.seed);
  ChunkGraph chunks = chunk_graph(super, std::move(labels.label));
  const std::int64_t merged = merge_chunks(chunks, most, parameters.levels - 1, parameters.rounds, input.seed);
  require_chunks(chunks, cells, input.ranks);
  ChunkAssignment assignment =
      assign_chunks(chunks, chunk_workloads(graph, super, chunks, layers, input.fp64, parameters.cost), input.ranks,
                    parameters.assign);
  auto placed = std::make_shared<PlacedChunks>();
  placed->max_cells = most, placed->rounds = labels.rounds, placed->moved_last = labels.moved_last;
  placed->levels = 1 + merged, placed->cost = parameters.cost;
  placed->cut_between_chunks = cut_between_chunks(chunks);
  placed->cut_between_ranks = cut_between(chunks, assignment.rank);
  placed->of_cell = std::move(chunks.of_node), placed->cells = std::move(chunks.cells);
  placed->rank = std::move(assignment.rank), placed->load = std::move(assignment.load);
  return placed;
}

StrategyPlan plan_chunk(const StrategyInput& input, const Json& json) {
  const auto parameters = from_json<ChunkParameters>(chunk_fields(), json, "/strategy");
  if (input.layers == nullptr) throw Error("strategy chunk weighs what a model's layers move, and was given none");
  const std::shared_ptr<const PlacedChunks> chunks = make_chunks(input, parameters);
  const Placement placement = place(input.graph, *chunks, input.ranks);
  return {placement, placement, in_blocks(input.blocks), staleness_of(parameters), {}, chunks};
}

const Register<StrategyTag> chunk_registered{{
    "chunk",
    "cells that exchange much to the same rank in both stages, grouped across steps and vertices",
    "DGC, SIGMOD'23, section 4 (PGC)",
    chunk_fields(),
    {plan_chunk},
    {},
}};

}  // namespace
}  // namespace strobe
