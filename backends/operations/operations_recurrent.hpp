// Recurrences over all steps of a block of vertices in one operation. Tensors are time-major: row t * n + v is vertex v
// at step t, for n vertices and `steps` steps. Weight gradients always accumulate, in an order that depends on shapes
// only. `kept` lists the values that forward and backward share in addition to the outputs. With the activated gates in
// it, the backward pass reads them; without, it computes them again from x and y (see keeps_gates).
// Packed sequences: the n "vertices" may be bins that hold pieces of timelines end to end. Then `restarts` i32 [T n,
// 1] gives the origin of each row's previous state: -1 the row above it in its bin (n rows up); k >= 0 row k of
// `start`; -2 none, the piece starts from zero. `start` has one row for each piece with a given state (LSTM: all hidden
// states above all cell states), and so has dstart; every row of it is named once. Rows that pad a bin restart from
// zero, and their x and dy are zero. Without restarts, bins are timelines and start has a row for each.
#pragma once

#include "backends/operations/operations.hpp"

namespace strobe {

namespace operations_detail {

inline double bytes_if(const Tensor& t) { return t.defined() ? bytes_of(t) : 0.0; }

}  // namespace operations_detail

/// Whether bins are timelines, for kernels that do not support packed sequences.
template <class Op>
bool without_restarts(const Op& op) {
  return !op.restarts.defined();
}

/// Whether reading kept gates back costs less than computing them again from `inner` terms each. A kept gate is 8 bytes
/// written and read at some 5 bytes a cycle and core; a computed one is inner / 16 multiply-adds of 16 lanes at two a
/// cycle.
inline bool keeps_gates(std::int64_t inner) { return inner > 48; }

/// Whether an LSTM of h units makes its inputs relu([x | x w_in]) itself, w_in [F, G], instead of reading them. It does
/// so when its gates are not kept and the sums of all weights' gradients stay in the first-level cache.
inline bool makes_inputs(std::int64_t F, std::int64_t G, std::int64_t h) {
  constexpr std::int64_t most_sums = 480;
  return !keeps_gates(F + G + h) && (F + G + h) * 4 * h + F * G <= most_sums;
}

/// Long short-term memory (Hochreiter and Schmidhuber 1997; gates in the order i, f, g, o):
/// [i f g o] = x_t w_x + h_{t-1} w_h + bias; c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g); h_t = sigmoid(o) tanh(c_t).
/// x [T n, F], w_x [F, 4 h], w_h [h, 4 h], bias [1, 4 h]; y [T n, h] and cells [T n, h] receive h_t and c_t, gates
/// [T n, 4 h] the activated gates when defined. start [2 n, h] holds h_{-1} above c_{-1}; undefined means zero. Where
/// x_right is defined, the input is [x | x_right], of F columns together; where w_in [f, G] is, it is relu([x | x
/// w_in]) of x [T n, f], F = f + G, and x_right is not.
struct LstmSequence {
  static constexpr std::string_view name = "lstm_sequence";
  Tensor x, x_right, w_in, w_x, w_h, bias, start;
  Tensor y, cells, gates;
  std::int64_t steps = 0;
  Tensor restarts = {};  // only for packed sequences
  std::int64_t vertices() const { return x.rows() / steps; }
  Work work() const {
    using namespace operations_detail;
    const double hidden = count(w_h.rows()), inner = count(w_x.rows() + w_h.rows());
    const double made = w_in.defined() ? 2.0 * count(w_in.elements()) + count(w_x.rows()) : 0.0;
    return {count(x.rows()) * (hidden * (8.0 * inner + 30.0) + made),
            bytes_of(x) + bytes_if(x_right) + bytes_if(w_in) + bytes_of(w_x) + bytes_of(w_h) + bytes_of(bias) +
                bytes_if(start) + bytes_if(restarts),
            bytes_of(y) + bytes_of(cells) + (gates.defined() ? bytes_of(gates) : 0.0),
            {},
            count(steps)};
  }
};

/// Backward of LstmSequence through all steps. dy [T n, h]; dlast [n, h] the gradient of the last cell state, or
/// undefined. dx, and dx_right to its right, are stored or added to when defined; dw_x, dw_h, dbias accumulate; dstart
/// [2 n, h] is stored when defined. With w_in, dx [T n, f] is the gradient of x itself and dw_in accumulates.
struct LstmSequenceBackward {
  static constexpr std::string_view name = "lstm_sequence_backward";
  Tensor x, x_right, w_in, w_x, w_h, bias, start;
  Tensor y, cells, gates;
  Tensor dy, dlast;
  Tensor dx, dx_right, dw_in, dw_x, dw_h, dbias, dstart;
  std::int64_t steps = 0;
  bool accumulate_dx = false, accumulate_dx_right = false;
  Tensor restarts = {};  // only for packed sequences
  Tensor ends = {};      // i32 [T n, 1], only for packed sequences with dlast [E, h]: its row for a row's cell state,
                         // or -1
  std::int64_t vertices() const { return x.rows() / steps; }
  Work work() const {
    using namespace operations_detail;
    const double hidden = count(w_h.rows()), inputs = count(w_x.rows());
    const double own = count(dx.defined() ? dx.columns() : 0);
    const double wanted =
        own + count(dx_right.defined() ? dx_right.columns() : 0) + count(w_in.defined() ? w_in.columns() : 0);
    // The input layer, once more, and its gradients by w_in and, if wanted, by x; masks of relu.
    const double made = w_in.defined() ? count(w_in.elements()) * (own > 0 ? 6.0 : 4.0) + 2.0 * inputs : 0.0;
    const double products = 8.0 * (2.0 * hidden + inputs + wanted);
    const double again = gates.defined() ? 0.0 : 8.0 * (hidden + inputs) + 24.0;
    const double added = (accumulate_dx ? bytes_if(dx) : 0.0) + (accumulate_dx_right ? bytes_if(dx_right) : 0.0);
    return {count(x.rows()) * (hidden * (products + again + 36.0) + made),
            bytes_of(x) + bytes_if(x_right) + bytes_of(y) + bytes_of(cells) + bytes_of(dy) + bytes_if(w_in) +
                bytes_of(w_x) + bytes_of(w_h) + bytes_if(gates) + bytes_if(restarts) + bytes_if(ends) + added,
            bytes_if(dx) + bytes_if(dx_right) + bytes_if(dw_in) + bytes_of(dw_x) + bytes_of(dw_h) + bytes_of(dbias),
            {},
            count(steps)};
  }
};

/// Gated recurrent unit in the form of Cho et al. (EMNLP'14), reset before the product, gates in the order r, z, n:
/// r = sigmoid(x^r w_x^r + h w_h^r + b^r); z = sigmoid(x^z w_x^z + h w_h^z + b^z); n = tanh(x^n w_x^n + (r h) w_h^n +
/// b^n); h' = z h + (1 - z) n. x [T n, 3 F] holds an input of its own for every gate, or [T n, F] one for all; w_x [3
/// F, h], w_h [3 h, h] and bias [3, h] hold the gates' matrices one below the other. y [T n, h]; gates [T n, 3 h] when
/// defined; start [n, h] or undefined (zero).
struct GruSequence {
  static constexpr std::string_view name = "gru_sequence";
  Tensor x, w_x, w_h, bias, start;
  Tensor y, gates;
  std::int64_t steps = 0;
  Tensor restarts = {};  // only for packed sequences
  std::int64_t vertices() const { return x.rows() / steps; }
  Work work() const {
    using namespace operations_detail;
    const double hidden = count(w_h.columns()), inner = count(w_x.rows() + w_h.rows());
    return {count(x.rows()) * hidden * (2.0 * inner + 22.0),
            bytes_of(x) + bytes_of(w_x) + bytes_of(w_h) + bytes_of(bias) + bytes_if(start) + bytes_if(restarts),
            bytes_of(y) + (gates.defined() ? bytes_of(gates) : 0.0),
            {},
            count(steps)};
  }
};

/// Backward of GruSequence through all steps; parts as in LstmSequenceBackward, dstart [n, h].
struct GruSequenceBackward {
  static constexpr std::string_view name = "gru_sequence_backward";
  Tensor x, w_x, w_h, bias, start;
  Tensor y, gates;
  Tensor dy;
  Tensor dx, dw_x, dw_h, dbias, dstart;
  std::int64_t steps = 0;
  bool accumulate_dx = false;
  Tensor restarts = {};  // only for packed sequences
  std::int64_t vertices() const { return x.rows() / steps; }
  Work work() const {
    using namespace operations_detail;
    const double hidden = count(w_h.columns()), inputs = count(w_x.rows()), states = count(w_h.rows());
    const double products = 2.0 * (2.0 * states + inputs + (dx.defined() ? inputs : 0.0));
    const double again = gates.defined() ? 0.0 : 2.0 * (inputs + states) + 20.0;
    const double dx_bytes = dx.defined() ? bytes_of(dx) : 0.0;
    return {count(x.rows()) * hidden * (products + again + 24.0),
            bytes_of(x) + bytes_of(y) + bytes_of(dy) + bytes_of(w_x) + bytes_of(w_h) + bytes_if(gates) +
                bytes_if(restarts) + (accumulate_dx ? dx_bytes : 0.0),
            dx_bytes + bytes_of(dw_x) + bytes_of(dw_h) + bytes_of(dbias),
            {},
            count(steps)};
  }
};

}  // namespace strobe
