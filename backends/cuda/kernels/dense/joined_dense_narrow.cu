// Dense layer of up to 16 parts side by side, of at most 64 columns in and 32 out, and its gradient: the narrow dense
// layer (dense_narrow.cu), whose tiles of x come from the parts, and whose tiles of dx go to those that are wanted. For
// more rows than joined_dense_staged.cu takes.
// Cost: the compulsory bytes, w once per block and 8 (F + 1) G bytes of partial sums per range; one launch forward, two
// backward.
#include "backends/cuda/kernels/dense/joined_parts.hpp"
#include "backends/cuda/kernels/dense/narrow_gradient.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe::cuda {
namespace joined_dense_narrow_kernels {

constexpr std::int64_t most_blocks = 4096, most_columns = 64;
constexpr std::size_t most_shared_bytes = 48 << 10;

template <class T>
struct JoinedProduct : NarrowProduct<T> {
  JoinedParts<T> parts;
};

template <class T>
struct JoinedGradient : NarrowGradient<T> {
  static constexpr std::int64_t most_inner = most_columns;
  JoinedParts<T> parts;
  bool wanted;  // at least one part's gradient
};

/// Rows [first, first + rows) of the parts, beside each other in a tile.
template <class T>
__device__ void load_parts(const JoinedParts<T>& parts, T* tile, int stride, std::int64_t first, int rows) {
  for (int k = 0; k < parts.count; ++k) {
    const auto width = static_cast<int>(parts.width(k));
    load_rows(tile + parts.begin[k], stride, parts.part[k] + first * width, width, rows, width);
  }
}

template <class T>
__device__ void load_inputs(const JoinedProduct<T>& p, T* tile, std::int64_t first, int rows) {
  load_parts(p.parts, tile, p.x_stride, first, rows);
}
template <class T>
__device__ void load_inputs(const JoinedGradient<T>& p, T* tile, std::int64_t first, int rows) {
  load_parts(p.parts, tile, p.x_stride, first, rows);
}
template <class T>
__device__ void store_inputs(const JoinedGradient<T>& p, const T* tile, std::int64_t first, int rows) {
  for (int k = 0; k < p.parts.count; ++k) {
    if (p.parts.gradient[k] == nullptr) continue;
    const auto width = static_cast<int>(p.parts.width(k));
    store_rows(tile + p.parts.begin[k], p.x_stride, p.parts.gradient[k] + first * width, width, rows, width,
               p.parts.accumulate[k]);
  }
}
template <class T>
__device__ bool wants_inputs(const JoinedGradient<T>& p) {
  return p.wanted;
}

template <int P, class T>
__global__ void joined_dense_narrow(JoinedProduct<T> p, std::int64_t rows) {
  multiply_rows<P>(p, static_cast<std::int64_t>(blockIdx.x) * blockDim.x, rows, grid_threads());
}

template <int P, class T>
__global__ void joined_dense_backward_narrow(JoinedGradient<T> p, RowParts ranges, double* sums) {
  differentiate_rows<P>(p, ranges.begin(blockIdx.x), ranges.end(blockIdx.x),
                        sums + static_cast<std::int64_t>(blockIdx.x) * (p.inner + 1) * p.width);
}

template <class T>
JoinedProduct<T> product_of(const JoinedDense& op) {
  const auto inner = static_cast<int>(op.w.rows()), width = static_cast<int>(op.w.columns());
  JoinedProduct<T> p{};
  p.w = op.w.data<T>(), p.bias = op.bias.data<T>(), p.y = op.y.data<T>();
  p.inner = inner, p.width = width, p.x_stride = odd(inner), p.y_stride = odd(width), p.y_apart = width;
  for_joined<T>(op.parts, {}, {}, [&](const JoinedParts<T>& parts) { p.parts = parts; });
  return p;
}

template <class T>
JoinedGradient<T> gradient_of(const JoinedDenseBackward& op) {
  const auto inner = static_cast<int>(op.w.rows()), width = static_cast<int>(op.w.columns());
  JoinedGradient<T> p{};
  p.w = op.w.data<T>(), p.dy = op.dy.data<T>();
  p.inner = inner, p.width = width, p.x_stride = odd(inner + 1), p.y_apart = width;
  for_joined<T>(op.parts, op.dparts, op.accumulate, [&](const JoinedParts<T>& parts) { p.parts = parts; });
  p.wanted = p.parts.wants_gradients();
  return p;
}

/// Calls body(padding) with what the kernels pad the columns of `w` to, and returns what it does.
template <class Body>
bool padded(const Tensor& w, const Body& body) {
  bool result = false;
  with_padding(w.columns(), [&](auto padding) { result = body(padding); });
  return result;
}

bool fits(const std::vector<Tensor>& parts, const Tensor& w) {
  return static_cast<int>(parts.size()) <= most_joined && w.rows() >= 1 && w.columns() >= 1 &&
         w.rows() <= most_columns && w.columns() <= narrow_width;
}

bool supports_forward(const JoinedDense& op) {
  if (!fits(op.parts, op.w)) return false;
  bool enough = false;
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    enough = padded(op.w, [&](auto padding) {
      return narrow_product_bytes<T>(product_of<T>(op), decltype(padding)::value) <= most_shared_bytes;
    });
  });
  return enough;
}

bool supports_backward(const JoinedDenseBackward& op) {
  if (!fits(op.parts, op.w)) return false;
  bool enough = false;
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    enough = padded(op.w, [&](auto padding) {
      return narrow_gradient_bytes<decltype(padding)::value>(gradient_of<T>(op)) <= most_shared_bytes;
    });
  });
  return enough;
}

template <class T, int P>
void forward(const JoinedDense& op, const KernelContext& context) {
  constexpr int threads = narrow_rows<T>;
  const JoinedProduct<T> p = product_of<T>(op);
  const std::int64_t tiles = divide_up(op.y.rows(), threads);
  launch(context, tiles < most_blocks ? tiles : most_blocks, threads, narrow_product_bytes<T>(p, P),
         joined_dense_narrow<P, T>, p, op.y.rows());
}

template <class T, int P>
void backward(const JoinedDenseBackward& op, const KernelContext& context) {
  constexpr int threads = narrow_rows<T>;
  const std::int64_t stride = op.w.elements() + op.w.columns();
  const RowParts ranges = row_parts(op.dy.rows(), stride, threads);
  if (ranges.count == 0) return;
  double* const sums = part_sums_memory(context, ranges.count, stride);
  const JoinedGradient<T> p = gradient_of<T>(op);
  launch(context, ranges.count, threads, narrow_gradient_bytes<P>(p), joined_dense_backward_narrow<P, T>, p, ranges,
         sums);
  add_part_sums<T>(context, op.dw, op.w.elements(), op.dbias, sums, ranges.count, stride);
}

void run_forward(const JoinedDense& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    with_padding(op.w.columns(), [&](auto padding) { forward<decltype(zero), decltype(padding)::value>(op, context); });
  });
}

void run_backward(const JoinedDenseBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    with_padding(op.w.columns(),
                 [&](auto padding) { backward<decltype(zero), decltype(padding)::value>(op, context); });
  });
}

const RegisterKernel<JoinedDense> narrow{Numerics::cuda, {"narrow", 20, supports_forward, run_forward}};
const RegisterKernel<JoinedDenseBackward> backward_narrow{Numerics::cuda,
                                                          {"narrow", 20, supports_backward, run_backward}};

}  // namespace joined_dense_narrow_kernels
}  // namespace strobe::cuda
