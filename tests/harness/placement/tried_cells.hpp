// Random cells with layers, their super graph, loads and nets, for tests that assign cells one by one.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "harness/placement/chunks/assign/cell_blocks.hpp"
#include "harness/placement/chunks/assign/cell_nets.hpp"
#include "harness/placement/chunks/chunk_graph.hpp"
#include "harness/placement/chunks/chunk_workload.hpp"
#include "harness/placement/chunks/label_propagation.hpp"
#include "models/snapshots/model.hpp"
#include "tests/harness/placement/random_cells.hpp"

namespace strobe::test {

/// Layers of every temporal need, and neighbours of two layers.
inline std::vector<std::vector<LayerShape>> kinds_of_layers() {
  LayerShape state{3, 6, 6, true, TemporalNeed::recurrent}, restarting = state;
  state.recurrent_state = {2, 6};
  restarting.recurrent_state = {1, 5}, restarting.reset_every = 3;
  const LayerShape window{6, 4, 4, true, TemporalNeed::window, 3}, attention{4, 5, 5, false, TemporalNeed::all};
  return {{state}, {restarting}, {window}, {attention}, {state, window, attention}, {LayerShape{2, 3, 3, true}}};
}

inline std::vector<Rank> random_ranks(std::mt19937& draw, std::size_t count, int ranks) {
  std::vector<Rank> rank;
  for (std::size_t i = 0; i < count; ++i)
    rank.push_back(i < static_cast<std::size_t>(ranks) ? static_cast<Rank>(i) : static_cast<Rank>(draw() % ranks));
  return rank;
}

struct Tried {
  PreparedGraph graph;
  std::vector<LayerShape> layers;
  SuperGraph super;
  Column<double> load;
  Tried(unsigned seed, std::int64_t vertices, std::int64_t steps, std::size_t kind)
      : graph(random_cells(seed, vertices, steps, 2.0, seed % 2 == 0)),
        layers(kinds_of_layers()[kind]),
        super(super_graph(graph, traffic_weights(layers, false, "traffic"))),
        load(cell_workloads(graph, super, {layers, true}, "cost_model")) {}
  ChunkGraph chunks(std::int64_t most) const {
    SuperGraph spent = super;
    return chunk_graph(super, propagate_labels(spent, most, 9, 1).label);
  }
  CellNets nets() const { return cell_nets(graph, super, {layers}, load); }
};

/// Whether sequences pass to another block at a step, of each step that any passes through: [steps].
inline std::vector<std::set<bool>> cuts_of_steps(const SuperGraph& super, const CellBlocks& blocks,
                                                 std::int64_t steps) {
  std::vector<std::set<bool>> cut(steps);
  for (const NodeSequence& sequence : super.sequences)
    for (NodeId cell = sequence.first + 1; cell < sequence.end(); ++cell)
      cut[sequence.step + (cell - sequence.first)].insert(blocks.of_cell[cell] != blocks.of_cell[cell - 1]);
  return cut;
}

}  // namespace strobe::test
