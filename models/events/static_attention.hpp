// The model that pre-trains static node memory: the attention of tgn-attn over a table of vectors, without times, edges
// or dynamic memory. DistTGL, section 4.0.1, describes it as the same architecture with static information alone.
#pragma once

#include <vector>

#include "models/events/event_model.hpp"

namespace strobe {

/// "static.table" [vertices, d], and the weights of its attention.
std::vector<ParameterShape> static_attention_parameters(const StaticMemoryRequest& request, std::int64_t vertices);

/// Embeddings [R, d] of the level's roots from the rows `vertices` (i64 [U, 1]) of the table; `level` has slots and
/// rows of U, and neither times nor features.
Var static_attention(Tape& tape, const Parameters& parameters, const StaticMemoryRequest& request,
                     const Tensor& vertices, const NeighbourLevel& level);

}  // namespace strobe
