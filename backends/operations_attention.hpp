// Operations of attention: over a vertex's neighbours (graph attention: Velickovic et al., ICLR'18) and over a vertex's
// own past (DySAT: Sankar et al., WSDM'20). Everything is said in the terms of operations.hpp.
#pragma once

#include "backends/operations.hpp"

namespace strobe {

/// ELU's alpha is 1; LeakyReLU's slope is this.
inline constexpr double leaky_slope = 0.2;

/// Elements of the working memory that the operations of graph attention ask for; its contents mean nothing.
inline std::int64_t graph_attention_workspace(std::int64_t rows, std::int64_t columns, std::int64_t heads,
                                              std::int64_t width, bool backward) {
  return columns * 2 * heads + rows * 3 * heads + (backward ? rows * (width + heads) : 0);
}

/// Multi-head attention over the entries of each row of `a`. f [C, H D] holds one block of D columns per head; `left`
/// and `right` [1, H D] give each head's scores l_i = f_i . left (of the row's own vertex, column i) and r_j = f_j .
/// right. Per head: e_ij = LeakyReLU(l_i + r_j) (with `weighted`, LeakyReLU(a_ij (l_i + r_j))), p_ij = softmax of e_ij
/// over the entries j of row i, z_i = sum_j p_ij f_j, y = ELU(z). Column i < R of `a` is row i's own vertex. A row
/// without entries gives 0. Kept for the backward pass: z [R, H D], slopes [R, H D] = sum_j p_ij s_ij f_j and row_stats
/// [R, 2 H] = (log sum_j exp e_ij | sum_j p_ij s_ij), both 0 without entries, with s_ij LeakyReLU's slope at e_ij.
struct GraphAttention {
  static constexpr std::string_view name = "graph_attention";
  SparseMatrix a;
  Tensor f, left, right;
  Tensor y, z, slopes, row_stats;
  Tensor workspace;  // [graph_attention_workspace(...), 1]
  std::int64_t heads = 1;
  bool weighted = false;
  Work work() const {
    using namespace operations_detail;
    const double edges = count(a.nonzeros), width = count(f.columns()), head = count(heads);
    return {edges * (4.0 * width + 8.0 * head) + 4.0 * count(f.rows()) * width,
            static_cast<double>(a.row_offsets.bytes() + a.column_indices.bytes()) +
                (weighted ? bytes_of(a.values) : 0.0) + bytes_of(f),
            bytes_of(y) + bytes_of(z) + bytes_of(slopes) + bytes_of(row_stats), gathered_rows(a, f)};
  }
};

/// Backward of GraphAttention: df [C, H D] is stored or added to; dleft and dright [1, H D] are added to, in an order
/// that does not depend on the number of threads.
struct GraphAttentionBackward {
  static constexpr std::string_view name = "graph_attention_backward";
  SparseMatrix a;
  Tensor f, left, right, z, slopes, row_stats, dy;
  Tensor df, dleft, dright;
  Tensor workspace;  // [graph_attention_workspace(...), 1]
  std::int64_t heads = 1;
  bool weighted = false, accumulate_df = false;
  Work work() const {
    using namespace operations_detail;
    const double edges = count(a.nonzeros), width = count(f.columns()), head = count(heads);
    return {edges * (4.0 * width + 10.0 * head) + 12.0 * count(f.rows()) * width,
            static_cast<double>(a.row_offsets.bytes() + a.column_indices.bytes()) +
                (weighted ? bytes_of(a.values) : 0.0) + bytes_of(f) + bytes_of(z) + bytes_of(slopes) +
                bytes_of(row_stats) + bytes_of(dy),
            bytes_of(df) + bytes_of(dleft) + bytes_of(dright), gathered_rows(a, f)};
  }
};

/// Multi-head attention of each vertex over its own timeline. projected [(first + S) n, 3 F] holds query, key and value
/// of n vertices over first + S steps, time-major; each of the three is H heads of F / H columns. offsets
/// [first + S, 3 F] are added to every row of their step. For the steps t of [first, first + S):
/// o_t = sum over t' <= t of softmax_t'(scale q_t . k_t') v_t', per head; o [S n, F].
struct TemporalAttention {
  static constexpr std::string_view name = "temporal_attention";
  Tensor projected, offsets, o;
  std::int64_t first = 0, steps = 0, heads = 1;
  double scale = 1;
  std::int64_t vertices() const { return steps == 0 ? 0 : o.rows() / steps; }
  /// Pairs (t, t') that each vertex looks at.
  double pairs() const { return 0.5 * static_cast<double>(steps) * static_cast<double>(2 * first + steps + 1); }
  Work work() const {
    using namespace operations_detail;
    return {count(vertices()) * pairs() * (4.0 * count(o.columns()) + 4.0 * count(heads)),
            bytes_of(projected) + bytes_of(offsets), bytes_of(o)};
  }
};

/// Backward of TemporalAttention: dprojected [(first + S) n, 3 F] is stored (zero for queries before `first`), doffsets
/// [first + S, 3 F] is stored: the sum of dprojected over the vertices of each step, in an order that does not depend
/// on the number of threads.
struct TemporalAttentionBackward {
  static constexpr std::string_view name = "temporal_attention_backward";
  Tensor projected, offsets, d_o;
  Tensor dprojected, doffsets;
  std::int64_t first = 0, steps = 0, heads = 1;
  double scale = 1;
  Work work() const {
    using namespace operations_detail;
    const double vertices = steps == 0 ? 0.0 : count(d_o.rows()) / count(steps);
    const double pairs = 0.5 * count(steps) * count(2 * first + steps + 1);
    return {vertices * pairs * (10.0 * count(d_o.columns()) + 8.0 * count(heads)),
            bytes_of(projected) + bytes_of(offsets) + bytes_of(d_o), bytes_of(dprojected) + bytes_of(doffsets)};
  }
};

}  // namespace strobe
