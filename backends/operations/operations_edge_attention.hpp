// Attention over the entries of each row of a matrix, with queries, keys and values of the caller's making (captured
// models: Vaswani et al., NeurIPS'17; Velickovic et al., ICLR'18; Brody et al., ICLR'22). Terms are those of
// operations.hpp.
#pragma once

#include <cstdint>

#include "backends/operations/operations.hpp"

namespace strobe {

/// How a query and a key give the score of an entry, per head of D columns.
struct EdgeScore {
  std::int64_t heads = 1;
  bool added = false;  // sum_d w_d LeakyReLU(q_d + k_d); otherwise p times the sum of q_d k_d
  double p = 1;        // the factor, or LeakyReLU's slope
};

/// Per head: e_ij = score(q_i, k_j), p_ij = softmax of e_ij over the entries j of row i, y_i = sum_j p_ij v_j. q [R, H
/// D], k [C, H D], v [C, H E], y [R, H E]. `w` [1, H D] weighs the columns of an added score; undefined: ones. A row
/// without entries gives 0. Kept for the backward pass: log_sums [R, H] = log sum_j exp e_ij, 0 without entries.
struct EdgeAttention {
  static constexpr std::string_view name = "edge_attention";
  SparseMatrix a;
  Tensor q, k, v, w;
  Tensor y, log_sums;
  EdgeScore score = {};
  Work work() const {
    using namespace operations_detail;
    const double edges = count(a.nonzeros);
    return {edges * (3.0 * count(q.columns()) + 2.0 * count(v.columns()) + 6.0 * count(score.heads)),
            bytes_of(a.row_offsets) + bytes_of(a.column_indices) + bytes_of(q) + bytes_of(k) + bytes_of(v),
            bytes_of(y) + bytes_of(log_sums), gathered()};
  }
  /// A key and a value for every entry.
  Gather gathered() const {
    const Gather keys = operations_detail::gathered_rows(a, k), values = operations_detail::gathered_rows(a, v);
    return {keys.accessed_bytes + values.accessed_bytes, keys.distinct_bytes + values.distinct_bytes,
            keys.window_bytes + values.window_bytes, keys.row_bytes + values.row_bytes};
  }
};

/// Backward of EdgeAttention: dq, dk and dv are stored or added to, in this order, so that they may be one tensor; an
/// undefined one is left out. dw is added to, in an order that does not depend on the number of threads.
struct EdgeAttentionBackward {
  static constexpr std::string_view name = "edge_attention_backward";
  SparseMatrix a;
  Tensor q, k, v, w, y, log_sums, dy;
  Tensor dq, dk, dv, dw;
  EdgeScore score = {};
  bool accumulate_q = false, accumulate_k = false, accumulate_v = false;
  Work work() const {
    using namespace operations_detail;
    const double edges = count(a.nonzeros);
    const Gather once = EdgeAttention{a, q, k, v, w, y, log_sums, score}.gathered();
    return {edges * (9.0 * count(q.columns()) + 6.0 * count(v.columns()) + 12.0 * count(score.heads)),
            2.0 * (bytes_of(a.row_offsets) + bytes_of(a.column_indices)) + bytes_of(q) + bytes_of(k) + bytes_of(v) +
                bytes_of(y) + bytes_of(dy) + bytes_of(log_sums),
            optional(dq) + optional(dk) + optional(dv) + optional(dw), once};
  }

 private:
  static double optional(const Tensor& tensor) { return tensor.defined() ? operations_detail::bytes_of(tensor) : 0.0; }
};

}  // namespace strobe
