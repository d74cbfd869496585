#include "harness/placement/chunks/assign/cell_assignment.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "harness/placement/chunks/assign/cell_blocks.hpp"
#include "harness/placement/chunks/assign/rank_refinement.hpp"
#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

std::vector<Rank> rank_of_cells(const ChunkGraph& chunks, const std::vector<Rank>& of_chunk) {
  std::vector<Rank> rank;
  for (const std::uint32_t chunk : chunks.of_node) rank.push_back(of_chunk[chunk]);
  return rank;
}

/// Single cells of a graph of few, else blocks that are much smaller than a rank's share, which take a fraction of the
/// time.
CellBlocks small_blocks(const CellsToAssign& cells) {
  constexpr int blocks_of_rank = 256;
  constexpr std::int64_t few_cells = 1 << 17;
  if (cells.super.nodes() <= few_cells) return single_cells(cells.super);
  const double all = std::accumulate(cells.load.begin(), cells.load.end(), 0.0);
  return cells_with_followers(cells.super, cells.load, all / cells.ranks / blocks_of_rank);
}

/// Looks for the assignment that sends least, from several starts.
class Portfolio {
 public:
  explicit Portfolio(const CellsToAssign& cells)
      : cells_(cells),
        nets_(cell_nets(cells.graph, cells.super, cells.readers, cells.load)),
        limits_{cells.ranks, 0, cells.seed} {
    const double all = std::accumulate(cells.load.begin(), cells.load.end(), 0.0);
    limits_.most_load = allowed_imbalance * all / cells.ranks;
  }

  std::vector<Rank> best(const ChunkGraph& chunks, const std::vector<double>& workload) {
    start_from_chunks(chunks, workload);
    const CellBlocks blocks = small_blocks(cells_);
    refine_cut(blocks);
    refine(blocks, runs_of_steps(cells_.super, cells_.graph.steps, cells_.load, cells_.ranks));
    for (std::int64_t count = 1; cells_.columns_of_round > 0 && count <= cells_.graph.steps / 2; count *= 2)
      refine_cut(windows(count));
    if (price_of(chunk_start_) <= price_) {
      const std::vector<double> load = load_of_ranks(nets_, chunk_start_, cells_.ranks);
      limits_.most_load = std::max(limits_.most_load, *std::max_element(load.begin(), load.end()));
      refine(single_cells(cells_.super), chunk_start_);
    }
    return std::move(best_);
  }

 private:
  CellBlocks windows(std::int64_t count) const {
    return windows_of_sequences(cells_.super, cells_.graph.steps, cells_.load, count);
  }

  void start_from_chunks(const ChunkGraph& chunks, const std::vector<double>& workload) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const char* method : {"score", "lpt", "score_then_fill"}) {
      std::vector<Rank> rank = rank_of_cells(chunks, assign_chunks(chunks, workload, cells_.ranks, method).rank);
      const std::int64_t sent = sent_columns(nets_, rank);
      if (sent >= least) continue;
      least = sent, chunk_start_ = std::move(rank);
    }
  }

  void refine_cut(const CellBlocks& blocks) {
    if (has_metis()) refine(blocks, cut_by_metis(cells_.super, blocks, cells_.load, cells_.ranks, cells_.seed));
  }

  void refine(const CellBlocks& moved, const std::vector<Rank>& start) {
    const CellNets nets = merged_nodes(nets_, moved.of_cell, moved.count);
    std::vector<Rank> of_block(moved.count);
    for (std::size_t cell = 0; cell < start.size(); ++cell) of_block[moved.of_cell[cell]] = start[cell];
    balance_ranks(nets, limits_, of_block);
    refine_ranks(nets, limits_, of_block);
    std::vector<Rank> rank;
    for (const std::uint32_t block : moved.of_cell) rank.push_back(of_block[block]);
    consider(std::move(rank), load_of_ranks(nets, of_block, cells_.ranks));
  }

  double price_of(const std::vector<Rank>& rank) const {
    return static_cast<double>(sent_columns(nets_, rank)) +
           cells_.columns_of_round * static_cast<double>(rounds_of(cells_.super, rank) - 1);
  }

  void consider(std::vector<Rank> rank, const std::vector<double>& load) {
    constexpr double rounding = 1 + 1e-9;
    const bool fits = *std::max_element(load.begin(), load.end()) <= limits_.most_load * rounding;
    const double price = price_of(rank);
    const bool better = fits == fits_ ? price < price_ : fits;
    if (!best_.empty() && !better) return;
    fits_ = fits, price_ = price, best_ = std::move(rank);
  }

  const CellsToAssign& cells_;
  CellNets nets_;
  RefinementLimits limits_;
  std::vector<Rank> chunk_start_, best_;
  double price_ = std::numeric_limits<double>::infinity();  // of the best
  bool fits_ = false;                                       // whether it is within the limit
};

}  // namespace

std::vector<Rank> assign_cells(const CellsToAssign& cells, const ChunkGraph& chunks,
                               const std::vector<double>& workload, const std::string& method) {
  if (method == "refined") return Portfolio(cells).best(chunks, workload);
  return cut_by_metis(cells.super, small_blocks(cells), cells.load, cells.ranks, cells.seed);
}

ChunkAssignment split_by_rank(const SuperGraph& super, const std::vector<Rank>& rank, const std::vector<double>& load,
                              int ranks, ChunkGraph& chunks) {
  ChunkAssignment assignment{{}, std::vector<double>(ranks, 0)};
  std::map<std::pair<std::uint32_t, Rank>, std::uint32_t> number;
  for (std::size_t cell = 0; cell < rank.size(); ++cell) number[{chunks.of_node[cell], rank[cell]}] = 0;
  for (auto& [part, of_part] : number) {
    of_part = static_cast<std::uint32_t>(assignment.rank.size());
    assignment.rank.push_back(part.second);
  }
  std::vector<std::uint32_t> of_cell;
  for (std::size_t cell = 0; cell < rank.size(); ++cell) {
    of_cell.push_back(number.at({chunks.of_node[cell], rank[cell]}));
    assignment.load[rank[cell]] += load[cell];
  }
  chunks = chunk_graph(super, std::move(of_cell), static_cast<std::uint32_t>(number.size()));
  return assignment;
}

}  // namespace strobe
