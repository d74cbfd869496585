// Spatial stages of a rank whose rows are computed in parts (RowUnit): each part loads the rows that it reads into a
// tensor of its own (DGC, SIGMOD'23, section 5.1.1). Parts are kept for the backward pass, or computed again there.
#pragma once

#include <vector>

#include "models/snapshots/layer_protocol.hpp"

namespace strobe {

/// Results of parts, and the rows to which they belong.
struct CollectedRows {
  std::vector<Var> parts;
  std::vector<PackedRows> lists;
  void add(const Var& part, const PackedRows& list) {
    parts.push_back(part);
    lists.push_back(list);
  }
};

/// Counts the rows that the spatial stage of layer `layer` loads if it reads neighbours: the rows of its input that the
/// rows of `a` read, also where a joint form never stores them. The first of these stages also counts `a`.
void count_loaded(Device& device, const std::vector<LayerShape>& layers, std::size_t layer, const SparseMatrix* a);

/// The output [own rows, spatial_width] of the spatial stage of layer `layer` from its input x, own rows first, part by
/// part. If `stages` reruns units, only the output is kept. The backward pass then computes each part again and
/// differentiates it at once, so that the results between are those of one part at a time. `units`, and the model,
/// parameters and pass of `call`, must outlive the backward pass. All ranks must call it.
Var spatial_by_units(const ModelCall& call, LayerStages& stages, std::size_t layer, const std::vector<RowUnit>& units,
                     const Var& x);

}  // namespace strobe
