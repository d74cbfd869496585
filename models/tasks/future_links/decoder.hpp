// The decoder of future links, that of TGL and DistTGL, for every model: w . relu(z_u W_s + z_v W_d + b) + b'. With
// codes of the pair's past (pair_history.hpp) the rows that they choose are added inside the relu.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/tape/parameters.hpp"

namespace strobe {

/// Its weights for embeddings `width` wide: `decoder.source`, `decoder.destination` [F, F], `decoder.output` [F, 1] and
/// their biases. With `codes` also the tables of pair_code_parameters.
std::vector<ParameterShape> link_decoder_parameters(std::int64_t width, bool codes = false);

/// Scores [E, C] of events whose sources have the embeddings [E, F] and whose candidates [E C, F], event by event.
/// `codes`: i64 [E C, 1] of each table, or none.
Var link_scores(Tape& tape, const Parameters& parameters, const Var& sources, const Var& candidates,
                std::span<const Tensor> codes);

/// Scores [n, 1] of pairs of rows of `embeddings` [R, F]: of rows lists[0] as sources and lists[1] as destinations. Any
/// other lists are codes.
Var link_scores(Tape& tape, const Parameters& parameters, const Var& embeddings, const std::vector<Tensor>& lists,
                std::int64_t count);

}  // namespace strobe
