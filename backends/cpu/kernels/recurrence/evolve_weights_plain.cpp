// Plain evolution of a layer's weights (EvolveGCN; Hochreiter and Schmidhuber's LSTM, Cho et al.'s GRU as the public
// EvolveGCN code writes it), by the definitions: one step after the other, one gate value at a time, every gate's input
// and state products apart. Backward goes through the steps in reverse with the kept gate values. Gradients of the
// parameters are summed in double over the steps. Cost 4 gates F^2 G FLOPs per step forward, twice that backward; the
// matrices are small, so one thread does it.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_evolve.hpp"

namespace strobe {
namespace {

using Values = std::vector<double>;

Values values_of(const Tensor& tensor) {
  Values values(static_cast<std::size_t>(tensor.elements()));
  cpu::with_element(tensor.type(), [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      values[i] = static_cast<double>(tensor.data<T>()[i]);
    }
  });
  return values;
}

/// to (+)= from.
void put(const Tensor& to, const Values& from, bool accumulate) {
  cpu::with_element(to.type(), [&](auto zero) {
    using T = decltype(zero);
    T* out = to.data<T>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      out[i] = static_cast<T>((accumulate ? static_cast<double>(out[i]) : 0.0) + from[i]);
    }
  });
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Sizes and values of one evolution, [F, G] matrices row-major.
struct Evolution {
  EvolveCell cell;
  std::size_t f, g;
  Values wx, wh;

  std::size_t size() const { return f * g; }
  std::size_t gates() const { return static_cast<std::size_t>(gates_of(cell)); }
  std::size_t kept() const { return static_cast<std::size_t>(kept_of(cell)); }

  /// Row `row` of `weights` [gates F, F] times column `column` of m [F, G].
  double product(const Values& weights, std::size_t row, const double* m, std::size_t column) const {
    double sum = 0;
    for (std::size_t j = 0; j < f; ++j) sum += weights[row * f + j] * m[j * g + column];
    return sum;
  }
};

/// x_t: the transposed summary of step t, or the state itself.
Values input_of(const Evolution& e, const Values& summary, std::size_t t, const Values& state) {
  if (summary.empty()) return state;
  Values x(e.size());
  for (std::size_t i = 0; i < e.f; ++i) {
    for (std::size_t j = 0; j < e.g; ++j) x[i * e.g + j] = summary[(t * e.g + j) * e.f + i];
  }
  return x;
}

/// One gate of the whole matrix: its activation of Wx x + Wh h + B.
void gate(const Evolution& e, const Values& bias, std::size_t k, bool is_tanh, const Values& x, const Values& h,
          double* out) {
  for (std::size_t i = 0; i < e.size(); ++i) {
    const std::size_t row = k * e.f + i / e.g, column = i % e.g;
    const double sum =
        e.product(e.wx, row, x.data(), column) + e.product(e.wh, row, h.data(), column) + bias[k * e.size() + i];
    out[i] = is_tanh ? std::tanh(sum) : sigmoid(sum);
  }
}

/// One step: `state` becomes h', `memory` (LSTM) c'; `kept` receives the gates.
void step_forward(const Evolution& e, const Values& bias, const Values& x, Values& state, Values& memory,
                  double* kept) {
  const std::size_t n = e.size();
  if (e.cell == EvolveCell::lstm) {
    for (std::size_t k = 0; k < 4; ++k) gate(e, bias, k, k == 2, x, state, kept + k * n);
    for (std::size_t i = 0; i < n; ++i) {
      memory[i] = kept[n + i] * memory[i] + kept[i] * kept[2 * n + i];
      kept[4 * n + i] = memory[i];
      state[i] = kept[3 * n + i] * std::tanh(memory[i]);
    }
    return;
  }
  gate(e, bias, 0, false, x, state, kept);
  gate(e, bias, 1, false, x, state, kept + n);
  Values reset(n);
  for (std::size_t i = 0; i < n; ++i) reset[i] = kept[n + i] * state[i];
  gate(e, bias, 2, true, x, reset, kept + 2 * n);
  for (std::size_t i = 0; i < n; ++i) state[i] = (1 - kept[i]) * state[i] + kept[i] * kept[2 * n + i];
}

void run_forward(const EvolveWeights& op, KernelContext&) {
  const Evolution e{op.cell, static_cast<std::size_t>(op.start.rows()), static_cast<std::size_t>(op.start.columns()),
                    values_of(op.wx), values_of(op.wh)};
  const Values bias = values_of(op.bias), summary = op.summary.defined() ? values_of(op.summary) : Values();
  const std::size_t n = e.size(), steps = static_cast<std::size_t>(op.steps());
  Values state = values_of(op.start), weights, kept(steps * e.kept() * n);
  Values memory = op.start_cell.defined() ? values_of(op.start_cell) : Values(n, 0.0);
  for (std::size_t t = 0; t < steps; ++t) {
    const Values x = input_of(e, summary, t, state);
    step_forward(e, bias, x, state, memory, kept.data() + t * e.kept() * n);
    weights.insert(weights.end(), state.begin(), state.end());
  }
  put(op.weights, weights, false);
  put(op.kept, kept, false);
}

/// The sums of the backward pass.
struct Gradients {
  Values wx, wh, bias, summary;
};

/// Gradient `dgate` [F, G] of gate k before its activation, from x and h (its state input): adds to the parameters and
/// to dx and dh.
void gate_backward(const Evolution& e, std::size_t k, const Values& dgate, const Values& x, const Values& h,
                   Gradients& sums, Values& dx, Values& dh) {
  for (std::size_t i = 0; i < e.f; ++i) {
    for (std::size_t c = 0; c < e.g; ++c) {
      const double d = dgate[i * e.g + c];
      sums.bias[k * e.size() + i * e.g + c] += d;
      for (std::size_t j = 0; j < e.f; ++j) {
        const std::size_t weight = (k * e.f + i) * e.f + j;
        sums.wx[weight] += d * x[j * e.g + c];
        sums.wh[weight] += d * h[j * e.g + c];
        dx[j * e.g + c] += d * e.wx[weight];
        dh[j * e.g + c] += d * e.wh[weight];
      }
    }
  }
}

/// Gradients of one LSTM step: dh is of h', dc of c'; afterwards dc is of c and `back` of h (without the input's part).
void lstm_backward(const Evolution& e, const double* kept, const double* before, const Values& x, const Values& h,
                   const Values& dh, Values& dc, Gradients& sums, Values& dx, Values& back) {
  const std::size_t n = e.size();
  std::vector<Values> dgate(4, Values(n));
  for (std::size_t i = 0; i < n; ++i) {
    const double in = kept[i], forget = kept[n + i], candidate = kept[2 * n + i], out = kept[3 * n + i];
    const double squashed = std::tanh(kept[4 * n + i]);
    const double dmemory = dc[i] + dh[i] * out * (1 - squashed * squashed);
    dgate[0][i] = dmemory * candidate * in * (1 - in);
    dgate[1][i] = dmemory * before[i] * forget * (1 - forget);
    dgate[2][i] = dmemory * in * (1 - candidate * candidate);
    dgate[3][i] = dh[i] * squashed * out * (1 - out);
    dc[i] = dmemory * forget;
  }
  for (std::size_t k = 0; k < 4; ++k) gate_backward(e, k, dgate[k], x, h, sums, dx, back);
}

/// The same for a GRU step.
void gru_backward(const Evolution& e, const double* kept, const Values& x, const Values& h, const Values& dh,
                  Gradients& sums, Values& dx, Values& back) {
  const std::size_t n = e.size();
  Values dz(n), dr(n), dq(n), reset(n), dreset(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    const double z = kept[i], q = kept[2 * n + i];
    dz[i] = dh[i] * (q - h[i]) * z * (1 - z);
    dq[i] = dh[i] * z * (1 - q * q);
    reset[i] = kept[n + i] * h[i];
    back[i] += dh[i] * (1 - z);
  }
  gate_backward(e, 2, dq, x, reset, sums, dx, dreset);
  for (std::size_t i = 0; i < n; ++i) {
    const double r = kept[n + i];
    dr[i] = dreset[i] * h[i] * r * (1 - r);
    back[i] += dreset[i] * r;
  }
  gate_backward(e, 0, dz, x, h, sums, dx, back);
  gate_backward(e, 1, dr, x, h, sums, dx, back);
}

void run_backward(const EvolveWeightsBackward& op, KernelContext&) {
  const Evolution e{op.cell, static_cast<std::size_t>(op.start.rows()), static_cast<std::size_t>(op.start.columns()),
                    values_of(op.wx), values_of(op.wh)};
  const std::size_t n = e.size();
  const Values start = values_of(op.start), weights = values_of(op.weights), kept = values_of(op.kept);
  const Values dweights = values_of(op.dweights), summary = op.summary.defined() ? values_of(op.summary) : Values();
  Gradients sums{Values(e.wx.size(), 0.0), Values(e.wh.size(), 0.0), Values(e.gates() * n, 0.0),
                 Values(summary.size(), 0.0)};
  const Values start_cell = op.start_cell.defined() ? values_of(op.start_cell) : Values(n, 0.0);
  Values carry(n, 0.0), dc = op.dlast_cell.defined() ? values_of(op.dlast_cell) : Values(n, 0.0);
  for (std::size_t t = op.steps(); t-- > 0;) {
    const double* previous = t == 0 ? start.data() : weights.data() + (t - 1) * n;
    const Values h(previous, previous + n), x = input_of(e, summary, t, h);
    Values dh(n), dx(n, 0.0), back(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) dh[i] = dweights[t * n + i] + carry[i];
    const double* now = kept.data() + t * e.kept() * n;
    const double* before = t == 0 ? start_cell.data() : now - n;  // c of the step before is the last that it kept
    if (e.cell == EvolveCell::lstm) {
      lstm_backward(e, now, before, x, h, dh, dc, sums, dx, back);
    } else {
      gru_backward(e, now, x, h, dh, sums, dx, back);
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (summary.empty())
        back[i] += dx[i];
      else
        sums.summary[(t * e.g + i % e.g) * e.f + i / e.g] = dx[i];
    }
    carry = back;
    if (op.detached && t > 0) carry.assign(n, 0.0), dc.assign(n, 0.0);
  }
  put(op.dwx, sums.wx, true);
  put(op.dwh, sums.wh, true);
  put(op.dbias, sums.bias, true);
  if (op.dstart.defined()) put(op.dstart, carry, true);
  if (op.dstart_cell.defined()) put(op.dstart_cell, dc, true);
  if (op.dsummary.defined()) put(op.dsummary, sums.summary, op.accumulate_dsummary);
}

const RegisterKernel<EvolveWeights> forward{"cpu", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<EvolveWeightsBackward> backward{"cpu", {"plain", 0, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
