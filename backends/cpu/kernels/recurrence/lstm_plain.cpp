// Plain LSTM over all steps, one vertex at a time, straight from the definition; the backward pass goes back through
// time with the gates computed again unless they were kept. Weight gradients are summed per range of vertices in double
// and then in order of ranges. Cost 8 h (F + h) FLOPs a cell forward, three times that backward.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/recurrence/recurrent_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_recurrent.hpp"

namespace strobe {
namespace {

constexpr std::int64_t vertices_per_task = 64;

template <class T>
T sigmoid(T v) {
  return T{1} / (T{1} + std::exp(-v));
}

/// A row of x or x_right; null when the operation has none.
template <class T>
T* row_of(const Tensor& tensor, std::int64_t row) {
  return tensor.defined() ? tensor.data<T>() + row * tensor.columns() : nullptr;
}

/// A row of the inputs [F]: x, followed by x_right or by the values that w_in makes from x.
template <class Op, class T>
void read_inputs(const Op& op, std::int64_t row, std::vector<T>& in) {
  const T* x = row_of<T>(op.x, row);
  in.assign(x, x + op.x.columns());
  if (op.x_right.defined()) in.insert(in.end(), row_of<T>(op.x_right, row), row_of<T>(op.x_right, row + 1));
  if (!op.w_in.defined()) return;
  for (std::int64_t g = 0; g < op.w_in.columns(); ++g) {
    T sum{0};
    for (std::int64_t f = 0; f < op.w_in.rows(); ++f) sum += x[f] * row_of<T>(op.w_in, f)[g];
    in.push_back(sum);
  }
  for (T& value : in) value = value < T{0} ? T{0} : value;  // keeps NaN
}

/// The activated gates [4 h] of one cell from its inputs.
template <class Op, class T>
void activate_gates(const Op& op, const std::vector<T>& in, const T* h, T* gates) {
  const std::int64_t hidden = op.w_h.rows(), width = 4 * hidden;
  std::copy_n(op.bias.template data<T>(), width, gates);
  for (std::int64_t f = 0; f < op.w_x.rows(); ++f) {
    for (std::int64_t j = 0; j < width; ++j) gates[j] += in[f] * op.w_x.template data<T>()[f * width + j];
  }
  for (std::int64_t k = 0; k < hidden; ++k) {
    for (std::int64_t j = 0; j < width; ++j) gates[j] += h[k] * op.w_h.template data<T>()[k * width + j];
  }
  for (std::int64_t j = 0; j < width; ++j) gates[j] = j / hidden == 2 ? std::tanh(gates[j]) : sigmoid(gates[j]);
}

template <class T>
void run_vertex(const LstmSequence& op, std::int64_t v) {
  const std::int64_t hidden = op.w_h.rows(), n = op.vertices();
  const std::vector<T> zeros(hidden, T{0});
  std::vector<T> h = zeros, c = zeros, gates(static_cast<std::size_t>(4 * hidden)), in;
  for (std::int64_t t = 0; t < op.steps; ++t) {
    const std::int64_t row = t * n + v;
    std::copy_n(cpu::state_before(op, op.y, 0, t, v, zeros.data()), hidden, h.begin());
    std::copy_n(cpu::state_before(op, op.cells, op.start.rows() / 2, t, v, zeros.data()), hidden, c.begin());
    read_inputs(op, row, in);
    activate_gates(op, in, static_cast<const T*>(h.data()), gates.data());
    for (std::int64_t u = 0; u < hidden; ++u) {
      const T* gate = gates.data() + u;
      T& cell = c[u];
      cell = gate[hidden] * cell + gate[0] * gate[2 * hidden];
      h[u] = gate[3 * hidden] * std::tanh(cell);
    }
    std::copy_n(h.begin(), hidden, op.y.data<T>() + row * hidden);
    std::copy_n(c.begin(), hidden, op.cells.data<T>() + row * hidden);
    if (op.gates.defined()) std::copy_n(gates.begin(), 4 * hidden, op.gates.data<T>() + row * 4 * hidden);
  }
}

/// Gradients that one vertex carries from step to step, and the sums of its range.
template <class T>
struct Flow {
  std::vector<T> dh, dc, gates, dz, in, din;  // `in` and `din` [F]: the inputs of a cell and their gradients
  double* sums;                               // [(F + h + 1) 4 h + f G]: dw_x, dw_h, dw_in, dbias
};

/// dz [4 h] of one cell from the gradients of h_t and c_t; leaves the gradient of c_{t-1} in dc.
template <class T>
void gate_gradients(Flow<T>& flow, std::int64_t hidden, const T* before, const T* cell) {
  for (std::int64_t u = 0; u < hidden; ++u) {
    const T* gate = flow.gates.data() + u;
    const T i = gate[0], f = gate[hidden], g = gate[2 * hidden], o = gate[3 * hidden], squashed = std::tanh(cell[u]);
    const T dh = flow.dh[u];
    const T dc = flow.dc[u] + dh * o * (T{1} - squashed * squashed);
    T* dz = flow.dz.data() + u;
    dz[0] = dc * g * i * (T{1} - i);
    dz[hidden] = dc * before[u] * f * (T{1} - f);
    dz[2 * hidden] = dc * i * (T{1} - g * g);
    dz[3 * hidden] = dh * squashed * o * (T{1} - o);
    flow.dc[u] = dc * f;
  }
}

/// Adds in^T dz to sums [count, 4 h] and stores dz w^T in out.
template <class T>
void through_weights(const std::vector<T>& dz, const Tensor& w, const T* in, double* sums, T* out) {
  const std::int64_t width = w.columns();
  for (std::int64_t k = 0; k < w.rows(); ++k) {
    T total{0};
    for (std::int64_t j = 0; j < width; ++j) {
      const T d = dz[j];
      sums[k * width + j] += static_cast<double>(in[k]) * static_cast<double>(d);
      total += d * w.data<T>()[k * width + j];
    }
    out[k] = total;
  }
}

/// Through the layer that makes inputs: adds to dw_in's sums, and makes din [f] of din [F].
template <class T>
void through_input_layer(const LstmSequenceBackward& op, std::int64_t row, Flow<T>& flow, double* sums) {
  const std::int64_t inputs = op.w_in.rows(), made = op.w_in.columns();
  for (std::size_t i = 0; i < flow.din.size(); ++i) flow.din[i] = flow.in[i] > T{0} ? flow.din[i] : T{0};
  const T *x = row_of<T>(op.x, row), *dmade = flow.din.data() + inputs;
  for (std::int64_t f = 0; f < inputs; ++f) {
    for (std::int64_t g = 0; g < made; ++g) {
      sums[f * made + g] += static_cast<double>(x[f]) * static_cast<double>(dmade[g]);
      flow.din[f] += row_of<T>(op.w_in, f)[g] * dmade[g];
    }
  }
}

/// Stores in a row of `to`, or adds, its part of the inputs' gradients; nothing where they are not wanted.
template <class T>
void put_gradient(const Tensor& to, std::int64_t row, const T* from, bool add) {
  if (!to.defined()) return;
  T* out = row_of<T>(to, row);
  for (std::int64_t f = 0; f < to.columns(); ++f) out[f] = add ? out[f] + from[f] : from[f];
}

/// Adds the gradient of the cell state after vertex or lane v at step t, where that state is handed on.
template <class T>
void add_last(const LstmSequenceBackward& op, std::int64_t t, std::int64_t v, std::vector<T>& dc) {
  if (!op.dlast.defined()) return;
  const std::int64_t own = t + 1 == op.steps ? v : -1;
  const std::int64_t end = op.ends.defined() ? op.ends.data<std::int32_t>()[t * op.vertices() + v] : own;
  if (end < 0) return;
  for (std::size_t u = 0; u < dc.size(); ++u) dc[u] += row_of<T>(op.dlast, end)[u];
}

/// Leaves the gradients of the states before vertex or lane v at step t to `dstart`, where its sequence begins there.
template <class T>
void leave_start(const LstmSequenceBackward& op, std::int64_t t, std::int64_t v, Flow<T>& flow) {
  const std::int64_t origin = cpu::origin_of(op, t, v);
  if (origin == cpu::goes_on) return;
  if (origin >= 0 && op.dstart.defined()) {
    std::copy(flow.dh.begin(), flow.dh.end(), row_of<T>(op.dstart, origin));
    std::copy(flow.dc.begin(), flow.dc.end(), row_of<T>(op.dstart, op.start.rows() / 2 + origin));
  }
  std::fill(flow.dh.begin(), flow.dh.end(), T{0});
  std::fill(flow.dc.begin(), flow.dc.end(), T{0});
}

template <class T>
void flow_back(const LstmSequenceBackward& op, std::int64_t v, Flow<T>& flow) {
  const std::int64_t hidden = op.w_h.rows(), n = op.vertices(), inputs = op.w_x.rows(), width = 4 * hidden;
  const std::vector<T> zero(hidden, T{0});
  flow.dh = flow.dc = zero;
  for (std::int64_t t = op.steps - 1; t >= 0; --t) {
    const std::int64_t row = t * n + v;
    const T* h = cpu::state_before(op, op.y, 0, t, v, zero.data());
    const T* c = cpu::state_before(op, op.cells, op.start.rows() / 2, t, v, zero.data());
    add_last(op, t, v, flow.dc);
    read_inputs(op, row, flow.in);
    if (op.gates.defined()) {
      std::copy_n(op.gates.data<T>() + row * width, width, flow.gates.begin());
    } else {
      activate_gates(op, flow.in, h, flow.gates.data());
    }
    for (std::int64_t u = 0; u < hidden; ++u) flow.dh[u] += op.dy.data<T>()[row * hidden + u];
    gate_gradients(flow, hidden, c, op.cells.data<T>() + row * hidden);
    double *sums_in = flow.sums + (inputs + hidden) * width, *bias = sums_in + op.w_in.elements();
    through_weights(flow.dz, op.w_x, static_cast<const T*>(flow.in.data()), flow.sums, flow.din.data());
    if (op.w_in.defined()) through_input_layer(op, row, flow, sums_in);
    put_gradient(op.dx, row, static_cast<const T*>(flow.din.data()), op.accumulate_dx);
    put_gradient(op.dx_right, row, static_cast<const T*>(flow.din.data()) + op.x.columns(), op.accumulate_dx_right);
    through_weights(flow.dz, op.w_h, h, flow.sums + inputs * width, flow.dh.data());
    for (std::int64_t j = 0; j < width; ++j) bias[j] += static_cast<double>(flow.dz[j]);
    leave_start(op, t, v, flow);
  }
}

void run_forward(const LstmSequence& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    cpu::for_ranges(context, op.vertices(), vertices_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t v = begin; v < end; ++v) run_vertex<decltype(zero)>(op, v);
    });
  });
}

void run_backward(const LstmSequenceBackward& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t grain = std::max(vertices_per_task, cpu::divide_up(op.vertices(), 64));
    cpu::sum_range_gradients<T>(op, context, grain, [&](std::int64_t begin, std::int64_t end, double* sums) {
      Flow<T> flow;
      flow.gates.resize(op.w_h.columns());
      flow.dz = flow.gates;
      flow.din.resize(op.w_x.rows());
      flow.sums = sums;
      for (std::int64_t v = begin; v < end; ++v) flow_back(op, v, flow);
    });
  });
}

const RegisterKernel<LstmSequence> plain{"cpu", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<LstmSequenceBackward> backward_plain{"cpu", {"plain", 0, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
