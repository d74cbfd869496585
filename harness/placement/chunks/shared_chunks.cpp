#include "harness/placement/chunks/shared_chunks.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "harness/placement/chunks/cell_placement.hpp"
#include "workloads/storage/binary_file.hpp"
#include "workloads/storage/growing_column.hpp"
#include "workloads/storage/node_store.hpp"

namespace strobe {
namespace {

constexpr BinaryKind chunks_kind{{'S', 'T', 'R', 'O', 'B', 'E', 'K', '\n'}, 1, "shared chunks"};

Json described(const PlacedChunks& chunks) {
  return {{"cells", chunks.of_cell.size()},
          {"chunks", chunks.cells.size()},
          {"load", chunks.load},
          {"cost", chunks.cost},
          {"max_cells", chunks.max_cells},
          {"rounds", chunks.rounds},
          {"moved_last", chunks.moved_last},
          {"levels", chunks.levels},
          {"generation_seconds", chunks.generation_seconds},
          {"assignment_seconds", chunks.assignment_seconds},
          {"cut_between_chunks", chunks.cut_between_chunks},
          {"cut_between_ranks", chunks.cut_between_ranks},
          {"fusion", chunks.fusion},
          {"fusion_gib", chunks.fusion_gib},
          {"fusion_memory", chunks.fusion_memory},
          {"rerun_units", chunks.rerun_units}};
}

std::shared_ptr<PlacedChunks> chunks_in(const BinaryFile& file) {
  const Json& json = file.description();
  const auto read = [&json](const char* name, auto& value) { json.at(name).get_to(value); };
  auto chunks = std::make_shared<PlacedChunks>();
  const std::int64_t count = json.at("chunks").get<std::int64_t>();
  chunks->of_cell = file.column<std::uint32_t>("of_cell", json.at("cells").get<std::int64_t>(), true);
  chunks->cells = file.column<std::int64_t>("cells", count, true);
  chunks->rank = file.column<Rank>("rank", count, true);
  read("load", chunks->load), read("cost", chunks->cost), read("max_cells", chunks->max_cells);
  read("rounds", chunks->rounds), read("moved_last", chunks->moved_last), read("levels", chunks->levels);
  read("generation_seconds", chunks->generation_seconds), read("assignment_seconds", chunks->assignment_seconds);
  read("cut_between_chunks", chunks->cut_between_chunks), read("cut_between_ranks", chunks->cut_between_ranks);
  read("fusion", chunks->fusion), read("fusion_gib", chunks->fusion_gib);
  read("fusion_memory", chunks->fusion_memory), read("rerun_units", chunks->rerun_units);
  return chunks;
}

PlacedCells placed(const StrategyInput& input, PlacedChunks chunks) {
  Placement placement = place_cells(
      input.graph, input.ranks, [&](NodeId node) { return chunks.rank[chunks.of_cell[node]]; },
      listed_owners(input.only_rank));
  return {std::make_shared<const PlacedChunks>(std::move(chunks)), std::move(placement)};
}

/// `chunks`, and the owner of each cell, step by step.
void write_chunks(const PreparedGraph& graph, const PlacedChunks& chunks, const std::string& path) {
  GrowingColumn<Rank> owner(static_cast<std::size_t>(graph.steps * graph.vertices), reading_bound());
  std::fill(owner.begin(), owner.end(), -1);
  for_cells(graph, [&](NodeId node, VertexId v, Step t) {
    owner[static_cast<std::size_t>(t * graph.vertices + v)] = chunks.rank[chunks.of_cell[node]];
  });
  std::vector<BinarySection> sections;
  add_section(sections, "of_cell", chunks.of_cell), add_section(sections, "cells", chunks.cells);
  const Column<Rank> owners = owner.finish();
  add_section(sections, "rank", chunks.rank), add_section(sections, "owner", owners);
  write_binary_file(chunks_kind, described(chunks), sections, path, Keeping::passing);
}

}  // namespace

PlacedCells place_once(const StrategyInput& input, const std::function<PlacedChunks()>& make) {
  const PreparedGraph& graph = input.graph;
  if (input.node == nullptr) return placed(input, make());
  const auto place_bounded = [&] {
    const BoundedReading bound = input.node->bounded_reading();
    return placed(input, make());
  };
  if (!input.only_rank) return place_bounded();
  const auto write = [&](const std::string& path) {
    const BoundedReading bound = input.node->bounded_reading();
    write_chunks(graph, make(), path);
  };
  const auto read = [&](const std::string& path, std::shared_ptr<const void> keeper) {
    const BinaryFile file(chunks_kind, path, std::move(keeper));
    const Column<Rank> owner = file.column<Rank>("owner", graph.steps * graph.vertices, true);
    std::vector<Column<Rank>> of_step;
    const auto vertices = static_cast<std::size_t>(graph.vertices);
    for (std::size_t t = 0; t < static_cast<std::size_t>(graph.steps); ++t)
      of_step.push_back(owner.part(t * vertices, vertices));
    return PlacedCells{chunks_in(file),
                       place_by_step(std::move(of_step), graph.vertices, input.ranks, listed_owners(input.only_rank))};
  };
  std::optional<PlacedCells> shared = input.node->get<PlacedCells>({"chunks", input.name}, write, read);
  return shared ? std::move(*shared) : place_bounded();
}

}  // namespace strobe
