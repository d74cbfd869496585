// Vector gates of a step-by-step recurrence: sigmoid and tanh of whole registers (lane_math.hpp), where the plain
// kernel calls the library per value. Arrays of the state's shape are processed in whole registers; a row of both
// gates takes as few as hold its halves. Ranges of rows are tasks. Cost: each value read and written once, about 30
// instructions a register of sigmoid or tanh.
#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/lane_math.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_gate.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t rows_per_task = 1 << 11;
constexpr std::int64_t values_per_task = 1 << 14;

/// Stores the first lanes of `v`, or adds them; nowhere when `to` is null.
template <class T>
struct Target {
  static constexpr int P = most_lanes<T>;
  T* to;
  bool accumulate;
  template <int Q = P>
  [[gnu::always_inline]] void put(std::int64_t i, Lanes<T, Q> v, int lanes) const {
    if (to == nullptr) return;
    store_first<T, Q>(to + i, accumulate ? load_first<T, Q>(to + i, lanes) + v : v, lanes);
  }
};

/// Calls body(P) with the lanes of the registers that a row of a state of `h` values takes.
template <class T, class Body>
void with_state_lanes(std::int64_t h, const Body& body) {
  // A single lane is no register for lane_math.hpp.
  constexpr int most = most_lanes<T>;
  if (h <= 4) return body(std::integral_constant<int, std::min(4, most)>{});
  h <= 8 ? body(std::integral_constant<int, std::min(8, most)>{}) : body(std::integral_constant<int, most>{});
}

/// Calls body(value of the state, place of its r in a [R, 2 h] matrix, lanes) for registers of P lanes that cover rows
/// [begin, end) of a state [R, h].
template <int P, class Body>
[[gnu::always_inline]] inline void for_state_rows(std::int64_t h, std::int64_t begin, std::int64_t end,
                                                  const Body& body) {
  if (h % P == 0) {  // lanes are a constant then
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t c = 0; c < h; c += P) body(r * h + c, r * 2 * h + c, P);
    }
    return;
  }
  for (std::int64_t r = begin; r < end; ++r) {
    for (std::int64_t c = 0; c < h; c += P)
      body(r * h + c, r * 2 * h + c, static_cast<int>(std::min<std::int64_t>(P, h - c)));
  }
}

void run_gates(const GruGates& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t h = op.state.columns();
    const T *a = op.a.data<T>(), *state = op.state.data<T>();
    T *r = op.r.data<T>(), *u = op.u.data<T>(), *reset = op.reset.data<T>();
    with_state_lanes<T>(h, [&](auto width) {
      constexpr int P = decltype(width)::value;
      for_ranges(context, op.state.rows(), rows_per_task, [=](std::int64_t begin, std::int64_t end) {
        for_state_rows<P>(h, begin, end, [=](std::int64_t i, std::int64_t g, int lanes) {
          const Lanes<T, P> open = sigmoid<T, P>(load_row<T, P>(a + g, lanes));
          store_first<T, P>(r + i, open, lanes);
          store_first<T, P>(u + i, sigmoid<T, P>(load_row<T, P>(a + g + h, lanes)), lanes);
          store_first<T, P>(reset + i, open * load_row<T, P>(state + i, lanes), lanes);
        });
      });
    });
  });
}

/// da of rows [begin, end).
template <class T, int P>
void gate_gradients(const GruGatesBackward& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t h = op.u.columns();
  const T *r = op.r.data<T>(), *u = op.u.data<T>(), *state = op.state.data<T>(), *du = op.du.data<T>();
  const T* dreset = op.dreset.data<T>();
  const Target<T> da{op.da.data<T>(), op.accumulate_da};
  for_state_rows<P>(h, begin, end, [=](std::int64_t i, std::int64_t g, int lanes) {
    Lanes<T, P> dr{};
    if (dreset != nullptr) {
      const Lanes<T, P> open = load_row<T, P>(r + i, lanes);
      dr = load_row<T, P>(dreset + i, lanes) * load_row<T, P>(state + i, lanes) * open * (T{1} - open);
    }
    const Lanes<T, P> keep = load_row<T, P>(u + i, lanes);
    da.template put<P>(g, dr, lanes);
    da.template put<P>(g + h, load_row<T, P>(du + i, lanes) * keep * (T{1} - keep), lanes);
  });
}

void run_gates_backward(const GruGatesBackward& op, KernelContext& context) {
  with_element(op.u.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int Q = most_lanes<T>;
    const std::int64_t h = op.u.columns();
    const T *r = op.r.data<T>(), *dreset = op.dreset.data<T>();
    const Target<T> dstate{dreset != nullptr ? op.dstate.data<T>() : nullptr, op.accumulate_dstate};
    with_state_lanes<T>(h, [&](auto width) {
      for_ranges(context, op.u.rows(), rows_per_task, [=, &op](std::int64_t begin, std::int64_t end) {
        gate_gradients<T, decltype(width)::value>(op, begin, end);
        if (dstate.to == nullptr) return;
        for_lanes<T>(begin * h, end * h, [=](std::int64_t i, int lanes) {
          dstate.put(i, load_row<T, Q>(dreset + i, lanes) * load_row<T, Q>(r + i, lanes), lanes);
        });
      });
    });
  });
}

void run_blend_state(const BlendState& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int P = most_lanes<T>;
    const T *u = op.u.data<T>(), *state = op.state.data<T>(), *a = op.a.data<T>();
    T *candidate = op.candidate.data<T>(), *next = op.next.data<T>();
    for_ranges(context, op.state.elements(), values_per_task, [=](std::int64_t begin, std::int64_t end) {
      for_lanes<T>(begin, end, [=](std::int64_t i, int lanes) {
        const Lanes<T, P> keep = load_row<T, P>(u + i, lanes), fresh = tanh<T, P>(load_row<T, P>(a + i, lanes));
        store_first<T, P>(candidate + i, fresh, lanes);
        store_first<T, P>(next + i, keep * load_row<T, P>(state + i, lanes) + (T{1} - keep) * fresh, lanes);
      });
    });
  });
}

void run_blend_state_backward(const BlendStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int P = most_lanes<T>;
    const T *u = op.u.data<T>(), *state = op.state.data<T>();
    const T *candidate = op.candidate.data<T>(), *dnext = op.dnext.data<T>();
    const Target<T> du{op.du.data<T>(), op.accumulate_du}, da{op.da.data<T>(), op.accumulate_da};
    const Target<T> dstate{op.dstate.data<T>(), op.accumulate_dstate};
    for_ranges(context, op.state.elements(), values_per_task, [=](std::int64_t begin, std::int64_t end) {
      for_lanes<T>(begin, end, [=](std::int64_t i, int lanes) {
        const Lanes<T, P> d = load_row<T, P>(dnext + i, lanes), keep = load_row<T, P>(u + i, lanes),
                          fresh = load_row<T, P>(candidate + i, lanes);
        du.put(i, d * (load_row<T, P>(state + i, lanes) - fresh), lanes);
        da.put(i, d * (T{1} - keep) * (T{1} - fresh * fresh), lanes);
        dstate.put(i, d * keep, lanes);
      });
    });
  });
}

const RegisterKernel<GruGates> fast_gates{"cpu", {"vector", 10, nullptr, run_gates}};
const RegisterKernel<GruGatesBackward> fast_gates_backward{"cpu", {"vector", 10, nullptr, run_gates_backward}};
const RegisterKernel<BlendState> fast_blend{"cpu", {"vector", 10, nullptr, run_blend_state}};
const RegisterKernel<BlendStateBackward> fast_blend_backward{"cpu", {"vector", 10, nullptr, run_blend_state_backward}};

}  // namespace
}  // namespace strobe
