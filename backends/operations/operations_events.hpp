// Operations of models of events over the roots of a batch: attention over each root's sampled neighbours (TGN: Rossi
// et al., 2020; DistTGL: Zhou et al., SC'23, equation 7), scores of vertex pairs, and the losses of a link. R roots, S
// slots (sampled neighbours of all roots, root by root), U distinct vertices. Everything is said in the terms of
// operations.hpp.
#pragma once

#include "backends/operations/operations_attention.hpp"

namespace strobe {

namespace random_purpose {
inline constexpr std::uint32_t neighbour_dropout = 35;
}  // namespace random_purpose

/// What the product of a query and a key is multiplied with before the softmax.
enum class AttentionScale : std::uint8_t {
  neighbours,  // 1 / sqrt(neighbours found), DistTGL's equation 7
  head,        // 1 / sqrt(columns of a head), TGN
  leaky,       // nothing, but LeakyReLU with slope 0.2 after it: DistTGL's and TGL's released code
};

/// Dropout of the coefficients of sampled neighbours, after the softmax: a coefficient is 0 with probability `rate`,
/// else divided by 1 - rate. What is dropped depends on (seed, iteration, root's number, slot within the root, head)
/// only.
struct NeighbourDropout {
  double rate = 0;  // 0: none
  std::uint64_t seed = 1;
  std::uint32_t iteration = 0;
  Tensor roots = {};  // i64 [R, 1] a number of each root that does not depend on how a batch is shared out

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

/// Multi-head attention of each root over its slots [offsets_r, offsets_{r+1}). Slot s looks at vertex rows[s], and has
/// key and value (k_s | v_s) = vertex[rows[s]] + slot[s], each of the two H heads of F / H columns. Per head:
/// p_s = softmax over the root's slots of scale(q_r . k_s), y_r = sum_s p_s d_s v_s with dropout's factors d_s; a root
/// without slots gives 0. q, y [R, F], vertex [U, 2 F], slot [S, 2 F], coefficients [S, H] = p_s (without dropout; kept
/// for the backward pass, undefined: not wanted).
struct NeighbourAttention {
  static constexpr std::string_view name = "neighbour_attention";
  Tensor q, vertex, slot;
  Tensor rows;     // i64 [S, 1]
  Tensor offsets;  // i64 [R + 1, 1]
  Tensor coefficients, y;
  std::int64_t heads = 1;
  AttentionScale scale = AttentionScale::neighbours;
  NeighbourDropout dropout = {};
  Work work() const {
    using namespace operations_detail;
    const double slots = count(slot.rows()), width = count(q.columns());
    const double moved = slots * static_cast<double>(vertex.row_bytes());
    return {slots * (6.0 * width + 8.0 * count(heads)) + dropout.flops(slots * count(heads)),
            bytes_of(q) + bytes_of(vertex) + bytes_of(slot) + bytes_of(rows) + bytes_of(offsets) + dropout.bytes(),
            bytes_of(y) + (coefficients.defined() ? bytes_of(coefficients) : 0.0),
            Gather{moved, bytes_of(vertex), bytes_of(vertex), static_cast<double>(vertex.row_bytes())}};
  }
};

/// Backward of NeighbourAttention: dq [R, F] and dslot [S, 2 F] are stored, every element. What flows back into a
/// vertex is the sum of dslot over the slots that look at it (CopyRows with accumulate).
struct NeighbourAttentionBackward {
  static constexpr std::string_view name = "neighbour_attention_backward";
  Tensor q, vertex, slot;
  Tensor rows;     // i64 [S, 1]
  Tensor offsets;  // i64 [R + 1, 1]
  Tensor coefficients, dy;
  Tensor dq, dslot;
  std::int64_t heads = 1;
  AttentionScale scale = AttentionScale::neighbours;
  NeighbourDropout dropout = {};
  Work work() const {
    using namespace operations_detail;
    const double slots = count(slot.rows()), width = count(q.columns());
    const double moved = slots * static_cast<double>(vertex.row_bytes());
    return {slots * (14.0 * width + 10.0 * count(heads)) + dropout.flops(slots * count(heads)),
            2.0 * bytes_of(q) + bytes_of(vertex) + bytes_of(slot) + bytes_of(rows) + bytes_of(offsets) +
                bytes_of(coefficients) + dropout.bytes(),
            bytes_of(dq) + bytes_of(dslot),
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
/// over the columns c of e that are true, and of softplus(logits_ec) over the others); gradient [E, C] is stored when
/// defined. True is the first column of every row, or, with `targets`, column c of row e where bit c of targets_e is
/// set; C is then at most 64, and bits from C on count nothing. softplus(x) = log(1 + exp(x)) without overflow.
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
