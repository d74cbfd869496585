#include "harness/placement/chunks/assign/cell_assignment.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "harness/placement/chunks/assign/cell_blocks.hpp"
#include "harness/placement/chunks/assign/rank_refinement.hpp"
#include "harness/placement/chunks/grouping.hpp"
#include "harness/placement/chunks/seeded_order.hpp"
#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

/// Single cells of a graph of few, else blocks that are much smaller than a rank's share, which take a fraction of the
/// time.
CellBlocks small_blocks(const CellsToAssign& cells) {
  constexpr int blocks_of_rank = 256;
  constexpr std::int64_t few_cells = 1 << 17;
  if (cells.super.nodes() <= few_cells) return single_cells(cells.super);
  const double all = std::accumulate(cells.load.begin(), cells.load.end(), 0.0);
  return cells_with_followers(cells.super, cells.load, all / cells.ranks / blocks_of_rank);
}

/// Looks for the assignment that sends least: a round of refinement from each of several starts, and more of the best.
class Portfolio {
 public:
  explicit Portfolio(const CellsToAssign& cells)
      : cells_(cells),
        nets_(cell_nets(cells.graph, cells.super, cells.readers, cells.load)),
        limits_{cells.ranks, 0, cells.seed, 0, 1} {
    const double all = std::accumulate(cells.load.begin(), cells.load.end(), 0.0);
    limits_.most_load = allowed_imbalance * all / cells.ranks;
  }

  GrowingColumn<Rank> best(const ChunkGraph& chunks, const std::vector<double>& workload) {
    start_from_chunks(chunks, workload);
    const Moved moved = moved_blocks(small_blocks(cells_));
    for (std::uint64_t again = 0; has_metis() && again < tries_of(moved); ++again) refine_cut(moved, again);
    for (std::uint64_t again = 1; again < tries_of(moved); ++again) refine_scattered(moved, again);
    refine(moved, runs_of_steps(cells_.super, cells_.graph.steps, cells_.load, cells_.ranks));
    for (std::int64_t count = 1; cells_.columns_of_round > 0 && count <= cells_.graph.steps / 2; count *= 2)
      if (has_metis()) refine_cut(moved_blocks(windows(count)), 0);
    limits_.first_round = limits_.rounds, limits_.rounds = 2;
    refine(moved, copy_of(best_));
    if (chunk_price_ <= price_ || !fits_) {
      limits_.first_round = 0, limits_.rounds = 3;
      const std::vector<double> load = load_of_ranks(nets_, chunk_start_, cells_.ranks);
      limits_.most_load = std::max(limits_.most_load, *std::max_element(load.begin(), load.end()));
      refine(moved_blocks(single_cells(cells_.super)), chunk_start_);
    }
    return std::move(best_);
  }

 private:
  /// Blocks that move whole. Single cells have the nets of all cells.
  struct Moved {
    CellBlocks blocks;
    CellNets merged;
  };

  Moved moved_blocks(CellBlocks blocks) const {
    if (blocks.count == nets_.nodes()) return {std::move(blocks), {}};
    CellNets merged = merged_nodes(nets_, blocks.of_cell, blocks.count);
    return {std::move(blocks), std::move(merged)};
  }

  /// Starts with a seed each: several where they take no time, because luck decides small graphs.
  static std::uint64_t tries_of(const Moved& moved) {
    constexpr std::uint32_t cells_in_all = 1 << 13;
    return std::clamp<std::uint64_t>(cells_in_all / moved.blocks.count, 1, 8);
  }

  CellBlocks windows(std::int64_t count) const {
    return windows_of_sequences(cells_.super, cells_.graph.steps, cells_.load, count);
  }

  void start_from_chunks(const ChunkGraph& chunks, const std::vector<double>& workload) {
    const CellNets nets = merged_nodes(nets_, chunks.of_node, static_cast<std::uint32_t>(chunks.count()));
    for (const char* method : {"score", "lpt", "score_then_fill"}) {
      const std::vector<Rank> of_chunk = assign_chunks(chunks, workload, cells_.ranks, method).rank;
      GrowingColumn<Rank> rank = of_cells(chunks.of_node, of_chunk);
      const double price = static_cast<double>(sent_columns(nets, of_chunk)) + price_of_rounds(rank);
      if (price < chunk_price_) chunk_price_ = price, chunk_start_ = std::move(rank);
    }
  }

  void refine_cut(const Moved& moved, std::uint64_t again) {
    refine(moved, cut_by_metis(cells_.super, moved.blocks, cells_.load, cells_.ranks, cells_.seed + again));
  }

  /// From cells dealt at random, which is a good start only where METIS finds the same cut again and again.
  void refine_scattered(const Moved& moved, std::uint64_t again) {
    GrowingColumn<Rank> start(cells_.super.nodes(), reading_bound());
    Rank next = 0;
    for (const std::uint32_t cell : seeded_order(start.size(), cells_.seed + again, 0))
      start[cell] = next, next = (next + 1) % cells_.ranks;
    refine(moved, start);
  }

  void refine(const Moved& moved, std::span<const Rank> start) {
    const CellNets& nets = moved.blocks.count == nets_.nodes() ? nets_ : moved.merged;
    GrowingColumn<Rank> of_block(moved.blocks.count, reading_bound());
    const std::span<Rank> moving(of_block.data(), of_block.size());
    for (std::size_t cell = 0; cell < start.size(); ++cell) of_block[moved.blocks.of_cell[cell]] = start[cell];
    balance_ranks(nets, limits_, moving);
    refine_ranks(nets, limits_, moving);
    GrowingColumn<Rank> rank = of_cells(moved.blocks.of_cell, of_block);
    const double price = static_cast<double>(sent_columns(nets, of_block)) + price_of_rounds(rank);
    consider(std::move(rank), price, load_of_ranks(nets, of_block, cells_.ranks));
  }

  static GrowingColumn<Rank> copy_of(std::span<const Rank> ranks) {
    GrowingColumn<Rank> copy;
    copy.append(ranks.data(), ranks.size());
    return copy;
  }

  static GrowingColumn<Rank> of_cells(std::span<const std::uint32_t> group, std::span<const Rank> of_group) {
    GrowingColumn<Rank> rank;
    rank.reserve(group.size());
    for (const std::uint32_t one : group) rank.push_back(of_group[one]);
    return rank;
  }

  double price_of_rounds(std::span<const Rank> rank) const {
    if (cells_.columns_of_round == 0) return 0;
    return cells_.columns_of_round * static_cast<double>(rounds_of(cells_.super, cells_.readers.layers, rank) - 1);
  }

  void consider(GrowingColumn<Rank> rank, double price, const std::vector<double>& load) {
    constexpr double rounding = 1 + 1e-9;
    const bool fits = *std::max_element(load.begin(), load.end()) <= limits_.most_load * rounding;
    const bool better = fits == fits_ ? price < price_ : fits;
    if (!best_.empty() && !better) return;
    fits_ = fits, price_ = price, best_ = std::move(rank);
  }

  const CellsToAssign& cells_;
  CellNets nets_;
  RefinementLimits limits_;
  GrowingColumn<Rank> chunk_start_{}, best_{};
  double chunk_price_ = std::numeric_limits<double>::infinity();
  double price_ = std::numeric_limits<double>::infinity();  // of the best
  bool fits_ = false;                                       // whether it is within the limit
};

}  // namespace

GrowingColumn<Rank> assign_cells(const CellsToAssign& cells, const ChunkGraph& chunks,
                                 const std::vector<double>& workload, const std::string& method) {
  if (method == "refined") return Portfolio(cells).best(chunks, workload);
  return cut_by_metis(cells.super, small_blocks(cells), cells.load, cells.ranks, cells.seed);
}

ChunkAssignment split_by_rank(const SuperGraph& super, std::span<const Rank> rank, std::span<const double> load,
                              int ranks, ChunkGraph& chunks) {
  constexpr std::uint32_t none = 0xffffffff;
  ChunkAssignment assignment{{}, std::vector<double>(ranks, 0)};
  const Grouped cells =
      grouped(chunks.cells.size(), rank.size(), [&chunks](std::size_t cell) { return chunks.of_node[cell]; });
  GrowingColumn<std::uint32_t> of_cell(rank.size(), reading_bound());
  std::vector<std::uint32_t> number(ranks, none);  // of each rank's part of the chunk
  for (std::size_t chunk = 0; chunk < chunks.cells.size(); ++chunk) {
    const std::span own =
        std::span(cells.items).subspan(cells.first[chunk], cells.first[chunk + 1] - cells.first[chunk]);
    for (const std::uint32_t cell : own) number[rank[cell]] = 0;
    for (Rank r = 0; r < ranks; ++r) {
      if (number[r] == none) continue;
      number[r] = static_cast<std::uint32_t>(assignment.rank.size());
      assignment.rank.push_back(r);
    }
    for (const std::uint32_t cell : own) of_cell[cell] = number[rank[cell]];
    std::fill(number.begin(), number.end(), none);
  }
  for (std::size_t cell = 0; cell < rank.size(); ++cell) assignment.load[rank[cell]] += load[cell];
  chunks = chunk_graph(super, of_cell.finish(), static_cast<std::uint32_t>(assignment.rank.size()));
  return assignment;
}

}  // namespace strobe
