// Updates of memory: one thread a value of the state, so that neighbouring threads read neighbouring columns; the
// gradients of a projection's rows one thread a column of a range of rows, and a second launch that adds the ranges.
// Cost: every value read and written once; one launch each, two where rows are summed.
#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/cuda/kernels/recurrence/gate_values.hpp"
#include "backends/operations/operations_memory.hpp"

namespace strobe::cuda {
namespace memory_plain_kernels {

constexpr int threads = 256;

/// Products of a cell; value i of the state [R, h] has its gates at gate(i), gate(i) + h and gate(i) + 2 h.
template <class T>
struct CellValues {
  const T *gi, *gh, *state;
  std::int64_t count, width;
  __device__ std::int64_t gate(std::int64_t i) const { return i + i / width * 2 * width; }
};

/// Gates of one value of a state.
template <class T>
struct Gates {
  T scaled, r, z, n;  // `scaled`: the part of the candidate n that r scales
  __device__ Gates(const CellValues<T>& in, std::int64_t g)
      : scaled(in.gh[g + 2 * in.width]),
        r(sigmoid(in.gi[g] + in.gh[g])),
        z(sigmoid(in.gi[g + in.width] + in.gh[g + in.width])),
        n(std::tanh(in.gi[g + 2 * in.width] + r * scaled)) {}
};

template <class T>
__global__ void gru_cell(CellValues<T> in, T* y) {
#pragma unroll 1  // one turn up to 2^28 values
  for (std::int64_t i = grid_thread(); i < in.count; i += grid_threads()) {
    const Gates<T> gates(in, in.gate(i));
    y[i] = (T{1} - gates.z) * gates.n + gates.z * in.state[i];
  }
}

template <class T>
__global__ void gru_cell_backward(CellValues<T> in, const T* dy, T* dgi, T* dgh, Target<T> dstate) {
#pragma unroll 1  // one turn up to 2^28 values
  for (std::int64_t i = grid_thread(); i < in.count; i += grid_threads()) {
    const std::int64_t g = in.gate(i);
    const Gates<T> gates(in, g);
    const T d = dy[i], old = in.state[i];
    const T dn = d * (T{1} - gates.z) * (T{1} - gates.n * gates.n);
    const T dr = dn * gates.scaled * gates.r * (T{1} - gates.r);
    const T dz = d * (old - gates.n) * gates.z * (T{1} - gates.z);
    dgi[g] = dr;
    dgh[g] = dr;
    dgi[g + in.width] = dz;
    dgh[g + in.width] = dz;
    dgi[g + 2 * in.width] = dn;
    dgh[g + 2 * in.width] = dn * gates.r;
    dstate.put(i, d * gates.z);
  }
}

template <class T>
__global__ void squash(const T* x, T* y, std::int64_t count) {
#pragma unroll 1  // one turn up to 2^28 values
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) y[i] = std::tanh(x[i]);
}

template <class T>
__global__ void squash_backward(const T* y, const T* dy, Target<T> dx, std::int64_t count) {
#pragma unroll 1  // one turn up to 2^28 values
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const T squashed = y[i];
    dx.put(i, dy[i] * (T{1} - squashed * squashed));
  }
}

/// The inputs of both directions of a projection.
template <class T>
struct Projected {
  const T *x, *dt, *slope, *shift;
  std::int64_t width;
  __device__ T factor(std::int64_t row, std::int64_t column) const {
    return T{1} + dt[row] * slope[column] + shift[column];
  }
};

template <class T>
__global__ void project(Projected<T> in, T* y, std::int64_t count) {
#pragma unroll 1  // one turn up to 2^28 values
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads())
    y[i] = in.x[i] * in.factor(i / in.width, i % in.width);
}

/// Leaves the sums of a range of rows in a row of `sums`: of the slopes' gradients, then of the shifts'.
template <class T>
__global__ void project_backward(Projected<T> in, const T* dy, Target<T> dx, RowParts parts, double* sums) {
#pragma unroll 1
  for (std::int64_t at = grid_thread(); at < parts.count * in.width; at += grid_threads()) {
    const std::int64_t range = at / in.width, column = at % in.width, end = parts.end(range);
    double of_slope = 0, of_shift = 0;
    for (std::int64_t row = parts.begin(range); row < end; ++row) {
      const std::int64_t i = row * in.width + column;
      const T d = dy[i];
      const double both = static_cast<double>(d) * static_cast<double>(in.x[i]);
      of_slope += both * static_cast<double>(in.dt[row]);
      of_shift += both;
      dx.put(i, d * in.factor(row, column));
    }
    double* const to = sums + range * 2 * in.width + column;
    to[0] = of_slope;
    to[in.width] = of_shift;
  }
}

template <class T, class Op>
CellValues<T> cell_of(const Op& op) {
  return {op.gi.template data<T>(), op.gh.template data<T>(), op.state.template data<T>(), op.state.elements(),
          op.state.columns()};
}

template <class T, class Op>
Projected<T> projection_of(const Op& op) {
  return {op.x.template data<T>(), op.dt.template data<T>(), op.slope.template data<T>(), op.shift.template data<T>(),
          op.x.columns()};
}

void run_cell(const GruCell& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.y.elements(), threads), threads, 0, gru_cell<T>, cell_of<T>(op), op.y.data<T>());
  });
}

void run_cell_backward(const GruCellBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const Target<T> dstate{op.dstate.data<T>(), op.accumulate_dstate};
    launch(context, blocks_for(op.dy.elements(), threads), threads, 0, gru_cell_backward<T>, cell_of<T>(op),
           op.dy.data<T>(), op.dgi.data<T>(), op.dgh.data<T>(), dstate);
  });
}

void run_tanh(const Tanh& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t count = op.y.elements();
    launch(context, blocks_for(count, threads), threads, 0, squash<T>, op.x.data<T>(), op.y.data<T>(), count);
  });
}

void run_tanh_backward(const TanhBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t count = op.y.elements();
    const Target<T> dx{op.dx.data<T>(), op.accumulate};
    launch(context, blocks_for(count, threads), threads, 0, squash_backward<T>, op.y.data<T>(), op.dy.data<T>(), dx,
           count);
  });
}

void run_projection(const TimeProjection& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t count = op.y.elements();
    launch(context, blocks_for(count, threads), threads, 0, project<T>, projection_of<T>(op), op.y.data<T>(), count);
  });
}

void run_projection_backward(const TimeProjectionBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.dy.columns();
    const RowParts parts = row_parts(op.dy.rows(), 2 * width, 1);
    if (parts.count == 0) return;
    double* const sums = part_sums_memory(context, parts.count, 2 * width);
    const Target<T> dx{op.dx.data<T>(), op.accumulate_dx};
    launch(context, blocks_for(parts.count * width, threads), threads, 0, project_backward<T>, projection_of<T>(op),
           op.dy.data<T>(), dx, parts, sums);
    add_part_sums<T>(context, op.dslope, width, op.dshift, sums, parts.count, 2 * width);
  });
}

const RegisterKernel<GruCell> cell_plain{"cuda", {"plain", 0, nullptr, run_cell}};
const RegisterKernel<GruCellBackward> cell_back_plain{"cuda", {"plain", 0, nullptr, run_cell_backward}};
const RegisterKernel<Tanh> tanh_plain{"cuda", {"plain", 0, nullptr, run_tanh}};
const RegisterKernel<TanhBackward> tanh_back_plain{"cuda", {"plain", 0, nullptr, run_tanh_backward}};
const RegisterKernel<TimeProjection> projection_plain{"cuda", {"plain", 0, nullptr, run_projection}};
const RegisterKernel<TimeProjectionBackward> projection_back_plain{"cuda",
                                                                   {"plain", 0, nullptr, run_projection_backward}};

}  // namespace memory_plain_kernels
}  // namespace strobe::cuda
