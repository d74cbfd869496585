#include "harness/placement/chunks/assign/cell_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "core/errors.hpp"
#include "harness/placement/chunks/chunk_graph.hpp"
#include "harness/placement/chunks/grouping.hpp"
#include "workloads/partitioners/partitioner.hpp"
#include "workloads/partitioners/partitioning.hpp"

namespace strobe {
namespace {

/// Window of each step: [steps].
std::vector<std::int64_t> windows_of_steps(const SuperGraph& super, std::int64_t steps, std::span<const double> load,
                                           std::int64_t windows) {
  std::vector<double> of_step(steps, 0);
  for (const NodeSequence& sequence : super.sequences)
    for (std::uint32_t i = 0; i < sequence.count; ++i) of_step[sequence.step + i] += load[sequence.first + i];
  const double all = std::accumulate(of_step.begin(), of_step.end(), 0.0);
  std::vector<std::int64_t> window(steps, 0);
  double before = 0;
  for (std::int64_t t = 0; t < steps; ++t) {
    const double middle = before + of_step[t] / 2;
    if (all > 0)
      window[t] = std::min(windows - 1, static_cast<std::int64_t>(middle / all * static_cast<double>(windows)));
    before += of_step[t];
  }
  return window;
}

/// Weight that one cut of a sequence before its place-th cell moves, when all cells before it are on one rank.
std::int64_t weight_of_cut(const TrafficWeights& weights, const NodeSequence& sequence, std::int64_t place) {
  std::int64_t sum = weights.whole_sequence * place;
  for (const TemporalTerm& term : weights.listed) {
    const bool anew = term.reset_every > 0 && (sequence.step + place) % term.reset_every == 0;
    if (!anew) sum += term.weight * std::min(term.reach, place);
  }
  return sum;
}

/// Loads as whole numbers whose sum METIS can count.
Column<std::int64_t> whole_loads(std::span<const double> load) {
  constexpr double total = 1 << 29;
  const double all = std::accumulate(load.begin(), load.end(), 0.0);
  GrowingColumn<std::int64_t> whole;
  for (const double one : load)
    whole.push_back(std::max<std::int64_t>(1, all > 0 ? std::llround(one / all * total) : 1));
  return whole.finish();
}

/// Makes edge weights small enough for their sum to fit, and keeps all above zero.
void shrink(GrowingColumn<std::int64_t>& weights) {
  constexpr std::int64_t most = 1 << 30;
  const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  const std::int64_t divisor = sum / most + 1;
  for (std::int64_t& weight : weights) weight = (weight + divisor - 1) / divisor;
}

/// The edges between blocks, block by block.
class BlockEdges {
 public:
  BlockEdges(const SuperGraph& super, const CellBlocks& blocks)
      : super_(super), blocks_(blocks), sum_(blocks.count, reading_bound()) {}

  WeightedGraph graph(std::span<const double> load) {
    GrowingColumn<std::int64_t> offsets(1, reading_bound()), neighbours, weights;
    const Grouped cells =
        grouped(blocks_.count, blocks_.of_cell.size(), [this](std::size_t i) { return blocks_.of_cell[i]; });
    const GrowingColumn<std::uint32_t> sequence = sequence_of_nodes(super_);
    for (std::uint32_t block = 0; block < blocks_.count; ++block) {
      for (std::uint32_t i = cells.first[block]; i < cells.first[block + std::size_t{1}]; ++i)
        add_cell(cells.items[i], super_.sequences[sequence[cells.items[i]]]);
      std::sort(met_.begin(), met_.end());
      for (const std::uint32_t other : met_) {
        neighbours.push_back(other);
        weights.push_back(std::exchange(sum_[other], 0));
      }
      met_.clear();
      offsets.push_back(static_cast<std::int64_t>(neighbours.size()));
    }
    shrink(weights);
    return {offsets.finish(), neighbours.finish(), weights.finish(), whole_loads(load)};
  }

 private:
  void add_cell(NodeId cell, const NodeSequence& sequence) {
    if (!super_.offsets.empty()) {
      for (std::int64_t e = super_.offsets[cell]; e < super_.offsets[cell + std::size_t{1}]; ++e)
        add(cell, super_.neighbours[e], super_.weights.spatial);
    }
    const std::int64_t place = cell - sequence.first;
    if (place > 0) add(cell, cell - 1, weight_of_cut(super_.weights, sequence, place));
    if (cell + 1 < sequence.end()) add(cell, cell + 1, weight_of_cut(super_.weights, sequence, place + 1));
  }
  void add(NodeId cell, NodeId other, std::int64_t weight) {
    const std::uint32_t block = blocks_.of_cell[other];
    if (weight == 0 || block == blocks_.of_cell[cell]) return;
    if (sum_[block] == 0) met_.push_back(block);
    sum_[block] += weight;
  }

  const SuperGraph& super_;
  const CellBlocks& blocks_;
  GrowingColumn<std::int64_t> sum_;  // [blocks]
  std::vector<std::uint32_t> met_;
};

}  // namespace

CellBlocks single_cells(const SuperGraph& super) {
  GrowingColumn<std::uint32_t> itself(super.nodes(), reading_bound());
  std::iota(itself.begin(), itself.end(), 0u);
  return {itself.finish(), static_cast<std::uint32_t>(super.nodes())};
}

CellBlocks cells_with_followers(const SuperGraph& super, std::span<const double> load, double most) {
  GrowingColumn<std::uint32_t> block(super.nodes(), reading_bound());
  std::uint32_t count = 0;
  double held = 0;
  for (const NodeSequence& sequence : super.sequences) {
    for (NodeId cell = sequence.first; cell < sequence.end(); ++cell) {
      const bool alone = super.offsets.empty() || super.offsets[cell] == super.offsets[cell + std::size_t{1}];
      const bool joins = cell > sequence.first && alone && held + load[cell] <= most;
      if (!joins) ++count, held = 0;
      held += load[cell];
      block[cell] = count - 1;
    }
  }
  return {block.finish(), count};
}

CellBlocks windows_of_sequences(const SuperGraph& super, std::int64_t steps, std::span<const double> load,
                                std::int64_t windows) {
  const std::vector<std::int64_t> window = windows_of_steps(super, steps, load, windows);
  GrowingColumn<std::uint32_t> block(super.nodes(), reading_bound());
  std::uint32_t count = 0;
  for (const NodeSequence& sequence : super.sequences) {
    for (std::uint32_t i = 0; i < sequence.count; ++i) {
      const Step step = sequence.step + static_cast<Step>(i);
      if (i == 0 || window[step] != window[step - 1]) ++count;
      block[sequence.first + i] = count - 1;
    }
  }
  return {block.finish(), count};
}

WeightedGraph edges_between(const SuperGraph& super, const CellBlocks& blocks, std::span<const double> load) {
  GrowingColumn<double> of_block(blocks.count, reading_bound());
  for (std::size_t cell = 0; cell < load.size(); ++cell) of_block[blocks.of_cell[cell]] += load[cell];
  return BlockEdges(super, blocks).graph(of_block);
}

bool has_metis() { return PartitionerRegistry::instance().contains("metis"); }

GrowingColumn<Rank> runs_of_steps(const SuperGraph& super, std::int64_t steps, std::span<const double> load,
                                  int ranks) {
  const std::vector<std::int64_t> window = windows_of_steps(super, steps, load, ranks);
  GrowingColumn<Rank> rank;
  for (const NodeSequence& sequence : super.sequences)
    for (std::uint32_t i = 0; i < sequence.count; ++i) rank.push_back(static_cast<Rank>(window[sequence.step + i]));
  return rank;
}

GrowingColumn<Rank> cut_by_metis(const SuperGraph& super, const CellBlocks& blocks, std::span<const double> load,
                                 int ranks, std::uint64_t seed) {
  if (!has_metis())
    throw InvalidRequest("/strategy/assign", "this program was built without METIS (libmetis-dev); use assign=refined");
  const auto& metis = PartitionerRegistry::instance().find("metis");
  const GrowingColumn<Rank> part = metis.value.weighted(edges_between(super, blocks, load), ranks, seed);
  GrowingColumn<Rank> rank(blocks.of_cell.size(), reading_bound());
  std::transform(blocks.of_cell.begin(), blocks.of_cell.end(), rank.begin(),
                 [&part](std::uint32_t block) { return part[block]; });
  return rank;
}

std::int64_t rounds_of(const SuperGraph& super, const std::vector<LayerShape>& layers, std::span<const Rank> rank) {
  std::int64_t most = 0;
  std::set<std::int64_t> restarts;  // one walk for each rhythm, which layers may share
  for (const LayerShape& layer : layers) {
    if (layer.need != TemporalNeed::recurrent || !restarts.insert(layer.reset_every).second) continue;
    for (const NodeSequence& sequence : super.sequences) {
      std::int64_t changes = 0;
      for (NodeId node = sequence.first + 1; node < sequence.end(); ++node) {
        const std::int64_t step = sequence.step + (node - sequence.first);
        const bool anew = layer.reset_every > 0 && step % layer.reset_every == 0;
        changes = anew ? 0 : changes + (rank[node] != rank[node - 1] ? 1 : 0);
        most = std::max(most, changes);
      }
    }
  }
  return most + 1;
}

}  // namespace strobe
