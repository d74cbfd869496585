// Operations of models of events over the roots of a batch: attention over each root's sampled neighbours (TGN: Rossi
// et al., 2020; DistTGL: Zhou et al., SC'23, equation 7), scores of vertex pairs, and the losses of a link. R roots, S
// slots (sampled neighbours of all roots, root by root), U distinct vertices. Terms are those of operations.hpp.
#pragma once

#include "backends/operations/operations_attention.hpp"

namespace strobe {

namespace random_purpose {
inline constexpr std::uint32_t neighbour_dropout = 35;
}  // namespace random_purpose

/// The factor of the product of a query and a key before the softmax.
enum class AttentionScale : std::uint8_t {
  neighbours,  // 1 / sqrt(neighbours found), DistTGL's equation 7
  head,        // 1 / sqrt(columns of a head), TGN
  leaky,       // nothing, but LeakyReLU with slope 0.2 after it: DistTGL's and TGL's released code
};

/// Dropout of the coefficients of sampled neighbours, after the softmax: a coefficient is 0 with probability `rate`,
/// else divided by 1 - rate. The choice depends on (seed, iteration, root's number, slot within the root, head)
/// only.
struct NeighbourDropout {
  double rate = 0;  // 0: none
  std::uint64_t seed = 1;
  std::uint32_t iteration = 0;
  Tensor roots = {};  // i64 [R, 1] a number for each root, independent of how a batch is divided among ranks

  bool drops() const { return rate > 0; }
  double flops(double coefficients) const { return drops() ? 20.0 * coefficients : 0.0; }
  double bytes() const { return drops() ? static_cast<double>(roots.bytes()) : 0.0; }
  /// Factor of head `head` of the slot-th neighbour of a root with number `number`: word head mod 4 of group head / 4.
  STROBE_HOST_DEVICE double of(std::uint64_t number, std::uint32_t slot, std::uint32_t head) const {
    const std::array<std::uint32_t, 4> words =
        philox({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32) ^ ((head / 4) << 16), slot,
                iteration},
               {static_cast<std::uint32_t>(seed),
                static_cast<std::uint32_t>(seed >> 32) ^ (random_purpose::neighbour_dropout << 24)});
    return words[head % 4] < static_cast<std::uint64_t>(rate * 0x1.0p32) ? 0.0 : 1.0 / (1.0 - rate);
  }
};

/// Multi-head attention of each root over its slots [offsets_r, offsets_{r+1}). Slot s looks at vertex rows[s], whose
/// row of `vertex` is its key k_s followed by its value v_s, each of the H heads of F / H columns; and it has a code of
/// C columns (time and features of its event), which all heads share. Keys and values also add a linear layer
/// of the codes, which is not applied per slot: its key half is in the query of codes (q (x W) = (q W^T) x), its value
/// half comes after the sum (the weighted sum of x W is that of x, times W). Per head:
///   p_s = softmax over the root's slots of scale(q_r . k_s + code_query_r . code_s),
///   y_r = sum_s p_s d_s v_s and mixed_r = sum_s p_s d_s code_s, with dropout's factors d_s;
/// a root without slots gives 0. q, y [R, F], vertex [U, 2 F], code [S, C], code_query, mixed [R, H C], head by head,
/// coefficients [S, H] = p_s (without dropout; kept for the backward pass, undefined: not wanted).
struct NeighbourAttention {
  static constexpr std::string_view name = "neighbour_attention";
  Tensor q, vertex, code, code_query;
  Tensor rows;     // i64 [S, 1]
  Tensor offsets;  // i64 [R + 1, 1]
  Tensor coefficients, y, mixed;
  std::int64_t heads = 1;
  AttentionScale scale = AttentionScale::neighbours;
  NeighbourDropout dropout = {};
  Work work() const {
    using namespace operations_detail;
    const double slots = count(code.rows()), width = count(q.columns() + code_query.columns());
    const double moved = slots * static_cast<double>(vertex.row_bytes());
    return {slots * (4.0 * width + 8.0 * count(heads)) + dropout.flops(slots * count(heads)),
            bytes_of(q) + bytes_of(vertex) + bytes_of(code) + bytes_of(code_query) + bytes_of(rows) +
                bytes_of(offsets) + dropout.bytes(),
            bytes_of(y) + bytes_of(mixed) + (coefficients.defined() ? bytes_of(coefficients) : 0.0),
            Gather{moved, bytes_of(vertex), bytes_of(vertex), static_cast<double>(vertex.row_bytes())}};
  }
};

/// Backward of NeighbourAttention: dq [R, F], dcode [S, C], dcode_query [R, H C] and dseen [S, 2 F] are stored, every
/// element. dseen is the gradient through each slot into the vertex that it looks at. The vertex's gradient is the sum
/// over its slots (CopyRows with accumulate).
struct NeighbourAttentionBackward {
  static constexpr std::string_view name = "neighbour_attention_backward";
  Tensor q, vertex, code, code_query;
  Tensor rows;     // i64 [S, 1]
  Tensor offsets;  // i64 [R + 1, 1]
  Tensor coefficients, dy, dmixed;
  Tensor dq, dseen, dcode, dcode_query;
  std::int64_t heads = 1;
  AttentionScale scale = AttentionScale::neighbours;
  NeighbourDropout dropout = {};
  Work work() const {
    using namespace operations_detail;
    const double slots = count(code.rows()), width = count(q.columns()), codes = count(code_query.columns());
    const double moved = slots * static_cast<double>(vertex.row_bytes());
    // The slope of a leaky score depends on the score, which is computed again.
    const double again = scale == AttentionScale::leaky ? 2.0 * (width + codes) : 0.0;
    return {slots * (6.0 * width + 8.0 * codes + again + 10.0 * count(heads)) + dropout.flops(slots * count(heads)),
            bytes_of(q) + bytes_of(dy) + bytes_of(vertex) + bytes_of(code) + bytes_of(code_query) + bytes_of(dmixed) +
                bytes_of(rows) + bytes_of(offsets) + bytes_of(coefficients) + dropout.bytes(),
            bytes_of(dq) + bytes_of(dseen) + bytes_of(dcode) + bytes_of(dcode_query),
            Gather{moved, bytes_of(vertex), bytes_of(vertex), static_cast<double>(vertex.row_bytes())}};
  }
};

/// Scores of candidates: y[E, C] with y_ec = w . relu(a_e + b_{e C + c}) + bias, for E events of C candidates each;
/// a [E, F], b [E C, F], w [F, 1], bias [1, 1].
struct PairScores {
  static constexpr std::string_view name = "pair_scores";
  Tensor a, b, w, bias, y;
  Work work() const {
    using namespace operations_detail;
    return {4.0 * count(b.elements()), bytes_of(a) + bytes_of(b) + bytes_of(w), bytes_of(y)};
  }
};

/// Backward of PairScores: da and db are stored; dw [F, 1] and dbias [1, 1] are added to, in an order that does not
/// depend on the number of threads. The derivative of relu at 0 is 0.
struct PairScoresBackward {
  static constexpr std::string_view name = "pair_scores_backward";
  Tensor a, b, w, dy;
  Tensor da, db, dw, dbias;
  Work work() const {
    using namespace operations_detail;
    return {7.0 * count(b.elements()), bytes_of(a) + bytes_of(b) + bytes_of(w) + bytes_of(dy),
            bytes_of(da) + bytes_of(db) + bytes_of(dw)};
  }
};

/// Binary cross-entropy of logits [E, C], column by column: loss[1, 1] (f64) += scale * (sum of softplus(-logits_ec)
/// over the true columns c of e, and of softplus(logits_ec) over the others). gradient [E, C] is stored when defined.
/// Without `targets` the first column of every row is true. With `targets`, column c of row e is true when bit c of
/// targets_e is set; C is then at most 64, and bits from C on are ignored. softplus(x) = log(1 + exp(x)) without
/// overflow.
struct BinaryCrossEntropy {
  static constexpr std::string_view name = "binary_cross_entropy";
  Tensor logits, gradient, loss;
  double scale = 1;
  Tensor targets = {};  // i64 [E, 1] or undefined
  Work work() const {
    using namespace operations_detail;
    return {12.0 * count(logits.elements()), bytes_of(logits) + (targets.defined() ? bytes_of(targets) : 0.0),
            (gradient.defined() ? bytes_of(gradient) : 0.0) + bytes_of(loss)};
  }
};

}  // namespace strobe
