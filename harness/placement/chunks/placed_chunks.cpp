#include "harness/placement/chunks/placed_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace strobe {
namespace {

Json sizes(std::vector<std::int64_t> cells) {
  std::sort(cells.begin(), cells.end());
  return {{"min", cells.front()}, {"median", cells[cells.size() / 2]}, {"max", cells.back()}};
}

std::vector<std::int64_t> chunks_of_ranks(const PlacedChunks& chunks) {
  std::vector<std::int64_t> held(chunks.load.size(), 0);
  for (const Rank rank : chunks.rank) ++held[rank];
  return held;
}

}  // namespace

Json describe_chunks(const PlacedChunks& chunks) {
  const double lambda = divergence(chunks.load);
  return {{"count", chunks.cells.size()},
          {"max_cells", chunks.max_cells},
          {"cells", sizes(chunks.cells.copy())},
          {"rounds", chunks.rounds},
          {"moved_in_last_round", chunks.moved_last},
          {"levels", chunks.levels},
          {"cut_between_chunks", chunks.cut_between_chunks},
          {"cut_between_ranks", chunks.cut_between_ranks},
          {"generation_seconds", chunks.generation_seconds},
          {"assignment_seconds", chunks.assignment_seconds},
          {"chunks_per_rank", chunks_of_ranks(chunks)},
          {"predicted_load_per_rank", chunks.load},
          {"predicted_by", chunks.cost},
          {"predicted_divergence", std::isfinite(lambda) ? Json(lambda) : Json()}};
}

std::string chunk_note(const PlacedChunks& chunks) {
  const std::vector<std::int64_t> held = chunks_of_ranks(chunks);
  const auto empty = std::count(held.begin(), held.end(), 0);
  const double lambda = divergence(chunks.load);
  std::string note = fmt::format(
      "{} chunks of at most {} cells on {} ranks; largest over smallest workload of a rank predicted by {}: {}",
      chunks.cells.size(), *std::max_element(chunks.cells.begin(), chunks.cells.end()), chunks.load.size(), chunks.cost,
      std::isfinite(lambda) ? fmt::format("{:.3f}", lambda) : "infinite");
  if (empty > 0) note += fmt::format("; ranks without a chunk: {}", empty);
  return note;
}

}  // namespace strobe
