// Plain scores of vertex pairs (PairScores) and their gradients, in double. Forward a warp has a score, its lanes the
// columns. Backward a block has a range of events and its threads the columns, walking over the events one after the
// other: da and db are written by the thread of their column, dw and dbias (after the last column) are added up over
// the range and left as parts, which a second launch adds in order. Ranges depend on shapes only. Cost 4 E C F FLOPs
// forward, 7 E C F backward; b is read once, db written once; 8 (F + 1) bytes for each of at most 1024 blocks.
#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/operations/operations_events.hpp"

namespace strobe::cuda {
namespace pair_scores_plain_kernels {

constexpr int threads = 128;

/// Device arrays and sizes.
template <class T>
struct Pairs {
  const T *a, *b, *w;
  std::int64_t events, candidates, width;
};

template <class T, class Op>
Pairs<T> pairs_of(const Op& op) {
  const std::int64_t events = op.a.rows();
  return {op.a.template data<T>(),
          op.b.template data<T>(),
          op.w.template data<T>(),
          events,
          events == 0 ? 0 : op.b.rows() / events,
          op.a.columns()};
}

template <class T>
__global__ void scores(Pairs<T> op, const T* bias, T* y) {
  const std::int64_t apart = grid_threads() / warp_lanes;
  for (std::int64_t i = grid_thread() / warp_lanes; i < op.events * op.candidates; i += apart) {
    const T *const a = op.a + i / op.candidates * op.width, *const b = op.b + i * op.width;
    double sum = 0;
    for (std::int64_t f = lane(); f < op.width; f += warp_lanes) {
      const double x = static_cast<double>(a[f]) + static_cast<double>(b[f]);
      if (!(x <= 0)) sum += static_cast<double>(op.w[f]) * x;  // so that NaN stays
    }
    sum = warp_sum(sum);
    if (lane() == 0) y[i] = static_cast<T>(sum + static_cast<double>(*bias));
  }
}

/// Additional arrays of the backward pass.
template <class T>
struct PairGradients {
  const T* dy;
  T *da, *db;
  double* parts;  // [ranges, F + 1]
};

/// da and db of column f of event e; returns its part of dw.
template <class T>
__device__ double event_back(const Pairs<T>& op, const PairGradients<T>& to, std::int64_t e, std::int64_t f) {
  const double a = static_cast<double>(op.a[e * op.width + f]), w = static_cast<double>(op.w[f]);
  double down = 0, sum = 0;
  for (std::int64_t i = e * op.candidates; i < (e + 1) * op.candidates; ++i) {
    const double x = a + static_cast<double>(op.b[i * op.width + f]), dy = static_cast<double>(to.dy[i]);
    const double dx = x > 0 ? dy * w : 0.0;
    if (!(x <= 0)) sum += dy * x;
    to.db[i * op.width + f] = static_cast<T>(dx);
    down += dx;
  }
  to.da[e * op.width + f] = static_cast<T>(down);
  return sum;
}

template <class T>
__global__ void scores_back(Pairs<T> op, PairGradients<T> to, RowParts ranges) {
  const std::int64_t begin = ranges.begin(blockIdx.x), end = ranges.end(blockIdx.x);
  for (std::int64_t f = threadIdx.x; f <= op.width; f += blockDim.x) {
    double sum = 0;
    for (std::int64_t e = begin; f < op.width && e < end; ++e) sum += event_back(op, to, e, f);
    for (std::int64_t i = begin * op.candidates; f == op.width && i < end * op.candidates; ++i) {
      sum += static_cast<double>(to.dy[i]);
    }
    to.parts[blockIdx.x * (op.width + 1) + f] = sum;
  }
}

void run_scores(const PairScores& op, KernelContext& context) {
  with_element(op.a.type(), [&](auto zero) {
    using T = decltype(zero);
    const Pairs<T> pairs = pairs_of<T>(op);
    launch(context, blocks_for(pairs.events * pairs.candidates * warp_lanes, threads), threads, 0, scores<T>, pairs,
           op.bias.data<T>(), op.y.data<T>());
  });
}

void run_scores_back(const PairScoresBackward& op, KernelContext& context) {
  with_element(op.a.type(), [&](auto zero) {
    using T = decltype(zero);
    const Pairs<T> pairs = pairs_of<T>(op);
    if (pairs.events == 0) return;
    const RowParts ranges = row_parts(pairs.events, pairs.width + 1, 1);
    const PairGradients<T> to{op.dy.data<T>(), op.da.data<T>(), op.db.data<T>(),
                              part_sums_memory(context, ranges.count, pairs.width + 1)};
    launch(context, ranges.count, threads, 0, scores_back<T>, pairs, to, ranges);
    const SumTargets<T> targets{
        {op.dw.data<T>(), op.dbias.data<T>(), nullptr}, {pairs.width, pairs.width + 1, pairs.width + 1}, true};
    add_parts(context, static_cast<const double*>(to.parts), ranges.count, pairs.width + 1, targets);
  });
}

const RegisterKernel<PairScores> forward{"cuda", {"plain", 0, nullptr, run_scores}};
const RegisterKernel<PairScoresBackward> backward{"cuda", {"plain", 0, nullptr, run_scores_back}};

}  // namespace pair_scores_plain_kernels
}  // namespace strobe::cuda
