// The decoder of future links, that of TGL and DistTGL, for every model: w . relu(z_u W_s + z_v W_d + b) + b'.
#pragma once

#include <cstdint>
#include <vector>

#include "models/tape/parameters.hpp"

namespace strobe {

/// Its weights for embeddings `width` wide: `decoder.source`, `decoder.destination` [F, F], `decoder.output` [F, 1] and
/// their biases.
std::vector<ParameterShape> link_decoder_parameters(std::int64_t width);

/// Scores [E, C] of events whose sources have the embeddings [E, F] and whose candidates [E C, F], event by event.
Var link_scores(Tape& tape, const Parameters& parameters, const Var& sources, const Var& candidates);

/// Scores [n, 1] of pairs of rows of `embeddings` [R, F]: of rows lists[0] as sources and lists[1] as destinations.
Var link_scores(Tape& tape, const Parameters& parameters, const Var& embeddings, const std::vector<Tensor>& lists,
                std::int64_t count);

}  // namespace strobe
