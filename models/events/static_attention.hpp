// The model that pre-trains static node memory: the attention of tgn-attn over a table of vectors, without times, edges
// or dynamic memory. DistTGL, section 4.0.1, describes it as the same architecture with static information alone.
#pragma once

#include <vector>

#include "models/events/event_model.hpp"

namespace strobe {

/// "static.table" [vertices, d], and the weights of its attention.
std::vector<ParameterShape> static_attention_parameters(const StaticMemoryRequest& request, std::int64_t vertices);

/// Embeddings [R, d] of the level's roots from rows of the table [U, d]; `level` has slots and rows of U, and neither
/// times nor features.
Var static_attention(Tape& tape, const Parameters& parameters, const StaticMemoryRequest& request, const Var& rows,
                     const NeighbourLevel& level);

}  // namespace strobe
