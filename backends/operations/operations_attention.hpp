// Operations of attention: over a vertex's neighbours (graph attention: Velickovic et al., ICLR'18) and over a vertex's
// own past (DySAT: Sankar et al., WSDM'20). Terms are those of operations.hpp.
#pragma once

#include "backends/operations/operations.hpp"
#include "core/random.hpp"

namespace strobe {

namespace random_purpose {
inline constexpr std::uint32_t edge_dropout = 33;
inline constexpr std::uint32_t past_dropout = 34;
}  // namespace random_purpose

/// Dropout of attention's coefficients, each head by itself, after the softmax (Velickovic et al., section 3.3): a
/// coefficient is 0 with probability `rate`, otherwise divided by 1 - rate. The choice depends only on seed, key, the
/// row's cell, the cell that it looks at, and the head. `ids` i64 are the cells' numbers, step * N + vertex.
struct AttentionDropout {
  double rate = 0;  // 0: none
  std::uint64_t seed = 1;
  std::uint32_t key = 0;
  Tensor ids = {};                // i64 [R, 1] for a graph's rows; [n, 1] for the vertices of a timeline, in the rows
                                  // of any one step
  Tensor columns = {};            // i32 [C, 1] vertices of a graph's columns; none over the past
  std::int64_t all_vertices = 1;  // N

  bool drops() const { return rate > 0; }
  /// Floating-point operations that dropout adds to an operation with `coefficients` coefficients.
  double flops(double coefficients) const { return drops() ? 20.0 * coefficients : 0.0; }
  double bytes() const { return drops() ? static_cast<double>(ids.bytes() + columns.bytes()) : 0.0; }
  /// Four random words; a coefficient whose word is below `limit` is dropped. `what` is the cell that is looked at.
  std::array<std::uint32_t, 4> words(std::uint64_t cell, std::uint32_t what, std::uint32_t group,
                                     std::uint32_t purpose) const {
    return philox({static_cast<std::uint32_t>(cell), static_cast<std::uint32_t>(cell >> 32) ^ (group << 16), what, key},
                  {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32) ^ (purpose << 24)});
  }
  /// Factor of head `head` of the edge from `column` to `row`: word head mod 4 of group head / 4.
  double of_edge(std::int64_t row, std::int64_t column, std::int64_t head) const {
    const std::uint64_t cell = ids.data<std::int64_t>()[row];
    const auto vertex = static_cast<std::uint32_t>(columns.data<std::int32_t>()[column]);
    return factor(words(cell, vertex, static_cast<std::uint32_t>(head / 4), random_purpose::edge_dropout)[head % 4]);
  }
  /// Factor of head `head` of the query of `vertex` (a row of `ids`) at step t for step s: word s mod 4 of `what` s /
  /// 4.
  double of_past(std::int64_t vertex, std::int64_t t, std::int64_t s, std::int64_t head) const {
    return factor(words(cell_of(vertex, t), static_cast<std::uint32_t>(s / 4), static_cast<std::uint32_t>(head),
                        random_purpose::past_dropout)[s % 4]);
  }
  std::uint64_t cell_of(std::int64_t vertex, std::int64_t t) const {
    return static_cast<std::uint64_t>(t * all_vertices + ids.data<std::int64_t>()[vertex] % all_vertices);
  }
  double factor(std::uint32_t word) const { return word < limit() ? 0.0 : 1.0 / (1.0 - rate); }
  std::uint64_t limit() const { return static_cast<std::uint64_t>(rate * 0x1.0p32); }
};

/// ELU's alpha is 1; LeakyReLU's slope is this.
inline constexpr double leaky_slope = 0.2;

/// Number of elements of the working memory of graph attention's operations; its contents have no meaning between
/// calls.
inline std::int64_t graph_attention_workspace(std::int64_t rows, std::int64_t columns, std::int64_t heads,
                                              std::int64_t width, bool backward) {
  return columns * 2 * heads + rows * 3 * heads + (backward ? rows * (width + heads) : 0);
}

/// Multi-head attention over the entries of each row of `a`. f [C, H D] holds one block of D columns per head; `left`
/// and `right` [1, H D] give each head's scores l_i = f_i . left (of the row's own vertex, column i) and r_j = f_j .
/// right. Per head: e_ij = LeakyReLU(l_i + r_j) (with `weighted`, LeakyReLU(a_ij (l_i + r_j))), p_ij = softmax of e_ij
/// over the entries j of row i, z_i = sum_j p_ij f_j, y = ELU(z). With dropout's factors d_ij, p_ij d_ij stands for
/// p_ij in the sums over f_j. Column i < R of `a` is row i's own vertex. A row without entries gives 0. Kept for the
/// backward pass: z [R, H D], slopes [R, H D] = sum_j p_ij s_ij f_j and row_stats [R, 2 H] = (log sum_j exp e_ij |
/// sum_j p_ij s_ij), both 0 without entries, with s_ij LeakyReLU's slope at e_ij.
struct GraphAttention {
  static constexpr std::string_view name = "graph_attention";
  SparseMatrix a;
  Tensor f, left, right;
  Tensor y, z, slopes, row_stats;
  Tensor workspace;  // [graph_attention_workspace(...), 1]
  std::int64_t heads = 1;
  bool weighted = false;
  AttentionDropout dropout = {};
  Work work() const {
    using namespace operations_detail;
    const double edges = count(a.nonzeros), width = count(f.columns()), head = count(heads);
    return {edges * (4.0 * width + 8.0 * head) + 4.0 * count(f.rows()) * width + dropout.flops(edges * head),
            static_cast<double>(a.row_offsets.bytes() + a.column_indices.bytes()) +
                (weighted ? bytes_of(a.values) : 0.0) + bytes_of(f) + dropout.bytes(),
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
  AttentionDropout dropout = {};
  Work work() const {
    using namespace operations_detail;
    const double edges = count(a.nonzeros), width = count(f.columns()), head = count(heads);
    return {edges * (4.0 * width + 10.0 * head) + 12.0 * count(f.rows()) * width + dropout.flops(edges * head),
            static_cast<double>(a.row_offsets.bytes() + a.column_indices.bytes()) +
                (weighted ? bytes_of(a.values) : 0.0) + bytes_of(f) + bytes_of(z) + bytes_of(slopes) +
                bytes_of(row_stats) + bytes_of(dy) + dropout.bytes(),
            bytes_of(df) + bytes_of(dleft) + bytes_of(dright), gathered_rows(a, f)};
  }
};

/// Multi-head attention of each vertex over its own timeline. projected [(first + S) n, 3 F] holds query, key and value
/// of n vertices over first + S steps, time-major; each of the three is H heads of F / H columns. offsets [first + S, 3
/// F] are added to every row of their step. For the steps t of [first, first + S):
/// o_t = sum over t' <= t of softmax_t'(scale q_t . k_t') v_t', per head, after dropout; o [S n, F].
/// Packed sequences: n bins hold sequences end to end, and first = 0. `sequences` i32 [S n, 3] has three numbers for
/// each row: the bin's step at which its sequence begins, the row's step in the graph, and 1 if its output is wanted.
/// With 0 the row is only looked at (o = 0, its d_o is not read). t' then starts where the sequence begins. offsets are
/// undefined, because `projected` includes them. Dropout has one id for each row, and steps count as in the graph.
struct TemporalAttention {
  static constexpr std::string_view name = "temporal_attention";
  Tensor projected, offsets, o;
  std::int64_t first = 0, steps = 0, heads = 1;
  double scale = 1;
  AttentionDropout dropout = {};
  Tensor sequences = {};    // only for packed sequences
  double packed_pairs = 0;  // only for packed sequences: pairs of a wanted row and a row that it looks at
  std::int64_t vertices() const { return steps == 0 ? 0 : o.rows() / steps; }
  /// Pairs (t, t') that each vertex looks at.
  double pairs() const { return 0.5 * static_cast<double>(steps) * static_cast<double>(2 * first + steps + 1); }
  Work work() const {
    using namespace operations_detail;
    const double seen = sequences.defined() ? packed_pairs : count(vertices()) * pairs();
    return {seen * (4.0 * count(o.columns()) + 4.0 * count(heads)) + dropout.flops(seen * count(heads)),
            bytes_of(projected) + (sequences.defined() ? bytes_of(sequences) : bytes_of(offsets)) + dropout.bytes(),
            bytes_of(o)};
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
  AttentionDropout dropout = {};
  Tensor sequences = {};    // as in TemporalAttention; doffsets is undefined then
  double packed_pairs = 0;  // as in TemporalAttention
  Work work() const {
    using namespace operations_detail;
    const double vertices = steps == 0 ? 0.0 : count(d_o.rows()) / count(steps);
    const double pairs = 0.5 * count(steps) * count(2 * first + steps + 1);
    const double seen = sequences.defined() ? packed_pairs : vertices * pairs;
    return {seen * (10.0 * count(d_o.columns()) + 8.0 * count(heads) + dropout.flops(count(heads))),
            bytes_of(projected) + (sequences.defined() ? bytes_of(sequences) : bytes_of(offsets)) + bytes_of(d_o) +
                dropout.bytes(),
            bytes_of(dprojected) + (doffsets.defined() ? bytes_of(doffsets) : 0.0)};
  }
};

/// Whether bins are timelines, for kernels that do not support packed sequences.
template <class Op>
bool without_sequences(const Op& op) {
  return !op.sequences.defined();
}

}  // namespace strobe
