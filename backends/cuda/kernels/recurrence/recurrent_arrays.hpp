// The arrays that a recurrence over all steps hands to its kernels, for an LSTM and for a GRU.
#pragma once

#include "backends/cuda/kernels/recurrence/recurrent_gates.hpp"
#include "backends/cuda/kernels/recurrence/sequence_origins.hpp"

namespace strobe::cuda {

/// Device arrays and sizes of a forward pass; null where the operation has none.
template <class T>
struct SequenceArrays {
  using Element = T;
  static constexpr bool packed = false;
  const T *x, *w_x, *w_h, *bias, *start;
  T *y, *cells, *gates;                // cells: of an LSTM
  std::int64_t n, x_step, state_step;  // values of a step of x, and of y
  int steps, columns, inputs, hidden;  // columns of x; inputs of a gate

  /// Whether every gate of a GRU has inputs of its own.
  __device__ bool own_inputs() const { return columns > inputs; }
};

/// The same of a backward pass.
template <class T>
struct SequenceGradientArrays {
  using Element = T;
  static constexpr bool packed = false;
  const T *x, *w_x, *w_h, *bias, *start, *y, *cells, *dy, *dlast;
  T *dx, *dstart;
  double* parts;
  std::int64_t n, x_step, state_step;
  int steps, columns, inputs, hidden;
  bool add_dx;

  __device__ bool own_inputs() const { return columns > inputs; }
};

/// Arrays of either pass over packed sequences (operations_recurrent.hpp): a kernel's own type, so that kernels of
/// timelines hold nothing of it.
template <class Arrays>
struct PackedArrays : Arrays {
  static constexpr bool packed = true;
  const std::int32_t *restarts, *ends;  // [T n]; ends null without dlast, or where that is of the last step
  std::int64_t starts;                  // rows of start; of an LSTM those of hidden states

  /// Values of start, or of dstart, from hidden states to cell states.
  __device__ std::int64_t start_states() const { return starts * this->hidden; }
  /// Where lane v's state before step t comes from: a row of start, goes_on or from_nothing.
  __device__ int origin(std::int64_t t, std::int64_t v) const {
    const int from = restarts[t * this->n + v];
    return t == 0 && from == goes_on ? static_cast<int>(from_nothing) : from;
  }
};

template <class Op>
inline constexpr bool is_lstm = requires(const Op& op) {
  op.cells;
};

/// Inputs of a gate, and units.
template <class Op>
std::int64_t gate_inputs(const Op& op) {
  return is_lstm<Op> ? op.w_x.rows() : op.w_x.rows() / 3;
}
template <class Op>
std::int64_t units_of(const Op& op) {
  return is_lstm<Op> ? op.w_h.rows() : op.w_h.columns();
}

template <class T, class Op>
SequenceArrays<T> sequence_arrays(const Op& op) {
  SequenceArrays<T> arrays{};
  arrays.x = op.x.template data<T>(), arrays.w_x = op.w_x.template data<T>(), arrays.w_h = op.w_h.template data<T>();
  arrays.bias = op.bias.template data<T>(), arrays.start = op.start.template data<T>();
  arrays.y = op.y.template data<T>(), arrays.gates = op.gates.template data<T>();
  if constexpr (is_lstm<Op>) arrays.cells = op.cells.template data<T>();
  arrays.n = op.vertices();
  arrays.x_step = arrays.n * op.x.columns(), arrays.state_step = arrays.n * units_of(op);
  arrays.steps = static_cast<int>(op.steps), arrays.columns = static_cast<int>(op.x.columns());
  arrays.inputs = static_cast<int>(gate_inputs(op)), arrays.hidden = static_cast<int>(units_of(op));
  return arrays;
}

template <class T, class Op>
SequenceGradientArrays<T> sequence_gradient_arrays(const Op& op, double* parts) {
  SequenceGradientArrays<T> arrays{};
  arrays.x = op.x.template data<T>(), arrays.w_x = op.w_x.template data<T>(), arrays.w_h = op.w_h.template data<T>();
  arrays.bias = op.bias.template data<T>(), arrays.start = op.start.template data<T>();
  arrays.y = op.y.template data<T>(), arrays.dy = op.dy.template data<T>();
  if constexpr (is_lstm<Op>) arrays.cells = op.cells.template data<T>(), arrays.dlast = op.dlast.template data<T>();
  arrays.dx = op.dx.template data<T>(), arrays.dstart = op.dstart.template data<T>();
  arrays.parts = parts;
  arrays.n = op.vertices();
  arrays.x_step = arrays.n * op.x.columns(), arrays.state_step = arrays.n * units_of(op);
  arrays.steps = static_cast<int>(op.steps), arrays.columns = static_cast<int>(op.x.columns());
  arrays.inputs = static_cast<int>(gate_inputs(op)), arrays.hidden = static_cast<int>(units_of(op));
  arrays.add_dx = op.accumulate_dx;
  return arrays;
}

/// Calls body(arrays) with `arrays`, or with those of packed sequences.
template <class Arrays, class Op, class Body>
void with_packing(const Arrays& arrays, const Op& op, const Body& body) {
  if (without_restarts(op)) return body(arrays);
  const std::int32_t* ends = nullptr;
  if constexpr (requires { op.ends; }) {
    if (op.dlast.defined()) ends = op.ends.template data<std::int32_t>();
  }
  const std::int64_t states = is_lstm<Op> ? 2 : 1;
  body(PackedArrays<Arrays>{arrays, op.restarts.template data<std::int32_t>(), ends, op.start.rows() / states});
}

}  // namespace strobe::cuda
