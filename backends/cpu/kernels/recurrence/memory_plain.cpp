// Rows of models of events: time encodings, updates of memory, projections, normalisation. Ranges of rows are tasks;
// sums over rows are taken range by range, and then in the order of the ranges, in double.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_memory.hpp"

namespace strobe {
namespace {

constexpr std::int64_t memory_rows_per_task = 256;

/// Stores `value`, or adds it.
template <class T>
void keep(T& to, T value, bool accumulate) {
  to = accumulate ? to + value : value;
}

/// Calls body(row) for each row, in tasks.
template <class Body>
void each_row(const KernelContext& context, std::int64_t rows, const Body& body) {
  cpu::for_ranges(context, rows, memory_rows_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) body(r);
  });
}

/// Adds to `first` and `second` [1, F] the sums over rows of what body(row, a, b) adds to its two rows of F doubles.
template <class T, class Body>
void add_sums(const KernelContext& context, std::int64_t rows, const Tensor& first, const Tensor& second,
              const Body& body) {
  const std::int64_t width = first.columns(), tasks = cpu::divide_up(rows, memory_rows_per_task);
  std::vector<double> parts(tasks * 2 * width, 0.0);
  cpu::run_tasks(context, tasks, [&](std::int64_t task) {
    double* const part = parts.data() + task * 2 * width;
    const std::int64_t end = std::min(rows, (task + 1) * memory_rows_per_task);
    for (std::int64_t r = task * memory_rows_per_task; r < end; ++r) body(r, part, part + width);
  });
  for (std::int64_t task = 0; task < tasks; ++task) {
    const double* const part = parts.data() + task * 2 * width;
    for (std::int64_t f = 0; f < width; ++f) {
      first.data<T>()[f] += static_cast<T>(part[f]);
      second.data<T>()[f] += static_cast<T>(part[width + f]);
    }
  }
}

/// The argument of a time encoding, which may be millions.
template <class T>
double argument(const T* dt, const T* frequency, const T* phase, std::int64_t r, std::int64_t d) {
  return static_cast<double>(dt[r]) * static_cast<double>(frequency[d]) + static_cast<double>(phase[d]);
}

void run_time_encoding(const TimeEncoding& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *dt = op.dt.data<T>(), *frequency = op.frequency.data<T>(), *phase = op.phase.data<T>();
    const std::int64_t width = op.y.columns();
    each_row(context, op.y.rows(), [&](std::int64_t r) {
      for (std::int64_t d = 0; d < width; ++d)
        op.y.data<T>()[r * width + d] = static_cast<T>(std::cos(argument(dt, frequency, phase, r, d)));
    });
  });
}

void run_time_encoding_backward(const TimeEncodingBackward& op, KernelContext& context) {
  cpu::with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *dt = op.dt.data<T>(), *frequency = op.frequency.data<T>(), *phase = op.phase.data<T>();
    const T* dy = op.dy.data<T>();
    const std::int64_t width = op.dy.columns();
    add_sums<T>(context, op.dy.rows(), op.dfrequency, op.dphase, [&](std::int64_t r, double* dw, double* db) {
      for (std::int64_t d = 0; d < width; ++d) {
        const double slope = -std::sin(argument(dt, frequency, phase, r, d)) * static_cast<double>(dy[r * width + d]);
        dw[d] += slope * static_cast<double>(dt[r]);
        db[d] += slope;
      }
    });
  });
}

template <class T>
T logistic(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

/// The gates of one value of a state.
template <class T>
struct CellGates {
  T r, z, n;
  CellGates(const T* gi, const T* gh, std::int64_t h, std::int64_t c)
      : r(logistic(gi[c] + gh[c])),
        z(logistic(gi[h + c] + gh[h + c])),
        n(std::tanh(gi[2 * h + c] + r * gh[2 * h + c])) {}
};

void run_gru_cell(const GruCell& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t h = op.y.columns();
    each_row(context, op.y.rows(), [&](std::int64_t row) {
      for (std::int64_t c = 0; c < h; ++c) {
        const CellGates<T> g(op.gi.data<T>() + row * 3 * h, op.gh.data<T>() + row * 3 * h, h, c);
        op.y.data<T>()[row * h + c] = (T{1} - g.z) * g.n + g.z * op.state.data<T>()[row * h + c];
      }
    });
  });
}

void run_gru_cell_backward(const GruCellBackward& op, KernelContext& context) {
  cpu::with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t h = op.dy.columns();
    each_row(context, op.dy.rows(), [&](std::int64_t row) {
      const T *gi = op.gi.data<T>() + row * 3 * h, *gh = op.gh.data<T>() + row * 3 * h;
      T *dgi = op.dgi.data<T>() + row * 3 * h, *dgh = op.dgh.data<T>() + row * 3 * h;
      for (std::int64_t c = 0; c < h; ++c) {
        const CellGates<T> g(gi, gh, h, c);
        const T dy = op.dy.data<T>()[row * h + c], state = op.state.data<T>()[row * h + c];
        const T dn = dy * (T{1} - g.z) * (T{1} - g.n * g.n);
        dgi[c] = dgh[c] = dn * gh[2 * h + c] * g.r * (T{1} - g.r);
        dgi[h + c] = dgh[h + c] = dy * (state - g.n) * g.z * (T{1} - g.z);
        dgi[2 * h + c] = dn;
        dgh[2 * h + c] = dn * g.r;
        if (op.dstate.defined()) keep(op.dstate.data<T>()[row * h + c], dy * g.z, op.accumulate_dstate);
      }
    });
  });
}

void run_tanh(const Tanh& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.y.columns();
    each_row(context, op.y.rows(), [&](std::int64_t r) {
      for (std::int64_t i = r * width; i < (r + 1) * width; ++i) op.y.data<T>()[i] = std::tanh(op.x.data<T>()[i]);
    });
  });
}

void run_tanh_backward(const TanhBackward& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.y.columns();
    each_row(context, op.y.rows(), [&](std::int64_t r) {
      for (std::int64_t i = r * width; i < (r + 1) * width; ++i) {
        const T y = op.y.data<T>()[i];
        keep(op.dx.data<T>()[i], op.dy.data<T>()[i] * (T{1} - y * y), op.accumulate);
      }
    });
  });
}

void run_time_projection(const TimeProjection& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.y.columns();
    const T *slope = op.slope.data<T>(), *shift = op.shift.data<T>();
    each_row(context, op.y.rows(), [&](std::int64_t r) {
      const T dt = op.dt.data<T>()[r];
      for (std::int64_t c = 0; c < width; ++c)
        op.y.data<T>()[r * width + c] = op.x.data<T>()[r * width + c] * (T{1} + dt * slope[c] + shift[c]);
    });
  });
}

void run_time_projection_backward(const TimeProjectionBackward& op, KernelContext& context) {
  cpu::with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.dy.columns();
    const T *slope = op.slope.data<T>(), *shift = op.shift.data<T>();
    add_sums<T>(context, op.dy.rows(), op.dslope, op.dshift, [&](std::int64_t r, double* dslope, double* dshift) {
      const T dt = op.dt.data<T>()[r];
      for (std::int64_t c = 0; c < width; ++c) {
        const std::int64_t i = r * width + c;
        const T dy = op.dy.data<T>()[i];
        const double both = static_cast<double>(dy) * static_cast<double>(op.x.data<T>()[i]);
        dslope[c] += both * static_cast<double>(dt);
        dshift[c] += both;
        if (op.dx.defined()) keep(op.dx.data<T>()[i], dy * (T{1} + dt * slope[c] + shift[c]), op.accumulate_dx);
      }
    });
  });
}

/// Mean and 1 / sqrt(variance + epsilon) of a row.
struct RowMoments {
  double mean = 0, inverse = 0;
  template <class T>
  RowMoments(const T* x, std::int64_t width, double epsilon) {
    for (std::int64_t f = 0; f < width; ++f) mean += static_cast<double>(x[f]);
    mean /= static_cast<double>(width);
    double squares = 0;
    for (std::int64_t f = 0; f < width; ++f) squares += std::pow(static_cast<double>(x[f]) - mean, 2);
    inverse = 1.0 / std::sqrt(squares / static_cast<double>(width) + epsilon);
  }
};

void run_layer_norm(const LayerNorm& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.x.columns();
    each_row(context, op.x.rows(), [&](std::int64_t r) {
      const T* x = op.x.data<T>() + r * width;
      const RowMoments m(x, width, op.epsilon);
      for (std::int64_t f = 0; f < width; ++f) {
        op.y.data<T>()[r * width + f] =
            op.gain.data<T>()[f] * static_cast<T>((static_cast<double>(x[f]) - m.mean) * m.inverse) +
            op.shift.data<T>()[f];
      }
    });
  });
}

template <class T>
void layer_norm_row(const LayerNormBackward& op, std::int64_t r, double* dgain, double* dshift) {
  const std::int64_t width = op.x.columns();
  const T *x = op.x.data<T>() + r * width, *dy = op.dy.data<T>() + r * width, *gain = op.gain.data<T>();
  const RowMoments m(x, width, op.epsilon);
  double sum = 0, weighted = 0;
  for (std::int64_t f = 0; f < width; ++f) {
    const double centred = (static_cast<double>(x[f]) - m.mean) * m.inverse, d = static_cast<double>(dy[f]);
    dgain[f] += d * centred;
    dshift[f] += d;
    sum += d * static_cast<double>(gain[f]);
    weighted += d * static_cast<double>(gain[f]) * centred;
  }
  if (!op.dx.defined()) return;
  const double count = width;
  for (std::int64_t f = 0; f < width; ++f) {
    const double centred = (static_cast<double>(x[f]) - m.mean) * m.inverse;
    const double d = static_cast<double>(dy[f]) * static_cast<double>(gain[f]);
    keep(op.dx.data<T>()[r * width + f], static_cast<T>(m.inverse * (d - sum / count - centred * weighted / count)),
         op.accumulate_dx);
  }
}

void run_layer_norm_backward(const LayerNormBackward& op, KernelContext& context) {
  cpu::with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    add_sums<T>(context, op.dy.rows(), op.dgain, op.dshift,
                [&](std::int64_t r, double* dgain, double* dshift) { layer_norm_row<T>(op, r, dgain, dshift); });
  });
}

const RegisterKernel<TimeEncoding> time_encoding{"cpu", {"plain", 0, nullptr, run_time_encoding}};
const RegisterKernel<TimeEncodingBackward> time_encoding_backward{"cpu",
                                                                  {"plain", 0, nullptr, run_time_encoding_backward}};
const RegisterKernel<GruCell> gru_cell{"cpu", {"plain", 0, nullptr, run_gru_cell}};
const RegisterKernel<GruCellBackward> gru_cell_backward{"cpu", {"plain", 0, nullptr, run_gru_cell_backward}};
const RegisterKernel<Tanh> tanh_rows{"cpu", {"plain", 0, nullptr, run_tanh}};
const RegisterKernel<TanhBackward> tanh_backward{"cpu", {"plain", 0, nullptr, run_tanh_backward}};
const RegisterKernel<TimeProjection> time_projection{"cpu", {"plain", 0, nullptr, run_time_projection}};
const RegisterKernel<TimeProjectionBackward> time_projection_backward{
    "cpu", {"plain", 0, nullptr, run_time_projection_backward}};
const RegisterKernel<LayerNorm> layer_norm{"cpu", {"plain", 0, nullptr, run_layer_norm}};
const RegisterKernel<LayerNormBackward> layer_norm_backward{"cpu", {"plain", 0, nullptr, run_layer_norm_backward}};

}  // namespace
}  // namespace strobe
