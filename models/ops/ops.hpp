// Differentiable operations on the tape. Shapes in brackets; R rows of this rank, F and G feature widths.
#pragma once

#include <array>
#include <vector>

#include "models/tape/tape.hpp"

namespace strobe {

/// activation(x[R, F] w[F, G] + bias[1, G]); `bias` may be null.
Var dense(Tape& tape, const Var& x, const Var& w, const Var& bias, Activation activation);

/// A[R, C] x[C, F].
Var spmm(Tape& tape, const SparseMatrix& a, const Var& x);

/// a x and b z, equally wide, as one operation. Every reader of either result must be recorded after this call. The
/// first result must be read, otherwise neither product has a gradient.
std::array<Var, 2> spmm_pair(Tape& tape, const SparseMatrix& a, const Var& x, const SparseMatrix& b, const Var& z);

/// activation((A[R, C] x[C, F]) w[F, G]) in one pass (ESDG equation 2). Keeps A x for the weight gradient.
Var graph_convolution(Tape& tape, const SparseMatrix& a, const Var& x, const Var& w, Activation activation);

/// M-transform over `steps` of x [steps * n, F] with `window` terms (ESDG section 5.3).
Var m_transform(Tape& tape, const Var& x, std::int64_t steps, std::int64_t window);

/// M-transform over `steps` of activation(x[steps * n, F] w[F, G]), in one pass where x needs no gradient and the
/// window is short; activation(x w) is then not kept.
Var dense_m_transform(Tape& tape, const Var& x, const Var& w, Activation activation, std::int64_t steps,
                      std::int64_t window);

/// Rows [first, first + count) of x, as a view.
Var slice_rows(Tape& tape, const Var& x, std::int64_t first, std::int64_t count);

/// The parts one below the other; all have the same number of columns.
Var concat_rows(Tape& tape, const std::vector<Var>& parts);

/// Rows of several lists side by side: result[i] = [x[lists[0][i]] | x[lists[1][i]] | ...], [S, lists * F].
/// Each list is i64 [S, 1] on the device.
Var gather_rows(Tape& tape, const Var& x, const std::vector<Tensor>& lists, std::int64_t count);

/// gather_rows(x, lists) w[lists * F, G] + bias[1, G]. The gathered rows are not stored where the device reads them one
/// by one; `bias` may be null.
Var gathered_dense(Tape& tape, const Var& x, const std::vector<Tensor>& lists, std::int64_t count, const Var& w,
                   const Var& bias);

/// Adds sum_i -log softmax(logits_i)[labels_i] * scale to `loss` (f64 [1, 1]) and starts the backward pass there:
/// the gradient of `logits` is set at once. logits [S, C], labels i32 [S, 1].
void softmax_cross_entropy(Tape& tape, const Var& logits, const Tensor& labels, double scale, const Tensor& loss);

}  // namespace strobe
