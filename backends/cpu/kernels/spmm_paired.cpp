// Sparse products on a matrix stored two steps at a time (backends/paired_matrix.hpp), for rows of x of at most half a
// 64-byte line. A task is a pair of steps: the rows of x of both are laid side by side in one line each, in a buffer
// that stays in the second-level cache, and every entry of the matrix is then one line and two multiply-adds. Sums of a
// row are in column order, so they do not depend on the number of threads.
// Cost: 4 F FLOPs, 10 bytes of matrix (12 above 65,536 vertices) and one cached line per entry of the union; x is read
// once from memory.
#include "backends/cpu/kernels/gather.hpp"
#include "backends/cpu/kernels/tile.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t block_rows = 128;

template <class T>
bool fits(const std::shared_ptr<const PairedMatrix>& paired, std::int64_t width) {
  return paired != nullptr && paired->values.type() == element_type_of<T> && width > 0 && 2 * width <= most_lanes<T>;
}

bool supported(const std::shared_ptr<const PairedMatrix>& paired, const Tensor& x) {
  return x.type() == ElementType::f32 ? fits<float>(paired, x.columns()) : fits<double>(paired, x.columns());
}

/// A pair of steps: its part of the matrix and the rows of x side by side.
template <class T, class Column>
struct PairView {
  const std::int64_t* offsets;
  const Column* columns;
  const T* values;
  const T* side_by_side;  // [step_rows][2 P]
};

/// The calling thread's buffer of at least `elements`, on a 64-byte boundary.
template <class T>
T* line_buffer(std::int64_t elements) {
  thread_local std::vector<T> buffer;
  const auto needed = static_cast<std::size_t>(elements + most_lanes<T>);
  if (buffer.size() < needed) buffer.resize(needed);
  const auto address = reinterpret_cast<std::uintptr_t>(buffer.data());
  return reinterpret_cast<T*>((address + 63) / 64 * 64);
}

/// Rows of both steps into one line each; the second step's half is zero when there is none.
template <class T, int P>
const T* lay_side_by_side(const T* first, const T* second, std::int64_t rows, std::int64_t width) {
  T* lines = line_buffer<T>(rows * 2 * P);
  const int lanes = static_cast<int>(width);
  for (std::int64_t v = 0; v < rows; ++v) {
    const Lanes<T, P> a = load_first<T, P>(first + v * width, lanes);
    const Lanes<T, P> b = second == nullptr ? Lanes<T, P>{} : load_first<T, P>(second + v * width, lanes);
    std::memcpy(lines + v * 2 * P, &a, sizeof(a));
    std::memcpy(lines + v * 2 * P + P, &b, sizeof(b));
  }
  return lines;
}

/// Rows [begin, end) of both steps of a pair to first[(r - begin) * width ...] and likewise to `second` (may be null).
template <class T, class Column, int P>
void gather_pair(const PairView<T, Column>& a, T* first, T* second, std::int64_t width, bool accumulate,
                 std::int64_t begin, std::int64_t end) {
  const int lanes = static_cast<int>(width);
  for (std::int64_t r = begin; r < end; ++r, first += width) {
    std::int64_t k = a.offsets[r];
    const std::int64_t last = a.offsets[r + 1];
    __builtin_prefetch(a.columns + k + prefetch_distance);
    __builtin_prefetch(a.values + 2 * k + prefetch_distance);
    __builtin_prefetch(a.values + 2 * k + prefetch_distance + most_lanes<T>);
    Lanes<T, P> sum[2] = {}, odd[2] = {};
    for (; k + 2 <= last; k += 2) {
      const T* line = a.side_by_side + static_cast<std::int64_t>(a.columns[k]) * 2 * P;
      const T* next = a.side_by_side + static_cast<std::int64_t>(a.columns[k + 1]) * 2 * P;
      sum[0] += a.values[2 * k] * load<T, P>(line);
      sum[1] += a.values[2 * k + 1] * load<T, P>(line + P);
      odd[0] += a.values[2 * k + 2] * load<T, P>(next);
      odd[1] += a.values[2 * k + 3] * load<T, P>(next + P);
    }
    if (k < last) {
      const T* line = a.side_by_side + static_cast<std::int64_t>(a.columns[k]) * 2 * P;
      sum[0] += a.values[2 * k] * load<T, P>(line);
      sum[1] += a.values[2 * k + 1] * load<T, P>(line + P);
    }
    sum[0] += odd[0];
    if (accumulate) sum[0] += load_first<T, P>(first, lanes);
    store_first<T, P>(first, sum[0], lanes);
    if (second == nullptr) continue;
    sum[1] += odd[1];
    if (accumulate) sum[1] += load_first<T, P>(second, lanes);
    store_first<T, P>(second, sum[1], lanes);
    second += width;
  }
}

/// Calls body(pair, view, lanes, column) once per pair, as tasks, with the input laid out.
template <class T, class Column, class Body>
void for_pairs(const PairedMatrix& a, const T* in, std::int64_t width, const KernelContext& context, const Body& body) {
  with_lanes<T>(width, [&](auto lanes) {
    constexpr int P = decltype(lanes)::value;
    if constexpr (2 * P <= most_lanes<T>) {
      run_tasks(context, a.pairs(), [&](std::int64_t p) {
        const T* first = in + 2 * p * a.step_rows * width;
        const T* second = 2 * p + 1 < a.steps ? first + a.step_rows * width : nullptr;
        const PairView<T, Column> view{a.offsets.data<std::int64_t>() + p * a.step_rows,
                                       reinterpret_cast<const Column*>(a.columns.raw()), a.values.template data<T>(),
                                       lay_side_by_side<T, P>(first, second, a.step_rows, width)};
        body(p, view, lanes);
      });
    }
  });
}

/// out (+)= A in.
template <class T, class Column>
void product(const PairedMatrix& a, const T* in, T* out, std::int64_t width, bool accumulate,
             const KernelContext& context) {
  for_pairs<T, Column>(a, in, width, context, [&](std::int64_t p, const auto& view, auto lanes) {
    T* first = out + 2 * p * a.step_rows * width;
    T* second = 2 * p + 1 < a.steps ? first + a.step_rows * width : nullptr;
    gather_pair<T, Column, decltype(lanes)::value>(view, first, second, width, accumulate, 0, a.step_rows);
  });
}

/// Calls body(T{}, Column{}) after the matrix's types.
template <class Body>
void with_types(const PairedMatrix& a, const Body& body) {
  with_element(a.values.type(), [&](auto zero) {
    a.narrow ? body(zero, std::uint16_t{}) : body(zero, std::int32_t{});
  });
}

void run_spmm(const Spmm& op, KernelContext& context) {
  with_types(*op.a.paired, [&](auto zero, auto column) {
    using T = decltype(zero);
    product<T, decltype(column)>(*op.a.paired, op.x.data<T>(), op.y.data<T>(), op.x.columns(), op.accumulate, context);
  });
}

void run_spmm_transposed(const SpmmTransposed& op, KernelContext& context) {
  with_types(*op.a.paired_transpose, [&](auto zero, auto column) {
    using T = decltype(zero);
    product<T, decltype(column)>(*op.a.paired_transpose, op.y.data<T>(), op.x.data<T>(), op.y.columns(), op.accumulate,
                                 context);
  });
}

/// activation(sums w) for `rows` rows from row `row` of y.
template <class T>
void multiply_block(const GraphConvolution& op, const T* sums, std::int64_t row, std::int64_t rows) {
  const std::int64_t inner = op.x.columns(), width = op.w.columns();
  const bool with_relu = op.activation == Activation::relu;
  T* y = op.y.data<T>() + row * width;
  multiply(Factors<T>{sums, inner, 1, op.w.data<T>(), width, inner}, rows, width,
           [=](std::int64_t i, std::int64_t column, int lanes, auto sum) {
             constexpr int P = static_cast<int>(sizeof(sum) / sizeof(T));
             store_first<T, P>(y + i * width + column, with_relu ? relu<T, P>(sum) : sum, lanes);
           });
}

void run_graph_convolution(const GraphConvolution& op, KernelContext& context) {
  const PairedMatrix& a = *op.a.paired;
  const std::int64_t inner = op.x.columns();
  with_types(a, [&](auto zero, auto column) {
    using T = decltype(zero);
    using Column = decltype(column);
    for_pairs<T, Column>(a, op.x.data<T>(), inner, context, [&](std::int64_t p, const auto& view, auto lanes) {
      const bool keep = op.aggregated.defined(), two = 2 * p + 1 < a.steps;
      std::vector<T> scratch(keep ? 0 : static_cast<std::size_t>(2 * block_rows * inner + most_lanes<T>));
      const std::int64_t top = 2 * p * a.step_rows;
      for (std::int64_t begin = 0; begin < a.step_rows; begin += block_rows) {
        const std::int64_t end = std::min(a.step_rows, begin + block_rows), rows = end - begin;
        T* first = keep ? op.aggregated.data<T>() + (top + begin) * inner : scratch.data();
        T* second = !two ? nullptr : keep ? first + a.step_rows * inner : scratch.data() + block_rows * inner;
        gather_pair<T, Column, decltype(lanes)::value>(view, first, second, inner, false, begin, end);
        multiply_block<T>(op, first, top + begin, rows);
        if (two) multiply_block<T>(op, second, top + a.step_rows + begin, rows);
      }
    });
  });
}

const RegisterKernel<Spmm> spmm_paired{
    Numerics::cpu,
    {"paired", 20, [](const Spmm& op) { return supported(op.a.paired, op.x); }, run_spmm}};
const RegisterKernel<SpmmTransposed> spmm_transposed_paired{
    Numerics::cpu,
    {"paired", 20, [](const SpmmTransposed& op) { return supported(op.a.paired_transpose, op.y); },
     run_spmm_transposed}};
const RegisterKernel<GraphConvolution> graph_convolution_paired{
    Numerics::cpu,
    {"paired", 20, [](const GraphConvolution& op) { return supported(op.a.paired, op.x); },
     run_graph_convolution}};

}  // namespace
}  // namespace strobe
