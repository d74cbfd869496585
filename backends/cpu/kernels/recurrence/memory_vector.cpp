// Updates of memory in whole registers: sigmoid and tanh of lane_math.hpp, where the plain kernels call the library per
// value, and sums over rows that stay in registers of doubles while a task's rows go by. Ranges of rows are tasks,
// whose sums are added in the order of the ranges. Cost: each value read and written once; about 90 instructions a
// register of a GRU cell, 30 of a tanh, few of a projection.
#include <algorithm>
#include <type_traits>

#include "backends/cpu/kernels/lane_math.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/cpu/kernels/widened.hpp"
#include "backends/operations/operations_memory.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t cell_rows = 128, projected_rows = 128, squashed_values = 1 << 13;
constexpr std::int64_t cached_rows = 16;  // this many rows of three matrices stay in the first-level cache

/// Calls body(P) with the lanes of the registers that a row of a state of `h` values takes.
template <class T, class Body>
void with_cell_lanes(std::int64_t h, const Body& body) {
  // A single lane is no register for lane_math.hpp.
  constexpr int most = most_lanes<T>;
  if (h <= 4) return body(std::integral_constant<int, std::min(4, most)>{});
  h <= 8 ? body(std::integral_constant<int, std::min(8, most)>{}) : body(std::integral_constant<int, most>{});
}

/// Calls body(value of the state, place of its r in a [R, 3 h] matrix, lanes) for registers of P lanes that cover rows
/// [begin, end) of a state [R, h].
template <int P, class Body>
[[gnu::always_inline]] inline void for_cell_rows(std::int64_t h, std::int64_t begin, std::int64_t end,
                                                 const Body& body) {
  for (std::int64_t r = begin; r < end; ++r) {
    std::int64_t c = 0;
    for (; c + P <= h; c += P) body(r * h + c, r * 3 * h + c, P);
    if (c < h) body(r * h + c, r * 3 * h + c, static_cast<int>(h - c));
  }
}

/// Stores the first `lanes` lanes of a register, or adds them.
template <class T, int P>
[[gnu::always_inline]] inline void put_first(T* to, bool accumulate, Lanes<T, P> v, int lanes) {
  store_first<T, P>(to, accumulate ? load_first<T, P>(to, lanes) + v : v, lanes);
}

/// Gates of a register of a state, `fresh` the candidate, and the part of the candidate that r scales.
template <class T, int P>
struct CellLanes {
  Lanes<T, P> r, z, fresh, scaled;

  [[gnu::always_inline]] CellLanes(const T* gi, const T* gh, std::int64_t h, int lanes)
      : scaled(load_row<T, P>(gh + 2 * h, lanes)) {
    Lanes<T, P> open[2] = {load_row<T, P>(gi, lanes) + load_row<T, P>(gh, lanes),
                           load_row<T, P>(gi + h, lanes) + load_row<T, P>(gh + h, lanes)};
    sigmoid_of<T, P, 2>(open);
    r = open[0], z = open[1];
    fresh = tanh<T, P>(load_row<T, P>(gi + 2 * h, lanes) + r * scaled);
  }
};

void run_cells(const GruCell& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t h = op.y.columns();
    const T *gi = op.gi.data<T>(), *gh = op.gh.data<T>(), *state = op.state.data<T>();
    T* const y = op.y.data<T>();
    with_cell_lanes<T>(h, [&](auto width) {
      constexpr int P = decltype(width)::value;
      for_ranges(context, op.y.rows(), cell_rows, [=](std::int64_t begin, std::int64_t end) {
        for_cell_rows<P>(
            h, begin, end, [=](std::int64_t i, std::int64_t g, int lanes) __attribute__((always_inline)) {
              const CellLanes<T, P> cell(gi + g, gh + g, h, lanes);
              const Lanes<T, P> old = load_row<T, P>(state + i, lanes);
              store_first<T, P>(y + i, (T{1} - cell.z) * cell.fresh + cell.z * old, lanes);
            });
      });
    });
  });
}

/// Gradients of rows [begin, end).
template <class T, int P>
void cell_gradients(const GruCellBackward& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t h = op.dy.columns();
  const T *gi = op.gi.data<T>(), *gh = op.gh.data<T>(), *state = op.state.data<T>(), *dy = op.dy.data<T>();
  T *dgi = op.dgi.data<T>(), *dgh = op.dgh.data<T>(), *dstate = op.dstate.data<T>();
  const bool accumulate = op.accumulate_dstate;
  for_cell_rows<P>(
      h, begin, end, [=](std::int64_t i, std::int64_t g, int lanes) __attribute__((always_inline)) {
        const CellLanes<T, P> cell(gi + g, gh + g, h, lanes);
        const Lanes<T, P> d = load_row<T, P>(dy + i, lanes), old = load_row<T, P>(state + i, lanes);
        const Lanes<T, P> dn = d * (T{1} - cell.z) * (T{1} - cell.fresh * cell.fresh), scaled_dn = dn * cell.r;
        const Lanes<T, P> dr = scaled_dn * cell.scaled * (T{1} - cell.r);
        const Lanes<T, P> dz = d * (old - cell.fresh) * cell.z * (T{1} - cell.z);
        store_first<T, P>(dgi + g, dr, lanes);
        store_first<T, P>(dgh + g, dr, lanes);
        store_first<T, P>(dgi + g + h, dz, lanes);
        store_first<T, P>(dgh + g + h, dz, lanes);
        store_first<T, P>(dgi + g + 2 * h, dn, lanes);
        store_first<T, P>(dgh + g + 2 * h, scaled_dn, lanes);
        if (dstate != nullptr) put_first<T, P>(dstate + i, accumulate, d * cell.z, lanes);
      });
}

void run_cells_backward(const GruCellBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    with_cell_lanes<T>(op.dy.columns(), [&](auto width) {
      for_ranges(context, op.dy.rows(), cell_rows, [&](std::int64_t begin, std::int64_t end) {
        cell_gradients<T, decltype(width)::value>(op, begin, end);
      });
    });
  });
}

void run_squash(const Tanh& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int P = most_lanes<T>;
    const T* const x = op.x.data<T>();
    T* const y = op.y.data<T>();
    for_ranges(context, op.y.elements(), squashed_values, [=](std::int64_t begin, std::int64_t end) {
      const std::int64_t whole = (end - begin) / P * P;
      tanh_values<T>(x + begin, y + begin, whole);
      const std::int64_t at = begin + whole;
      const int lanes = static_cast<int>(end - at);
      if (lanes > 0) store_first<T, P>(y + at, tanh<T, P>(load_row<T, P>(x + at, lanes)), lanes);
    });
  });
}

void run_squash_backward(const TanhBackward& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int P = most_lanes<T>;
    const T *y = op.y.data<T>(), *dy = op.dy.data<T>();
    T* const dx = op.dx.data<T>();
    const bool accumulate = op.accumulate;
    for_ranges(context, op.y.elements(), squashed_values, [=](std::int64_t begin, std::int64_t end) {
      for_lanes<T>(
          begin, end, [=](std::int64_t i, int lanes) __attribute__((always_inline)) {
            const Lanes<T, P> squashed = load_row<T, P>(y + i, lanes);
            put_first<T, P>(dx + i, accumulate, load_row<T, P>(dy + i, lanes) * (T{1} - squashed * squashed), lanes);
          });
    });
  });
}

/// 1 + dt slope + shift in the columns of a register.
template <class T>
struct ProjectedColumns {
  static constexpr int P = most_lanes<T>;
  Lanes<T, P> slope, offset;

  [[gnu::always_inline]] ProjectedColumns(const Tensor& slopes, const Tensor& shifts, std::int64_t c, int lanes)
      : slope(load_row<T, P>(slopes.data<T>() + c, lanes)),
        offset(T{1} + load_row<T, P>(shifts.data<T>() + c, lanes)) {}

  [[gnu::always_inline]] Lanes<T, P> factor(T dt) const { return dt * slope + offset; }
};

void run_projection(const TimeProjection& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    constexpr int P = most_lanes<T>;
    const std::int64_t width = op.y.columns();
    const T *x = op.x.data<T>(), *dt = op.dt.data<T>();
    T* const y = op.y.data<T>();
    for_ranges(context, op.y.rows(), projected_rows, [=, &op](std::int64_t begin, std::int64_t end) {
      for_lanes<T>(
          0, width, [ =, &op ](std::int64_t c, int lanes) __attribute__((always_inline)) {
            const ProjectedColumns<T> columns(op.slope, op.shift, c, lanes);
            for (std::int64_t r = begin; r < end; ++r) {
              const std::int64_t i = r * width + c;
              store_first<T, P>(y + i, load_row<T, P>(x + i, lanes) * columns.factor(dt[r]), lanes);
            }
          });
    });
  });
}

/// Gradients of rows [begin, end) in the columns of a register; those of slope and shift are added to `sums`, `width`
/// apart.
template <class T>
[[gnu::always_inline]] inline void project_back(const TimeProjectionBackward& op, std::int64_t begin, std::int64_t end,
                                                std::int64_t c, int lanes, double* sums) {
  constexpr int P = most_lanes<T>;
  const std::int64_t width = op.dy.columns();
  const T *x = op.x.data<T>(), *dt = op.dt.data<T>(), *dy = op.dy.data<T>();
  T* const dx = op.dx.data<T>();
  const bool accumulate = op.accumulate_dx;
  const ProjectedColumns<T> columns(op.slope, op.shift, c, lanes);
  Widened<T> of_slope{}, of_shift{};
  for (std::int64_t r = begin; r < end; ++r) {
    const std::int64_t i = r * width + c;
    const Lanes<T, P> d = load_row<T, P>(dy + i, lanes);
    const Widened<T> both = widen<T>(d * load_row<T, P>(x + i, lanes));
#pragma GCC unroll 2
    for (int part = 0; part < Widened<T>::parts; ++part) {
      of_slope.part[part] += both.part[part] * static_cast<double>(dt[r]);
      of_shift.part[part] += both.part[part];
    }
    if (dx != nullptr) put_first<T, P>(dx + i, accumulate, d * columns.factor(dt[r]), lanes);
  }
  add_widened<T>(of_slope, sums + c, lanes);
  add_widened<T>(of_shift, sums + width + c, lanes);
}

void run_projection_backward(const TimeProjectionBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t width = op.dy.columns();
    const auto body = [&](std::int64_t begin, std::int64_t end, double* sums) {
      for (std::int64_t from = begin; from < end; from += cached_rows) {
        const std::int64_t to = std::min(end, from + cached_rows);
        for_lanes<T>(
            0, width, [&](std::int64_t c, int lanes) __attribute__((always_inline)) {
              project_back<T>(op, from, to, c, lanes, sums);
            });
      }
    };
    add_weight_gradients<T>(context, op.dy.rows(), projected_rows, op.dslope, width, op.dshift, width, body);
  });
}

const RegisterKernel<GruCell> fast_cell{"cpu", {"vector", 10, nullptr, run_cells}};
const RegisterKernel<GruCellBackward> fast_cell_backward{"cpu", {"vector", 10, nullptr, run_cells_backward}};
const RegisterKernel<Tanh> fast_tanh{"cpu", {"vector", 10, nullptr, run_squash}};
const RegisterKernel<TanhBackward> fast_tanh_backward{"cpu", {"vector", 10, nullptr, run_squash_backward}};
const RegisterKernel<TimeProjection> fast_projection{"cpu", {"vector", 10, nullptr, run_projection}};
const RegisterKernel<TimeProjectionBackward> fast_projection_backward{"cpu",
                                                                      {"vector", 10, nullptr, run_projection_backward}};

}  // namespace
}  // namespace strobe
