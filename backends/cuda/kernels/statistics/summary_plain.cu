// Plain summary rows (EvolveGCN-H; Pareja et al., AAAI'20, section 3.2) and their gradient. Forward: one thread an
// element, which computes its row's score again. Backward: one thread a summary row for its score and the score's
// gradient; then one thread an element of dx, where the first of the summary rows that share a row of x adds for all of
// them in their order, or an element of dw; then one warp a feature of the direction's gradient. With N = T k summary
// rows: cost 2 N F^2 FLOPs forward and at most N^2 comparisons backward, both small compared with the layers (F times
// as many FLOPs for rows that are not stored); one launch forward, three backward.
#include <cmath>

#include "backends/cuda/kernels/statistics/choice_rows.hpp"

namespace strobe::cuda {
namespace summary_plain_kernels {

constexpr int threads = 128;

template <class T>
struct Rows {
  ChoiceRows<T> from;
  const T* direction;
  const std::int64_t* chosen;
  std::int64_t count, width, per_step;
  bool gated;

  __device__ double length() const {
    double squares = 0;
    for (std::int64_t f = 0; f < width; ++f) {
      squares += static_cast<double>(direction[f]) * static_cast<double>(direction[f]);
    }
    return std::sqrt(squares);
  }
  /// Value `f` of the row of summary row i, which has one.
  __device__ double value(std::int64_t i, std::int64_t f) const {
    return static_cast<double>(from.value(i / per_step, chosen[i], f));
  }
  __device__ double score(std::int64_t i, double length) const {
    double sum = 0;
    for (std::int64_t f = 0; f < width; ++f) sum += value(i, f) * static_cast<double>(direction[f]);
    return sum / length;
  }
};

template <class T>
__global__ void summarise(Rows<T> s, T* summary) {
  const double length = s.length();
  for (std::int64_t at = grid_thread(); at < s.count * s.width; at += grid_threads()) {
    const std::int64_t i = at / s.width;
    if (s.chosen[i] < 0) {
      summary[at] = T{0};
    } else {
      const double factor = s.gated ? std::tanh(s.score(i, length)) : 1.0;
      summary[at] = static_cast<T>(factor * s.value(i, at % s.width));
    }
  }
}

/// With s = x . p / |p|: d(x tanh s) = tanh(s) dx + x (1 - tanh^2 s) ds.
struct RowGradient {
  double score, factor, dscore;
  std::int64_t first;  // 1 for the first summary row that reads its row of x
};

template <class T>
__global__ void row_gradients(Rows<T> s, const T* dsummary, RowGradient* gradients) {
  const double length = s.length();
  for (std::int64_t i = grid_thread(); i < s.count; i += grid_threads()) {
    const std::int64_t row = s.chosen[i];
    RowGradient g{0.0, 1.0, 0.0, 0};
    if (row >= 0) {
      g.first = 1;
      for (std::int64_t before = 0; before < i; ++before) {
        if (s.chosen[before] == row) g.first = 0;
      }
      g.score = s.score(i, length);
      if (s.gated) g.factor = std::tanh(g.score);
      for (std::int64_t f = 0; s.gated && f < s.width; ++f) {
        g.dscore += static_cast<double>(dsummary[i * s.width + f]) * s.value(i, f);
      }
      g.dscore *= 1 - g.factor * g.factor;
    }
    gradients[i] = g;
  }
}

template <class T>
__global__ void add_to_rows(Rows<T> s, const T* dsummary, const RowGradient* gradients, T* dx) {
  const double length = s.length();
  for (std::int64_t at = grid_thread(); at < s.count * s.width; at += grid_threads()) {
    const std::int64_t i = at / s.width, f = at % s.width, row = s.chosen[i];
    if (gradients[i].first == 0) continue;
    const double unit = static_cast<double>(s.direction[f]) / length;
    T sum = dx[row * s.width + f];
    for (std::int64_t j = i; j < s.count; ++j) {
      if (s.chosen[j] != row) continue;
      const double d = dsummary[j * s.width + f];
      sum += static_cast<T>(gradients[j].factor * d + gradients[j].dscore * unit);
    }
    dx[row * s.width + f] = sum;
  }
}

/// dw += x^T dz of the chosen rows of each step, one thread an element.
template <class T>
__global__ void add_to_weights(Rows<T> s, const T* dsummary, const RowGradient* gradients, T* dw) {
  const double length = s.length();
  const std::int64_t inputs = s.from.inputs, one = inputs * s.width;
  for (std::int64_t at = grid_thread(); at < s.count / s.per_step * one; at += grid_threads()) {
    const std::int64_t step = at / one, j = at % one / s.width, f = at % s.width;
    const double unit = static_cast<double>(s.direction[f]) / length;
    T sum = dw[at];
    for (std::int64_t i = step * s.per_step; i < (step + 1) * s.per_step; ++i) {
      const std::int64_t row = s.chosen[i];
      if (row < 0 || (s.from.with_relu && !(s.value(i, f) > 0))) continue;
      const double d = dsummary[i * s.width + f];
      sum += s.from.x[row * inputs + j] * static_cast<T>(gradients[i].factor * d + gradients[i].dscore * unit);
    }
    dw[at] = sum;
  }
}

template <class T>
__global__ void add_to_direction(Rows<T> s, const RowGradient* gradients, T* ddirection) {
  const double length = s.length();
  for (std::int64_t f = grid_thread() / warp_lanes; f < s.width; f += grid_threads() / warp_lanes) {
    const double unit = static_cast<double>(s.direction[f]) / length;
    double sum = 0;
    for (std::int64_t i = lane(); i < s.count; i += warp_lanes) {
      if (s.chosen[i] >= 0) sum += gradients[i].dscore * (s.value(i, f) - gradients[i].score * unit) / length;
    }
    sum = warp_sum(sum);
    if (lane() == 0) ddirection[f] = static_cast<T>(static_cast<double>(ddirection[f]) + sum);
  }
}

template <class T, class Op>
Rows<T> rows_of(const Op& op, std::int64_t count) {
  const std::int64_t steps = op.w.defined() ? op.w.rows() / op.x.columns() : 1;
  return {choice_rows<T>(op),
          op.direction.template data<T>(),
          op.chosen.template data<std::int64_t>(),
          count,
          op.direction.rows(),
          count / steps,
          op.gated};
}

void run_summarise(const SummariseRows& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.summary.elements(), threads), threads, 0, summarise<T>,
           rows_of<T>(op, op.summary.rows()), op.summary.data<T>());
  });
}

void run_summarise_backward(const SummariseRowsBackward& op, KernelContext& context) {
  const std::int64_t count = op.dsummary.rows();
  if (count == 0) return;
  auto* const gradients =
      reinterpret_cast<RowGradient*>(context.scratch(static_cast<std::size_t>(count) * sizeof(RowGradient)));
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    const Rows<T> s = rows_of<T>(op, count);
    const T* const dsummary = op.dsummary.data<T>();
    launch(context, blocks_for(count, threads), threads, 0, row_gradients<T>, s, dsummary, gradients);
    if (op.dx.defined()) {
      launch(context, blocks_for(count * s.width, threads), threads, 0, add_to_rows<T>, s, dsummary, gradients,
             op.dx.data<T>());
    }
    if (op.dw.defined()) {
      launch(context, blocks_for(op.dw.elements(), threads), threads, 0, add_to_weights<T>, s, dsummary, gradients,
             op.dw.data<T>());
    }
    launch(context, blocks_for(s.width * warp_lanes, threads), threads, 0, add_to_direction<T>, s, gradients,
           op.ddirection.data<T>());
  });
}

const RegisterKernel<SummariseRows> plain{"cuda", {"plain", 0, nullptr, run_summarise}};
const RegisterKernel<SummariseRowsBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_summarise_backward}};

}  // namespace summary_plain_kernels
}  // namespace strobe::cuda
