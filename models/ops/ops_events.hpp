// Differentiable operations over the roots of a batch of events (backends/operations/operations_events.hpp).
#pragma once

#include "backends/operations/operations_events.hpp"
#include "models/tape/tape.hpp"

namespace strobe {

/// The slots of each root, and the vertices that they read.
struct RootSlots {
  Tensor rows;     // i64 [S, 1] row of `vertex` of each slot
  Tensor offsets;  // i64 [R + 1, 1] slots of each root
};

/// The results of attention per root: the weighted sums of values, y [R, F], and of codes, mixed [R, H C], head by
/// head.
struct AttendedRoots {
  Var y, mixed;
};

/// Attention of each root over its slots (NeighbourAttention); 0 for a root without slots. q [R, F] meets vertex [U, 2
/// F], which holds keys next to values of vertices. code_query [R, H C] meets the slots' codes, code [S, C]. Every
/// reader of either result must be recorded after this call. `y` must be read, otherwise neither result gets a
/// gradient.
AttendedRoots neighbour_attention(Tape& tape, const Var& q, const Var& vertex, const Var& code, const Var& code_query,
                                  const RootSlots& slots, std::int64_t heads, AttentionScale scale,
                                  const NeighbourDropout& dropout = {});

/// w . relu(a_e + b_{e C + c}) + bias for E events of C candidates each, [E, C]; a [E, F], b [E C, F], w [F, 1], bias
/// [1, 1].
Var pair_scores(Tape& tape, const Var& a, const Var& b, const Var& w, const Var& bias);

/// Adds scale times the binary cross-entropy of every logit, summed, to `loss` (f64 [1, 1]) and sets the gradient of
/// `logits` [E, C]. The bits of `targets` (i64 [E, 1], C at most 64) name the true columns; where it is undefined, the
/// first column is true. Throws Error when the logits have a gradient already.
void binary_cross_entropy(Tape& tape, const Var& logits, double scale, const Tensor& loss, const Tensor& targets = {});

}  // namespace strobe
