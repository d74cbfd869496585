// Vector gates of a step-by-step recurrence: sigmoid and tanh of whole registers (lane_math.hpp), where the plain
// kernel calls the library per value. A row's state takes as few registers as hold it; ranges of rows are tasks. Cost:
// each value read and written once, about 30 instructions a register of sigmoid or tanh.
#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/add_values.hpp"
#include "backends/cpu/kernels/lane_math.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations_gate.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t rows_per_task = 1 << 11;
constexpr std::int64_t values_per_task = 1 << 14;

/// Calls body(first value, lanes) for registers that cover [0, values).
template <class T, class Body>
void for_values(const KernelContext& context, std::int64_t values, const Body& body) {
  for_ranges(context, values, values_per_task,
             [&](std::int64_t begin, std::int64_t end) { for_lanes<T>(begin, end, body); });
}

void run_sigmoid(const Sigmoid& op, KernelContext& context) {
  with_element(op.x.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int P = most_lanes<T>;
    const T* x = op.x.data<T>();
    T* y = op.y.data<T>();
    for_ranges(context, op.x.elements(), values_per_task, [=](std::int64_t begin, std::int64_t end) {
      const std::int64_t full = (end - begin) / P * P, rest = begin + full;
      const int lanes = static_cast<int>(end - rest);
      sigmoid_values<T>(x + begin, y + begin, full);
      if (lanes > 0) store_first<T, P>(y + rest, sigmoid<T, P>(load_first<T, P>(x + rest, lanes)), lanes);
    });
  });
}

void run_sigmoid_backward(const SigmoidBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int P = most_lanes<T>;
    const T *y = op.y.data<T>(), *dy = op.dy.data<T>();
    T* dx = op.dx.data<T>();
    for_values<T>(context, op.y.elements(), [=](std::int64_t i, int lanes) {
      const Lanes<T, P> value = load_row<T, P>(y + i, lanes), slope = value * (T{1} - value);
      store_first<T, P>(dx + i, load_first<T, P>(dx + i, lanes) + load_row<T, P>(dy + i, lanes) * slope, lanes);
    });
  });
}

/// Calls body(P) with the lanes of the registers that a row of a state of `h` values takes.
template <class T, class Body>
void with_state_lanes(std::int64_t h, const Body& body) {
  // A single lane is no register for lane_math.hpp.
  constexpr int most = most_lanes<T>;
  if (h <= 4) return body(std::integral_constant<int, std::min(4, most)>{});
  h <= 8 ? body(std::integral_constant<int, std::min(8, most)>{}) : body(std::integral_constant<int, most>{});
}

/// Calls body(value of the state, its place in a [R, 2 h] matrix, lanes) for registers of P lanes that cover rows
/// [begin, end) of a state [R, h].
template <int P, class Body>
[[gnu::always_inline]] inline void for_state_rows(std::int64_t h, std::int64_t shift, std::int64_t begin,
                                                  std::int64_t end, const Body& body) {
  if (h % P == 0) {  // lanes are a constant then
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t c = 0; c < h; c += P) body(r * h + c, r * 2 * h + shift + c, P);
    }
    return;
  }
  for (std::int64_t r = begin; r < end; ++r) {
    for (std::int64_t c = 0; c < h; c += P)
      body(r * h + c, r * 2 * h + shift + c, static_cast<int>(std::min<std::int64_t>(P, h - c)));
  }
}

/// As for_state_rows for all rows, ranges of them as tasks; `body` also gets P, as a constant.
template <class T, class Body>
void for_states(const Tensor& state, std::int64_t shift, const KernelContext& context, const Body& body) {
  const std::int64_t h = state.columns();
  with_state_lanes<T>(h, [&](auto width) {
    for_ranges(context, state.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      for_state_rows<decltype(width)::value>(
          h, shift, begin, end, [&](std::int64_t i, std::int64_t g, int lanes) { body(width, i, g, lanes); });
    });
  });
}

/// What is added to a matrix [R, `columns`] from row `row` on: in place, or where `gathered` in an array that add()
/// adds whole registers of (add_values.hpp says why).
template <class T, bool gathered>
class AddedRows {
 public:
  /// `to` may be null: nothing is added then.
  AddedRows(T* to, std::int64_t row, std::int64_t columns) : to_(to), first_(row * columns) {
    if constexpr (gathered) std::fill(added_, added_ + most_added, T{0});
  }
  template <int P>
  [[gnu::always_inline]] void put(std::int64_t at, Lanes<T, P> v, int lanes) {
    if constexpr (gathered) {
      store_first<T, P>(added_ + at - first_, v, lanes);
    } else {
      if (to_ == nullptr) return;
      store_first<T, P>(to_ + at, load_first<T, P>(to_ + at, lanes) + v, lanes);
    }
  }
  void add(std::int64_t count) {
    if constexpr (gathered) {
      if (to_ != nullptr) add_values<T>(added_, to_ + first_, count);
    }
  }

 private:
  T* to_;
  std::int64_t first_;
  alignas(64) T added_[gathered ? most_added : 1];
};

/// Rows whose 2 h gradients fill such an array.
inline std::int64_t gathered_rows(std::int64_t h) { return most_added / (2 * h); }

/// Calls body(P, gathered, begin, end) as tasks, both as constants; ranges fit AddedRows of up to 2 h columns.
template <class T, class Body>
void for_added_states(const Tensor& state, const KernelContext& context, const Body& body) {
  const std::int64_t h = state.columns();
  const auto run = [&](auto width, auto gathered) {
    const std::int64_t some = gathered ? gathered_rows(h) : rows_per_task;
    for_ranges(context, state.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; r += some) body(width, gathered, r, std::min(end, r + some));
    });
  };
  with_state_lanes<T>(
      h, [&](auto width) { add_by_array<T>(h) ? run(width, std::true_type{}) : run(width, std::false_type{}); });
}

void run_reset_state(const ResetState& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>();
    T* reset = op.reset.data<T>();
    for_states<T>(op.state, 0, context, [=](auto width, std::int64_t i, std::int64_t g, int lanes) {
      constexpr int P = decltype(width)::value;
      store_first<T, P>(reset + i, load_row<T, P>(gates + g, lanes) * load_row<T, P>(state + i, lanes), lanes);
    });
  });
}

void run_reset_state_backward(const ResetStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t h = op.state.columns();
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>(), *dreset = op.dreset.data<T>();
    for_added_states<T>(op.state, context, [&](auto width, auto gathered, std::int64_t begin, std::int64_t end) {
      constexpr int P = decltype(width)::value;
      AddedRows<T, gathered> dgates(op.dgates.data<T>(), begin, 2 * h);
      AddedRows<T, gathered> dstate(op.dstate.defined() ? op.dstate.data<T>() : nullptr, begin, h);
      for_state_rows<P>(h, 0, begin, end, [&](std::int64_t i, std::int64_t g, int lanes) {
        const Lanes<T, P> d = load_row<T, P>(dreset + i, lanes);
        dgates.template put<P>(g, d * load_row<T, P>(state + i, lanes), lanes);
        dstate.template put<P>(i, d * load_row<T, P>(gates + g, lanes), lanes);
      });
      dgates.add((end - begin) * 2 * h);
      dstate.add((end - begin) * h);
    });
  });
}

void run_blend_state(const BlendState& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>(), *a = op.a.data<T>();
    T *candidate = op.candidate.data<T>(), *next = op.next.data<T>();
    for_states<T>(op.state, op.state.columns(), context, [=](auto width, std::int64_t i, std::int64_t g, int lanes) {
      constexpr int P = decltype(width)::value;
      const Lanes<T, P> u = load_row<T, P>(gates + g, lanes), fresh = tanh<T, P>(load_row<T, P>(a + i, lanes));
      store_first<T, P>(candidate + i, fresh, lanes);
      store_first<T, P>(next + i, u * load_row<T, P>(state + i, lanes) + (T{1} - u) * fresh, lanes);
    });
  });
}

void run_blend_state_backward(const BlendStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t h = op.state.columns();
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>();
    const T *candidate = op.candidate.data<T>(), *dnext = op.dnext.data<T>();
    for_added_states<T>(op.state, context, [&](auto width, auto gathered, std::int64_t begin, std::int64_t end) {
      constexpr int P = decltype(width)::value;
      AddedRows<T, gathered> dgates(op.dgates.data<T>(), begin, 2 * h), da(op.da.data<T>(), begin, h);
      AddedRows<T, gathered> dstate(op.dstate.defined() ? op.dstate.data<T>() : nullptr, begin, h);
      for_state_rows<P>(h, h, begin, end, [&](std::int64_t i, std::int64_t g, int lanes) {
        const Lanes<T, P> d = load_row<T, P>(dnext + i, lanes), u = load_row<T, P>(gates + g, lanes),
                          fresh = load_row<T, P>(candidate + i, lanes);
        dgates.template put<P>(g, d * (load_row<T, P>(state + i, lanes) - fresh), lanes);
        da.template put<P>(i, d * (T{1} - u) * (T{1} - fresh * fresh), lanes);
        dstate.template put<P>(i, d * u, lanes);
      });
      dgates.add((end - begin) * 2 * h);
      da.add((end - begin) * h);
      dstate.add((end - begin) * h);
    });
  });
}

const RegisterKernel<Sigmoid> fast_sigmoid{Numerics::cpu, {"vector", 10, nullptr, run_sigmoid}};
const RegisterKernel<SigmoidBackward> fast_sigmoid_backward{Numerics::cpu,
                                                            {"vector", 10, nullptr, run_sigmoid_backward}};
const RegisterKernel<ResetState> fast_reset{Numerics::cpu, {"vector", 10, nullptr, run_reset_state}};
const RegisterKernel<ResetStateBackward> fast_reset_backward{Numerics::cpu,
                                                             {"vector", 10, nullptr, run_reset_state_backward}};
const RegisterKernel<BlendState> fast_blend{Numerics::cpu, {"vector", 10, nullptr, run_blend_state}};
const RegisterKernel<BlendStateBackward> fast_blend_backward{Numerics::cpu,
                                                             {"vector", 10, nullptr, run_blend_state_backward}};

}  // namespace
}  // namespace strobe
