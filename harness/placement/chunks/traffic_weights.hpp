// Weights of the edges between cells: the data that a model moves along them when their ends lie on different ranks.
// DGC's label propagation (Zhou et al., SIGMOD'23, section 4.1) and its assignment scores (Eq. 3; decisions G5, G6) use
// them.
// They follow from the declarations of the layers, so a new model needs no table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/snapshots/model.hpp"

namespace strobe {

/// Edges between cells of one sequence that are at most `reach` steps apart, each of `weight`. A state restarts at
/// every step that `reset_every` divides (0: never); no edge crosses such a step.
struct TemporalTerm {
  std::int64_t reach = 1;
  std::int64_t weight = 0;
  std::int64_t reset_every = 0;
  friend bool operator==(const TemporalTerm&, const TemporalTerm&) = default;
};

/// Weights in columns of a row, which both precisions scale alike.
struct TrafficWeights {
  std::int64_t spatial = 0;          // per entry of A: sends the neighbour's row to its reader
  std::vector<TemporalTerm> listed;  // by reach
  std::int64_t whole_sequence = 0;   // between any two cells of a sequence, at any distance (attention)

  bool has_temporal() const { return whole_sequence > 0 || !listed.empty(); }
};

/// `kind` is one of
/// - traffic: the columns that move. Spatial edges have the input widths of layers that read neighbours. Layers that go
///   step by step add the widths of their products, along the edges or against them. Temporal edges have a state's
///   columns to the next cell (recurrent), or a row of the spatial stage. That row goes to the next w - 1 cells
///   (window) or to all later cells of the sequence (attention). A first product computed before training moves
///   nothing.
/// - profiled: how often a cell's neighbours are aggregated, as DGC counts (T-GCN 2 : 1, DySAT 1 : 1 for all cells of
/// the
///   sequence). The first product counts wherever it is computed: `first_product_done`.
/// - unit: 1 for every edge that moves anything.
TrafficWeights traffic_weights(const std::vector<LayerShape>& layers, bool first_product_done, const std::string& kind);

}  // namespace strobe
