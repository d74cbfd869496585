// Vector gates of a step-by-step recurrence: sigmoid and tanh of whole registers (lane_math.hpp), where the plain
// kernel calls the library per value. A row's state takes as few registers as hold it; ranges of rows are tasks. Cost:
// each value read and written once, about 30 instructions a register of sigmoid or tanh.
#include <type_traits>

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
  constexpr int P = most_lanes<T>;
  for_ranges(context, values, values_per_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += P) body(i, static_cast<int>(std::min<std::int64_t>(P, end - i)));
  });
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
      const Lanes<T, P> value = load_first<T, P>(y + i, lanes), slope = value * (T{1} - value);
      store_first<T, P>(dx + i, load_first<T, P>(dx + i, lanes) + load_first<T, P>(dy + i, lanes) * slope, lanes);
    });
  });
}

/// Calls body(P as a constant, value of the state, its place in a [R, 2 h] matrix, lanes) for registers that cover the
/// rows of a state [R, h].
template <class T, class Body>
void for_states(const Tensor& state, std::int64_t shift, const KernelContext& context, const Body& body) {
  const std::int64_t h = state.columns();
  const auto run = [&](auto lanes_of_row) {
    constexpr int P = decltype(lanes_of_row)::value;
    for_ranges(context, state.rows(), rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        for (std::int64_t c = 0; c < h; c += P) {
          body(lanes_of_row, r * h + c, r * 2 * h + shift + c, static_cast<int>(std::min<std::int64_t>(P, h - c)));
        }
      }
    });
  };
  // A single lane is no register for lane_math.hpp.
  if (h <= 4) return run(std::integral_constant<int, 4>{});
  h <= 8 ? run(std::integral_constant<int, 8>{}) : run(std::integral_constant<int, most_lanes<T>>{});
}

void run_reset_state(const ResetState& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>();
    T* reset = op.reset.data<T>();
    for_states<T>(op.state, 0, context, [=](auto width, std::int64_t i, std::int64_t g, int lanes) {
      constexpr int P = decltype(width)::value;
      store_first<T, P>(reset + i, load_first<T, P>(gates + g, lanes) * load_first<T, P>(state + i, lanes), lanes);
    });
  });
}

void run_reset_state_backward(const ResetStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>(), *dreset = op.dreset.data<T>();
    T* dgates = op.dgates.data<T>();
    T* dstate = op.dstate.defined() ? op.dstate.data<T>() : nullptr;
    for_states<T>(op.state, 0, context, [=](auto width, std::int64_t i, std::int64_t g, int lanes) {
      constexpr int P = decltype(width)::value;
      const Lanes<T, P> d = load_first<T, P>(dreset + i, lanes);
      store_first<T, P>(dgates + g, load_first<T, P>(dgates + g, lanes) + d * load_first<T, P>(state + i, lanes),
                        lanes);
      if (dstate == nullptr) return;
      store_first<T, P>(dstate + i, load_first<T, P>(dstate + i, lanes) + d * load_first<T, P>(gates + g, lanes),
                        lanes);
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
      const Lanes<T, P> u = load_first<T, P>(gates + g, lanes), fresh = tanh<T, P>(load_first<T, P>(a + i, lanes));
      store_first<T, P>(candidate + i, fresh, lanes);
      store_first<T, P>(next + i, u * load_first<T, P>(state + i, lanes) + (T{1} - u) * fresh, lanes);
    });
  });
}

void run_blend_state_backward(const BlendStateBackward& op, KernelContext& context) {
  with_element(op.state.type(), [&](auto zero) {
    using T = decltype(zero);
    const T *gates = op.gates.data<T>(), *state = op.state.data<T>();
    const T *candidate = op.candidate.data<T>(), *dnext = op.dnext.data<T>();
    T *dgates = op.dgates.data<T>(), *da = op.da.data<T>();
    T* dstate = op.dstate.defined() ? op.dstate.data<T>() : nullptr;
    for_states<T>(op.state, op.state.columns(), context, [=](auto width, std::int64_t i, std::int64_t g, int lanes) {
      constexpr int P = decltype(width)::value;
      const Lanes<T, P> d = load_first<T, P>(dnext + i, lanes), u = load_first<T, P>(gates + g, lanes),
                        fresh = load_first<T, P>(candidate + i, lanes);
      const Lanes<T, P> du = d * (load_first<T, P>(state + i, lanes) - fresh),
                        before = d * (T{1} - u) * (T{1} - fresh * fresh);
      store_first<T, P>(dgates + g, load_first<T, P>(dgates + g, lanes) + du, lanes);
      store_first<T, P>(da + i, load_first<T, P>(da + i, lanes) + before, lanes);
      if (dstate != nullptr) store_first<T, P>(dstate + i, load_first<T, P>(dstate + i, lanes) + d * u, lanes);
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
