// Differentiable operations of attention over neighbours and over the past, with dropout of their coefficients.
#pragma once

#include "backends/operations/operations_attention.hpp"
#include "backends/operations/operations_edge_attention.hpp"
#include "models/tape/tape.hpp"

namespace strobe {

/// ELU of the attention of each row of a [R, C] over its entries: f [C, H D] are the transformed vertices, `left` and
/// `right` [1, H D] the leaves that score a row's own vertex and its neighbours; column i < R is row i's own vertex.
/// With `weighted`, logits are multiplied by the entries of `a` before LeakyReLU.
Var graph_attention(Tape& tape, const SparseMatrix& a, const Var& f, const Var& left, const Var& right,
                    std::int64_t heads, bool weighted, const AttentionDropout& dropout = {});

/// Attention of each vertex over its own steps: projected [(first + steps) n, 3 F] = (query | key | value), time-major,
/// plus `offsets` [first + steps, 3 F] of each step. Result [steps n, F] for the steps from `first` on.
Var temporal_attention(Tape& tape, const Var& projected, const Var& offsets, std::int64_t first, std::int64_t steps,
                       std::int64_t heads, double scale, const AttentionDropout& dropout = {});

/// The earlier rows that rows of packed sequences attend to (TemporalAttention).
struct PackedPast {
  Tensor sequences;  // i32 [steps * n, 3]
  double pairs = 0;
};

/// The same over the rows of n bins of packed sequences: projected [steps n, 3 F], positions included; result [steps
/// n, F], 0 in rows that need no output.
Var packed_temporal_attention(Tape& tape, const Var& projected, std::int64_t steps, std::int64_t heads, double scale,
                              const PackedPast& past, const AttentionDropout& dropout = {});

/// For each row of a [R, C], the values v [C, H E] of its entries, weighted by the softmax of the scores of q [R, H D]
/// and k [C, H D] (operations_edge_attention.hpp); `w` [1, H D] may be null. Variables may be there twice.
Var edge_attention(Tape& tape, const SparseMatrix& a, const EdgeScore& score, const Var& q, const Var& k, const Var& v,
                   const Var& w);

/// a + b, same shape.
Var sum_of(Tape& tape, const Var& a, const Var& b);

}  // namespace strobe
