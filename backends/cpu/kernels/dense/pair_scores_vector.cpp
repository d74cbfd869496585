// Vector scores of vertex pairs and their gradients: columns are the lanes. Backward a range of events adds up its part
// of dw in the same loop over columns; the part then goes into double sums, range after range; ranges depend on the
// shapes only, so nothing depends on the number of threads. Cost 4 E C F FLOPs forward and 7 E C F backward; a and b
// are read once, da and db written once.
#include <vector>

#include "backends/cpu/kernels/lanes.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/operations/operations_events.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t events_per_task = 64;

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

/// w . relu(a + b)
template <class T>
T score(const T* a, const T* b, const T* w, std::int64_t width) {
  constexpr int P = most_lanes<T>;
  using V = Lanes<T, P>;
  V sum{};
  for_lanes<T>(0, width, [&](std::int64_t f, int n) {
    const V x = load<T, P>(a + f) + load<T, P>(b + f);
    sum += keep_first<T, P>(load<T, P>(w + f) * (x < V{} ? V{} : x), n);
  });
  T total = sum[0];
  for (int l = 1; l < P; ++l) total += sum[l];
  return total;
}

void run_score_lanes(const PairScores& op, KernelContext& context) {
  with_element(op.a.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto in = pairs_of<T>(op);
    const T bias = *op.bias.data<T>();
    for_ranges(context, in.events * in.candidates, events_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        op.y.data<T>()[i] = score(in.a + i / in.candidates * in.width, in.b + i * in.width, in.w, in.width) + bias;
      }
    });
  });
}

/// da and db of event e; adds its part of dw to `dw`.
template <class T>
void event_back(const Pairs<T>& in, const PairScoresBackward& op, std::int64_t e, T* dw) {
  constexpr int P = most_lanes<T>;
  using V = Lanes<T, P>;
  const T *a = in.a + e * in.width, *b = in.b + e * in.candidates * in.width, *dy = op.dy.data<T>() + e * in.candidates;
  T *da = op.da.data<T>() + e * in.width, *db = op.db.data<T>() + e * in.candidates * in.width;
  for_lanes<T>(0, in.width, [&](std::int64_t f, int n) {
    const V own = load<T, P>(a + f), w = load<T, P>(in.w + f), zero{};
    V down{}, sum{};
    for (std::int64_t c = 0; c < in.candidates; ++c) {
      const V x = own + load<T, P>(b + c * in.width + f), dx = x > zero ? w * dy[c] : zero;
      sum += dy[c] * (x < zero ? zero : x);
      down += dx;
      store_first<T, P>(db + c * in.width + f, dx, n);
    }
    store_first<T, P>(da + f, down, n);
    store_first<T, P>(dw + f, load<T, P>(dw + f) + sum, P);  // values after the row are never read
  });
}

void run_score_lanes_back(const PairScoresBackward& op, KernelContext& context) {
  with_element(op.a.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto in = pairs_of<T>(op);
    add_weight_gradients<T>(context, in.events, events_per_task, op.dw, in.width, op.dbias, 1,
                            [&](std::int64_t begin, std::int64_t end, double* sums) {
                              std::vector<T> dw(in.width + most_lanes<T>, T{0});
                              for (std::int64_t e = begin; e < end; ++e) event_back(in, op, e, dw.data());
                              for (std::int64_t f = 0; f < in.width; ++f) sums[f] += static_cast<double>(dw[f]);
                              for (std::int64_t i = begin * in.candidates; i < end * in.candidates; ++i)
                                sums[in.width] += static_cast<double>(op.dy.data<T>()[i]);
                            });
  });
}

const RegisterKernel<PairScores> forward{"cpu", {"vector", 10, nullptr, run_score_lanes}};
const RegisterKernel<PairScoresBackward> backward{"cpu", {"vector", 10, nullptr, run_score_lanes_back}};

}  // namespace
}  // namespace strobe
