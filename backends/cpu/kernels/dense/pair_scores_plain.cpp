// Plain scores of vertex pairs (PairScores) and their gradients: one event at a time, in double. The gradients of the
// weights are summed over ranges of events that depend on the shapes only, range after range, so nothing depends on the
// number of threads. Cost 4 E C F FLOPs forward and 7 E C F backward; b is read once, db written once.
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/operations/operations_events.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t events_per_range = 256;

/// Candidates of an event; none where there is no event.
std::int64_t candidates_of(const Tensor& a, const Tensor& b) { return a.rows() == 0 ? 0 : b.rows() / a.rows(); }

void run_scores(const PairScores& op, KernelContext& context) {
  const std::int64_t width = op.a.columns(), candidates = candidates_of(op.a, op.b);
  with_element(op.a.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *a = op.a.data<T>(), *b = op.b.data<T>(), *w = op.w.data<T>();
    for_ranges(context, op.a.rows() * candidates, events_per_range, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        double sum = *op.bias.data<T>();
        for (std::int64_t f = 0; f < width; ++f) {
          const double x = static_cast<double>(a[i / candidates * width + f]) + static_cast<double>(b[i * width + f]);
          if (!(x <= 0)) sum += static_cast<double>(w[f]) * x;  // so that NaN stays
        }
        op.y.data<T>()[i] = static_cast<T>(sum);
      }
    });
  });
}

/// Event e; adds its part of dw and dbias to `sums` [F + 1].
template <class T>
void event_back(const PairScoresBackward& op, std::int64_t e, std::int64_t candidates, double* sums) {
  const std::int64_t width = op.a.columns();
  const T *a = op.a.data<T>() + e * width, *b = op.b.data<T>() + e * candidates * width, *w = op.w.data<T>(),
          *dy = op.dy.data<T>() + e * candidates;
  T *da = op.da.data<T>() + e * width, *db = op.db.data<T>() + e * candidates * width;
  for (std::int64_t f = 0; f < width; ++f) {
    double down = 0;
    for (std::int64_t c = 0; c < candidates; ++c) {
      const double x = static_cast<double>(a[f]) + static_cast<double>(b[c * width + f]),
                   d = static_cast<double>(dy[c]);
      const double dx = x > 0 ? d * static_cast<double>(w[f]) : 0.0;
      if (!(x <= 0)) sums[f] += d * x;
      db[c * width + f] = static_cast<T>(dx);
      down += dx;
    }
    da[f] = static_cast<T>(down);
  }
  for (std::int64_t c = 0; c < candidates; ++c) sums[width] += static_cast<double>(dy[c]);
}

void run_scores_back(const PairScoresBackward& op, KernelContext& context) {
  const std::int64_t width = op.a.columns(), candidates = candidates_of(op.a, op.b);
  with_element(op.a.type(), [&](auto zero) {
    using T = decltype(zero);
    add_weight_gradients<T>(context, op.a.rows(), events_per_range, op.dw, width, op.dbias, 1,
                            [&](std::int64_t begin, std::int64_t end, double* sums) {
                              for (std::int64_t e = begin; e < end; ++e) event_back<T>(op, e, candidates, sums);
                            });
  });
}

const RegisterKernel<PairScores> forward{"cpu", {"plain", 0, nullptr, run_scores}};
const RegisterKernel<PairScoresBackward> backward{"cpu", {"plain", 0, nullptr, run_scores_back}};

}  // namespace
}  // namespace strobe
