// Partitioning by graph chunks (PGC, DGC, SIGMOD'23, section 4). Cells that exchange much are grouped into chunks
// across steps and vertices. Chunks are assigned so that ranks have similar workloads and cut little. One rank computes
// both stages of a chunk's cells. So neighbours and earlier cells on other ranks are halos, and states are handed over.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <span>
#include <utility>

#include "backends/processor_clock.hpp"
#include "core/errors.hpp"
#include "core/names_elsewhere.hpp"
#include "harness/placement/chunks/assign/cell_assignment.hpp"
#include "harness/placement/chunks/chunk_assignment.hpp"
#include "harness/placement/chunks/chunk_merging.hpp"
#include "harness/placement/chunks/chunk_workload.hpp"
#include "harness/placement/chunks/chunks_together.hpp"
#include "harness/placement/chunks/label_propagation.hpp"
#include "harness/placement/chunks/learned/learned_workload.hpp"
#include "harness/placement/chunks/shared_chunks.hpp"
#include "harness/placement/strategy.hpp"
#include "workloads/storage/node_store.hpp"

namespace strobe {
namespace {

struct ChunkParameters : StaleOptions, CutOptions {
  std::string max_cells = "auto";
  std::int64_t rounds = 30;
  std::int64_t levels = 16;
  std::string propagation = "asynchronous";
  std::string weights = "traffic";
  std::string cost = "cost_model";
  std::string workloads;
  std::string fixed_time = "each";
  std::string rates;
  std::string assign = "score";
  double round_kib = 0;
  std::string fusion = "both";
  double fusion_gib = 0;
  std::string fusion_memory = "planned";
  bool rerun_units = false;
};

// Values that a search tries. The default comes first.
std::vector<std::string> searched_caps(bool /*sizes_only*/) { return {"auto", "4/rank", "64/rank"}; }
std::vector<std::string> searched_weights(bool /*sizes_only*/) { return {"traffic", "unit"}; }
std::vector<std::string> searched_assignments(bool /*sizes_only*/) { return {"score", "lpt"}; }
/// `none` and `temporal` are left out, because chunks walked one by one take many times as long. Padded sequences are
/// rarely faster than packed ones.
std::vector<std::string> searched_fusions(bool /*sizes_only*/) { return {"both", "spatial"}; }

FieldTable with_fusion_fields(FieldTableBuilder<ChunkParameters> fields) {
  return with_stale_fields(
      fields
          .real("round_kib", &ChunkParameters::round_kib, "KiB",
                "with assign=refined: KiB sent in an epoch that a round of waiting counts as; 0 counts what is sent "
                "alone",
                0, 1e12)
          .choice("fusion", &ChunkParameters::fusion, {"both", "none", "spatial", "temporal"},
                  "stages in which a rank walks chunks together: spatial stages merge the chunks that fit into "
                  "memory, else go chunk by chunk; temporal stages put all sequences end to end, else pad those of "
                  "each chunk to the longest")
          .searched(searched_fusions)
          .real("fusion_gib", &ChunkParameters::fusion_gib, "GiB",
                "memory that chunks walked together may take; 0 takes the device's, where it is known", 0, 1e9)
          .choice("fusion_memory", &ChunkParameters::fusion_memory, {"planned", "measured"},
                  "memory that each chunk counts with when chunks are merged: planned follows from its sizes; "
                  "measured is found in a first epoch, whose updates are discarded")
          .boolean("rerun_units", &ChunkParameters::rerun_units,
                   "compute the spatial stages of each unit of chunks again in the backward pass, to hold the results "
                   "of one unit at a time"));
}

const FieldTable& chunk_fields() {
  static const FieldTable table = with_fusion_fields(
      with_states_field(make_fields<ChunkParameters>())
          .text("max_cells", &ChunkParameters::max_cells,
                "cells that a chunk may have: a number, 64/rank for cells / (64 ranks), or auto, which is 16/rank")
          .searched(searched_caps)
          .integer("rounds", &ChunkParameters::rounds, "", "most rounds of label propagation", 1, 1 << 20)
          .integer("levels", &ChunkParameters::levels, "",
                   "most graphs that label propagation visits: 1 is the graph of cells alone, as DGC prints it; each "
                   "further one is the graph of the chunks found so far",
                   1, 1 << 20)
          .choice("propagation", &ChunkParameters::propagation, {"asynchronous", "synchronous"},
                  "label propagation: one process asks cells one after the other, or many cells choose at once, in "
                  "parts of the graph that MPI processes share")
          .choice(
              "weights", &ChunkParameters::weights, {"traffic", "unit", "profiled"},
              "edges between cells: the columns that the model moves along them, 1, or how often the model's layers "
              "aggregate neighbours and earlier cells (DGC: 2 to 1 for T-GCN)")
          .searched(searched_weights)
          .choice(
              "cost", &ChunkParameters::cost, {"cost_model", "cells", "edges", "mlp"},
              "workload of a chunk: its operations' time from their arithmetic and memory, its number of cells, "
              "its number of cells and edges without self-loops, or the time that MLPs learned from measured chunks")
          .text("workloads", &ChunkParameters::workloads,
                "with cost=mlp: file of `strobe calibrate --chunks`; by default CLUSTER-chunks-MODEL.json next to "
                "the case's cluster file, and this-machine-chunks-MODEL.json for a real device")
          .choice("fixed_time", &ChunkParameters::fixed_time, {"each", "once"},
                  "with cost=mlp: whether the time of the smallest chunk counts for each chunk, as if a rank trained "
                  "them one by one, or once for a rank, which trains all of its chunks in one pass")
          .text("rates", &ChunkParameters::rates,
                "with cost=cost_model: cluster, by name or file, whose accelerator's rates are used; by default a "
                "V100's")
          .choice("assign", &ChunkParameters::assign, {"score", "lpt", "score_then_fill", "metis", "refined"},
                  "chunks to ranks: DGC's Algorithm 1, the least loaded rank, or Algorithm 1 and a chunk for each rank "
                  "left empty; metis and refined place single cells and split chunks: METIS's cut of all cells, or "
                  "moves that reduce the rows really sent, from the best of several starts")
          .searched(searched_assignments));
  return table;
}

std::int64_t most_cells(const ChunkParameters& parameters, std::int64_t cells, int ranks) {
  const std::string& text = parameters.max_cells;
  const bool shared = text == "auto" || text.ends_with("/rank");
  const std::string number = text == "auto" ? "16" : text.substr(0, text.size() - (shared ? 5 : 0));
  std::int64_t count = 0;
  const char* end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, count);
  if (read.ec != std::errc() || read.ptr != end || count < 1) {
    throw InvalidRequest(
        "/strategy/max_cells",
        fmt::format("expected a number of cells of at least 1, a share such as 64/rank, or auto, found '{}'", text));
  }
  if (!shared) return count;
  return std::max<std::int64_t>(1, count > cells ? 1 : cells / (count * static_cast<std::int64_t>(ranks)));
}

void require_chunks(const ChunkGraph& chunks, std::int64_t cells, int ranks) {
  require_at_least(cells, ranks, "cells", "chunk");
  if (chunks.count() >= ranks) return;
  throw InvalidRequest("/strategy/max_cells",
                       fmt::format("{} chunks are too few for {} ranks; set max_cells={} for as many chunks as ranks",
                                   chunks.count(), ranks, cells / ranks));
}

CountedDevice device_of(const StrategyInput& input, const ChunkParameters& parameters) {
  return {*input.layers, input.fp64, parameters.rates.empty() ? DeviceRates() : input.named.rates(parameters.rates)};
}

/// Workload of each chunk with cost=mlp, which looks at whole sequences.
std::vector<double> learned_workloads(const StrategyInput& input, const SuperGraph& super, const ChunkGraph& chunks,
                                      const ChunkParameters& parameters) {
  const std::vector<LayerShape>& layers = *input.layers;
  const auto learned = input.named.workloads(parameters.workloads);
  const SizedCells sized(input.graph, super, lengths_from_beginning(layers));
  return learned_seconds(*learned, sized.of_chunks(chunks.of_node, chunks.cells.size()),
                         {input.graph.feature_width, layers}, parameters.fixed_time == "once");
}

/// Refuses options that would have no effect.
void check_options(const ChunkParameters& parameters) {
  if (!parameters.workloads.empty() && parameters.cost != "mlp")
    throw InvalidRequest("/strategy/workloads",
                         "only cost=mlp reads a file of workloads; set cost=mlp, or leave this out");
  if (parameters.fixed_time != "each" && parameters.cost != "mlp")
    throw InvalidRequest("/strategy/fixed_time", "only cost=mlp uses this; set cost=mlp, or leave this out");
  if (!parameters.rates.empty() && parameters.cost != "cost_model")
    throw InvalidRequest("/strategy/rates", "only cost=cost_model uses this; set cost=cost_model, or leave this out");
  if (parameters.round_kib > 0 && parameters.assign != "refined")
    throw InvalidRequest("/strategy/round_kib", "only assign=refined uses this; set assign=refined, or leave this out");
  if (parameters.fusion_memory == "measured" && parameters.fusion != "both" && parameters.fusion != "spatial")
    throw InvalidRequest(
        "/strategy/fusion_memory",
        fmt::format("fusion={} merges no chunks; set fusion=both or spatial, or leave this out", parameters.fusion));
}

/// Refuses a price of rounds where no rank waits for another's states.
void check_rounds(const ChunkParameters& parameters, const std::vector<LayerShape>& layers) {
  if (parameters.round_kib == 0) return;
  if (parameters.states != "exact")
    throw InvalidRequest("/strategy/round_kib",
                         fmt::format("with states={} no rank waits for a state; set states=exact, "
                                     "or leave this out",
                                     parameters.states));
  if (std::none_of(layers.begin(), layers.end(), [](const auto& l) { return l.need == TemporalNeed::recurrent; }))
    throw InvalidRequest("/strategy/round_kib",
                         "this model hands no state from step to step, so no rank waits for one; leave this out");
}

/// Chunks, the most cells of one, and the workload of each by `cost`.
struct WeighedChunks {
  ChunksTogether made;
  std::int64_t max_cells = 0;
  double generation_seconds = 0;
  std::vector<double> workload;
};

WeighedChunks make_chunks_alone(const StrategyInput& input, const TrafficWeights& weights,
                                const ChunkParameters& parameters) {
  ProcessorLaps laps;
  WeighedChunks result;
  SuperGraph super = super_graph(input.graph, weights);
  const std::int64_t cells = super.nodes(), most = most_cells(parameters, cells, input.ranks);
  PropagatedLabels labels = propagate_labels(super, most, parameters.rounds, input.seed);
  ChunkGraph chunks = chunk_graph(super, std::move(labels.label));
  const std::int64_t merged = merge_chunks(chunks, most, parameters.levels - 1, parameters.rounds, input.seed);
  require_chunks(chunks, cells, input.ranks);
  result.max_cells = most, result.generation_seconds = laps.lap();
  result.workload = parameters.cost == "mlp"
                        ? learned_workloads(input, super, chunks, parameters)
                        : chunk_workloads(input.graph, super, chunks, device_of(input, parameters), parameters.cost);
  result.made = {std::move(chunks), labels.rounds, labels.moved_last, 1 + merged};
  return result;
}

WeighedChunks make_chunks_in_parts(const StrategyInput& input, const TrafficWeights& weights,
                                   const ChunkParameters& parameters) {
  ProcessorLaps laps;
  WeighedChunks result;
  const ShareHolders& holders = input.holders;
  SuperGraphShare share = super_graph_share(input.graph, weights, holders);
  const std::int64_t cells = share.shares.nodes();
  result.max_cells = most_cells(parameters, cells, input.ranks);
  result.made =
      make_chunks_together(share, {result.max_cells, parameters.rounds, input.seed}, parameters.levels, holders);
  const ChunkGraph& chunks = result.made.chunks;
  require_chunks(chunks, cells, input.ranks);
  result.generation_seconds = laps.lap();
  if (parameters.cost == "mlp") {
    result.workload = learned_workloads(input, super_graph(input.graph, {}), chunks, parameters);
    return result;
  }
  const std::span of_own = std::span(chunks.of_node).subspan(share.shares.first[holders.rank], share.graph.nodes());
  result.workload = workloads_together(input.graph, share, of_own, chunks.cells, device_of(input, parameters),
                                       parameters.cost, holders);
  return result;
}

/// The load of each cell, when the cells of a chunk share its workload evenly.
Column<double> even_loads(const ChunkGraph& chunks, const std::vector<double>& workload) {
  GrowingColumn<double> load;
  for (const std::uint32_t chunk : chunks.of_node)
    load.push_back(workload[chunk] / static_cast<double>(chunks.cells[chunk]));
  return load.finish();
}

/// Assigns cells, and splits the chunks that lie on several ranks afterwards.
ChunkAssignment assign_split_chunks(const StrategyInput& input, const TrafficWeights& weights,
                                    const ChunkParameters& parameters, const std::vector<double>& workload,
                                    ChunkGraph& chunks) {
  const SuperGraph super = super_graph(input.graph, weights);
  const Column<double> load = parameters.cost == "mlp"
                                  ? even_loads(chunks, workload)
                                  : cell_workloads(input.graph, super, device_of(input, parameters), parameters.cost);
  const double columns_of_round = parameters.round_kib * 1024 / (input.fp64 ? 8 : 4);
  const GrowingColumn<Rank> rank =
      assign_cells({input.graph,
                    super,
                    {*input.layers, input.supports, input.samples, cut_states_of(parameters)},
                    load,
                    input.ranks,
                    input.seed,
                    columns_of_round},
                   chunks, workload, parameters.assign);
  return split_by_rank(super, rank, load, input.ranks, chunks);
}

PlacedChunks make_chunks(const StrategyInput& input, const ChunkParameters& parameters) {
  const bool product_done = input.graph.first_product_done || input.graph.features_kept;
  const TrafficWeights weights = traffic_weights(*input.layers, product_done, parameters.weights);
  const bool together = parameters.propagation == "synchronous";
  WeighedChunks weighed =
      together ? make_chunks_in_parts(input, weights, parameters) : make_chunks_alone(input, weights, parameters);
  ChunkGraph& chunks = weighed.made.chunks;
  ProcessorLaps laps;
  ChunkAssignment assignment = assigns_cells(parameters.assign)
                                   ? assign_split_chunks(input, weights, parameters, weighed.workload, chunks)
                                   : assign_chunks(chunks, weighed.workload, input.ranks, parameters.assign);
  PlacedChunks placed;
  placed.generation_seconds = weighed.generation_seconds, placed.assignment_seconds = laps.lap();
  placed.max_cells = weighed.max_cells, placed.rounds = weighed.made.rounds;
  placed.moved_last = weighed.made.moved_last, placed.levels = weighed.made.levels, placed.cost = parameters.cost;
  placed.fusion = parameters.fusion, placed.fusion_gib = parameters.fusion_gib;
  placed.fusion_memory = parameters.fusion_memory, placed.rerun_units = parameters.rerun_units;
  placed.cut_between_chunks = cut_between_chunks(chunks);
  placed.cut_between_ranks = cut_between(chunks, assignment.rank);
  placed.of_cell = std::move(chunks.of_node), placed.cells = std::move(chunks.cells);
  placed.rank = std::move(assignment.rank), placed.load = std::move(assignment.load);
  return placed;
}

StrategyPlan plan_chunk(const StrategyInput& input, const Json& json) {
  const auto parameters = from_json<ChunkParameters>(chunk_fields(), json, "/strategy");
  check_options(parameters);
  if (input.named.workloads == nullptr && (parameters.cost == "mlp" || !parameters.rates.empty()))
    throw Error("strategy chunk has no reader for the files that its parameters name");
  if (input.layers == nullptr) throw Error("strategy chunk needs a model's layers to weigh edges, and got none");
  check_rounds(parameters, *input.layers);
  StrategyInput alike = input;
  const bool together = parameters.propagation == "synchronous";
  if (together) alike.node = nullptr;  // processes make them together
  const PlacedCells cells = place_once(alike, [&] {
    if (!together || input.node == nullptr) return make_chunks(input, parameters);
    const BoundedReading bound = input.node->bounded_reading();
    return make_chunks(input, parameters);
  });
  const Placement& placement = cells.placement;
  return {placement, placement,    input.blocks, staleness_of(parameters),
          {},        cells.chunks, {},           cut_states_of(parameters)};
}

const Register<StrategyTag> chunk_registered{{
    "chunk",
    "cells that exchange much to the same rank in both stages, grouped across steps and vertices",
    "DGC, SIGMOD'23, section 4 (PGC)",
    chunk_fields(),
    {plan_chunk},
    {},
}};

const RegisterNames chunk_elsewhere{"strategy",
                                    {{"dgc", "chunk", "DGC's chunks; pss and vertex are its baselines"},
                                     {"pgc", "chunk", "DGC's partitioning by graph chunks"}}};

}  // namespace
}  // namespace strobe
