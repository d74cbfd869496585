// Dense layer of few outputs on listed narrow rows, and its gradient: a strip of samples (32 in float, 16 in double) is
// gathered into the first-level cache and turned (vertex_strip.hpp), so that one lane is one sample and a layer of two
// outputs fills registers, where rows times a matrix of two columns use an eighth of each. Terms of dw are kept a
// register a weight over 16 strips, then added up in double; ranges of samples depend on their number only. The rows'
// gradients are added by the task that owns the row, strip after strip, as in gathered_dense_vector.cpp. Cost: lists
// once per task, the rows' lines once forward and twice backward; about 15 cycles a sample for two rows of 6 values.
#include <vector>

#include "backends/cpu/kernels/dense/gathered_cells.hpp"
#include "backends/cpu/kernels/dense/vertex_strip.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/operations/operations_gather.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t strips_per_task = 512, strips_per_flush = 16;
constexpr std::int64_t most_ranges = 32;  // long ones: each brings in the rows of its steps
constexpr std::int64_t most_outputs = 4;  // of w: sums in registers
// Columns of [x | x | ...]; the gathered and turned values stay in the first-level cache. Wider ones also gain in the
// forward pass.
constexpr std::int64_t most_columns = 128, most_columns_backward = 64;

/// Arrays of one strip, in this thread's line_buffer: rows as they are gathered, turned rows [columns][strip], turned
/// outputs or their gradients [G][strip], and a register for every weight and bias.
template <class T>
struct StripBuffers {
  T *cells, *turned, *outputs, *sums;
  StripBuffers(std::int64_t columns, std::int64_t width)
      : cells(line_buffer<T>((2 * columns + width) * strip<T> + (columns + 2) * width * most_lanes<T>)),
        turned(cells + columns * strip<T> + most_lanes<T>),
        outputs(turned + columns * strip<T>),
        sums(outputs + width * strip<T>) {}
};

template <class T>
[[gnu::always_inline]] inline Register<T> half_of(const T* turned, std::int64_t column, int half) {
  return load<T, most_lanes<T>>(turned + column * strip<T> + half * most_lanes<T>);
}

template <class T>
[[gnu::always_inline]] inline void store_half(T* turned, std::int64_t column, int half, Register<T> v) {
  store_first<T, most_lanes<T>>(turned + column * strip<T> + half * most_lanes<T>, v, most_lanes<T>);
}

/// Rows of samples [first, first + count) of every list, turned one list below the other.
template <class T, class Move>
void load_strip(const Listed& x, std::int64_t first, std::int64_t count, const StripBuffers<T>& at, const Move& move) {
  const Cells cells = list_by_list(x, strip<T>, at.cells);
  gather_cells(x, first, count, cells, move);
  for (std::size_t k = 0; k < x.lists.size(); ++k) {
    load_turned(reinterpret_cast<const T*>(cells.of_list(k)), x.width, x.width, count,
                at.turned + static_cast<std::int64_t>(k) * x.width * strip<T>);
  }
}

/// dy of samples [first, first + count), turned. Prefetches the lines of later strips: between two strips too many
/// rows are fetched by list for a hardware prefetcher to follow this sequence.
template <class T, int G>
void load_gradients(const GatheredDenseBackward& op, std::int64_t first, std::int64_t count,
                    const StripBuffers<T>& at) {
  constexpr std::int64_t strip_values = strip<T> * G, ahead = 6 * strip_values, line = most_lanes<T>;
  const T* dy = op.dy.data<T>() + first * G;
#pragma GCC unroll 8
  for (std::int64_t i = 0; i < strip_values; i += line) __builtin_prefetch(dy + ahead + i);
  load_turned(dy, G, G, count, at.outputs);
}

/// outputs [G][strip] = bias + w^T turned.
template <class T, int G>
void multiply_strip(const GatheredDense& op, const StripBuffers<T>& at) {
  const T* w = op.w.data<T>();
  Register<T> sum[G][2];
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g)
    sum[g][0] = sum[g][1] = broadcast<T, most_lanes<T>>(op.bias.defined() ? op.bias.data<T>()[g] : T{0});
  for (std::int64_t f = 0; f < op.w.rows(); ++f, w += G) {
    const Register<T> low = half_of(at.turned, f, 0), high = half_of(at.turned, f, 1);
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) {
      sum[g][0] += w[g] * low;
      sum[g][1] += w[g] * high;
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g) {
    store_half(at.outputs, g, 0, sum[g][0]);
    store_half(at.outputs, g, 1, sum[g][1]);
  }
}

/// sums += the strip's terms of dw [F][G], followed by those of dbias, a register each.
template <class T, int G>
void add_strip_terms(std::int64_t columns, const StripBuffers<T>& at) {
  constexpr int P = most_lanes<T>;
  Register<T> dy[G][2];
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g) dy[g][0] = half_of(at.outputs, g, 0), dy[g][1] = half_of(at.outputs, g, 1);
  T* to = at.sums;
  const auto add = [&to](Register<T> term) {
    store_first<T, P>(to, load<T, P>(to) + term, P);
    to += P;
  };
  for (std::int64_t f = 0; f < columns; ++f) {
    const Register<T> low = half_of(at.turned, f, 0), high = half_of(at.turned, f, 1);
#pragma GCC unroll 4
    for (int g = 0; g < G; ++g) add(low * dy[g][0] + high * dy[g][1]);
  }
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g) add(dy[g][0] + dy[g][1]);
}

/// turned [F][strip] = w dy.
template <class T, int G>
void multiply_strip_back(const GatheredDenseBackward& op, const StripBuffers<T>& at) {
  const T* w = op.w.data<T>();
  Register<T> dy[G][2];
#pragma GCC unroll 4
  for (int g = 0; g < G; ++g) dy[g][0] = half_of(at.outputs, g, 0), dy[g][1] = half_of(at.outputs, g, 1);
  for (std::int64_t f = 0; f < op.w.rows(); ++f, w += G) {
    Register<T> low = w[0] * dy[0][0], high = w[0] * dy[0][1];
#pragma GCC unroll 4
    for (int g = 1; g < G; ++g) {
      low += w[g] * dy[g][0];
      high += w[g] * dy[g][1];
    }
    store_half(at.turned, f, 0, low);
    store_half(at.turned, f, 1, high);
  }
}

/// Calls body.operator()<G>() for a layer of G outputs.
template <class Body>
void with_outputs(std::int64_t width, const Body& body) {
  switch (width) {
    case 1:
      return body.template operator()<1>();
    case 2:
      return body.template operator()<2>();
    case 3:
      return body.template operator()<3>();
    default:
      return body.template operator()<4>();
  }
}

template <class T, int G>
void run_forward_as(const GatheredDense& op, const KernelContext& context) {
  const Listed x(op.x, op.rows, op.y.rows());
  for_ranges(context, x.samples, strips_per_task * strip<T>, [&](std::int64_t begin, std::int64_t end) {
    const StripBuffers<T> at(op.w.rows(), G);
    with_copy(x.width, sizeof(T), [&](const auto& move) {
      for_sample_blocks(x, begin, end, strip<T>, [&](std::int64_t first, std::int64_t count) {
        load_strip(x, first, count, at, move);
        multiply_strip<T, G>(op, at);
        store_turned(at.outputs, op.y.data<T>() + first * G, G, G, count);
      });
    });
  });
}

/// sums [(F + 1) G] += the registers of `at.sums`, which are cleared.
template <class T>
void flush_terms(std::int64_t count, const StripBuffers<T>& at, double* sums) {
  constexpr int P = most_lanes<T>;
  for (std::int64_t i = 0; i < count; ++i) {
    for (int l = 0; l < P; ++l) sums[i] += static_cast<double>(at.sums[i * P + l]);
  }
  std::fill(at.sums, at.sums + count * P, T{0});
}

template <class T, int G>
void add_weight_gradients(const GatheredDenseBackward& op, const KernelContext& context) {
  const Listed x(op.x, op.rows, op.dy.rows());
  const std::int64_t columns = op.w.rows(), stride = (columns + 1) * G;
  const std::int64_t strips = divide_up(x.samples, std::int64_t{strip<T>});
  const std::int64_t grain = std::max(strips_per_flush, divide_up(strips, most_ranges)) * strip<T>;
  std::vector<double> sums(divide_up(x.samples, grain) * stride, 0.0);
  for_ranges(context, x.samples, grain, [&](std::int64_t begin, std::int64_t end) {
    const StripBuffers<T> at(columns, G);
    double* const own = sums.data() + begin / grain * stride;
    std::fill(at.sums, at.sums + stride * most_lanes<T>, T{0});
    with_copy(x.width, sizeof(T), [&](const auto& move) {
      for_sample_blocks(x, begin, end, strip<T>, [&](std::int64_t first, std::int64_t count) {
        load_strip(x, first, count, at, move);
        load_gradients<T, G>(op, first, count, at);
        add_strip_terms<T, G>(columns, at);
        if ((first - begin + strip<T>) % (strips_per_flush * strip<T>) == 0 || first + count == end)
          flush_terms(stride, at, own);
      });
    });
  });
  add_range_sums<T>(op.dw, sums, 0, stride);
  add_range_sums<T>(op.dbias, sums, columns * G, stride);
}

template <class T, int G>
void add_row_gradients(const GatheredDenseBackward& op, const KernelContext& context) {
  const Listed dx(op.dx, op.rows, op.dy.rows());
  for_ranges(context, op.dx.rows(), owned_rows(dx, op.dx.rows(), context), [&](std::int64_t begin, std::int64_t end) {
    const StripBuffers<T> at(op.w.rows(), G);
    const Cells cells = list_by_list(dx, strip<T>, at.cells);
    with_addition<T>(dx.width, [&](const auto& move) {
      for_owned_blocks(dx, {begin, end}, strip<T>, [&](std::int64_t first, std::int64_t count) {
        load_gradients<T, G>(op, first, count, at);
        multiply_strip_back<T, G>(op, at);
        for (std::size_t k = 0; k < dx.lists.size(); ++k) {
          store_turned(at.turned + static_cast<std::int64_t>(k) * dx.width * strip<T>,
                       reinterpret_cast<T*>(cells.of_list(k)), dx.width, dx.width, count);
        }
        add_cells(dx, {begin, end}, first, count, cells, move);
      });
    });
  });
}

void run_forward(const GatheredDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    with_outputs(op.w.columns(), [&]<int G>() { run_forward_as<decltype(zero), G>(op, context); });
  });
}

void run_backward(const GatheredDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    with_outputs(op.w.columns(), [&]<int G>() {
      add_weight_gradients<decltype(zero), G>(op, context);
      if (op.dx.defined() && op.dx.rows() > 0) add_row_gradients<decltype(zero), G>(op, context);
    });
  });
}

bool is_narrow(const GatheredDense& op) { return op.w.columns() <= most_outputs && op.w.rows() <= most_columns; }

bool is_narrow_backward(const GatheredDenseBackward& op) {
  return op.w.columns() <= most_outputs && op.w.rows() <= most_columns_backward;
}

const RegisterKernel<GatheredDense> turned{"cpu", {"turned", 20, is_narrow, run_forward}};
const RegisterKernel<GatheredDenseBackward> backward_turned{"cpu", {"turned", 20, is_narrow_backward, run_backward}};

}  // namespace
}  // namespace strobe
