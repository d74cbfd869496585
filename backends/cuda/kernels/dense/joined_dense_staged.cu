// Dense layer of up to 16 parts side by side, of at most 64 columns in and 32 out, and its gradient. More than a
// million rows are taken a million at a time, so that indices are ints and the sums' memory is bounded. Made for one
// step of a recurrence, where a launch is over before a block could take a second tile and what counts is how often it
// waits. A block begins to copy its tile of all parts and the weights at once (tile_parts.hpp), waits once, and gives
// each thread four columns of a row forward; backward four columns of two rows of dx, then 4 x 4 weights of every k-th
// row, which the block adds in order of threads. A second launch adds the blocks' sums, as doubles, in order. Tiles
// depend on shapes only. Cost: the compulsory bytes, w once per block and 8 (F + 1) G bytes of sums per block; reads of
// shared memory: 5 for 16 multiply-adds forward, 6 for 32 of dx and 2 for 16 of dw.
#include "backends/cuda/kernels/dense/tile_parts.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe::cuda {
namespace joined_dense_staged_kernels {

constexpr std::int64_t most_rows = 1 << 20, most_inner = 64, most_width = 32;
constexpr int most_parts_joined = 16, product_threads = 128, gradient_threads = 256;
constexpr int most_tile_rows = 64, least_tile_rows = 16, enough_blocks = 128;
constexpr std::size_t most_shared_bytes = 48 << 10;

template <class T>
struct StagedProduct {
  TileParts<const T, most_parts_joined + 1> parts;  // and w, which begins shared memory; then the bias; then x
  const T* bias;                                    // may be null
  T* y;
  int rows, inner, width, tile_rows;
  int stride, w_stride, bias_begin;
  TileDivisor quads;  // fours of columns of y
  int fours;          // 1: y takes vectors of four
};

template <class T>
struct StagedGradient {
  TileParts<const T, most_parts_joined + 1> parts;  // x, which begins shared memory, and dy
  TileParts<T, most_parts_joined> gradients;        // those that are wanted
  const T* w;
  double* sums;
  int rows, inner, width, tile_rows;
  int stride, dz_stride;       // of x, dx and w transposed; of dz
  int dz_begin, w_begin;       // in shared memory
  TileDivisor columns, quads;  // columns of dy, fours of them
  TileDivisor units;           // 4 x 4 weights; the column of ones after x, whose weight is the bias, has some too
  TileDivisor groups;          // threads that share a unit
  TileDivisor wanted;          // fours of columns from the first wanted part to the last
  int first_wanted, dx_begin;  // the first of these; where they lie in shared memory, as columns of x
  int wants, adds;             // 1: some gradient is wanted; some is added to

  __host__ __device__ int slots() const { return units.divisor * groups.divisor; }
};

// g++ 12 takes other bytes of structs as large as these for their padding, where a launch that is gathered clears it.
static_assert(std::has_unique_object_representations_v<StagedProduct<float>>);
static_assert(std::has_unique_object_representations_v<StagedGradient<float>>);

/// Adds four columns of a row of x w to `sum`.
template <class T>
__device__ void multiply_row(const StagedProduct<T>& p, const T* x, const T* w, T (&sum)[4]) {
  int f = 0;
#pragma unroll 2
  for (; f + 4 <= p.inner; f += 4) {
    T four[4];
    load_four(x + f, four);
#pragma unroll
    for (int k = 0; k < 4; ++k, w += p.w_stride) add_row<4>(four[k], w, sum);
  }
#pragma unroll 1
  for (; f < p.inner; ++f, w += p.w_stride) add_row<4>(x[f], w, sum);
}

template <int V, class T>
__global__ void __launch_bounds__(product_threads) joined_dense_staged(StagedProduct<T> p) {
  const int thread = static_cast<int>(threadIdx.x), first = static_cast<int>(blockIdx.x) * p.tile_rows;
  const int rows = min(p.rows - first, p.tile_rows);
  T* const w = dynamic_shared<T>();
  T* const bias = w + p.bias_begin;
  for_packs<V>(p.parts, first, rows,
               [&](const TilePart<const T>&, const T* from, int at) { begin_copy<V>(w + at, from); });
  if (thread < p.w_stride) {
    if (p.bias != nullptr && thread < p.width) {
      begin_copy<1>(bias + thread, p.bias + thread);
    } else {
      bias[thread] = T{0};
    }
  }
  finish_copies();
  const int row = p.quads.quotient(thread), column = 4 * (thread - row * p.quads.divisor);
  if (row >= rows) return;
  T sum[4];
  load_four(bias + column, sum);
  multiply_row(p, bias + p.w_stride + row * p.stride, w + column, sum);
  T* const y = p.y + (first + row) * p.width + column;
  if (p.fours != 0) return store_four(y, sum);
#pragma unroll
  for (int k = 0; k < 4; k += V) {
    Pack<T, V> pack;
    for (int v = 0; v < V; ++v) pack.at[v] = sum[k + v];
    if (column + k < p.width) *reinterpret_cast<Pack<T, V>*>(y + k) = pack;
  }
}

/// Begins to copy all that the block needs: x with a column of ones, dz, w transposed and what dx is added to.
template <int V, class T>
__device__ void begin_tiles(const StagedGradient<T>& p, T* shared, int first, int rows) {
  const int thread = static_cast<int>(threadIdx.x);
  for_packs<V>(p.parts, first, rows,
               [&](const TilePart<const T>&, const T* from, int at) { begin_copy<V>(shared + at, from); });
  if (p.wants != 0) {
#pragma unroll 2
    for (int i = thread; i < p.inner * p.width; i += gradient_threads) {
      const int f = p.columns.quotient(i), g = i - f * p.width;
      begin_copy<1>(shared + p.w_begin + g * p.stride + f, p.w + i);
    }
  }
  if (p.adds != 0) {
    for_packs<V>(p.gradients, first, rows, [&](const TilePart<T>& part, const T* from, int at) {
      if (part.accumulate != 0) {
        begin_copy<V>(shared + at, from);
      } else {
        *reinterpret_cast<Pack<T, V>*>(shared + at) = {};
      }
    });
  }
  if (thread < p.tile_rows) shared[thread * p.stride + p.inner] = T{1};
}

/// Adds one column of dz, of two rows, times four columns of w^T.
template <class T>
__device__ void add_column(T upper, T lower, const T* w, T (&sum)[2][4]) {
  T four[4];
  load_four(w, four);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    sum[0][k] += upper * four[k];
    sum[1][k] += lower * four[k];
  }
}

/// Stores four values of dx at a multiple of four, which the compiler does not know without the mask.
template <class T>
__device__ void put_four(const StagedGradient<T>& p, T* shared, int at, T (&sum)[4]) {
  T* const to = shared + (at & ~3);
  if (p.adds != 0) add_row<4>(T{1}, to, sum);
  store_four(to, sum);
}

/// dx (+)= dz w^T in the tile: a thread takes four columns of two rows, half a tile apart.
template <class T>
__device__ void differentiate_parts(const StagedGradient<T>& p, T* shared) {
  const int half = p.tile_rows / 2;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < half * p.wanted.divisor; i += gradient_threads) {
    const int row = p.wanted.quotient(i), column = 4 * (p.first_wanted + i - row * p.wanted.divisor);
    const T *upper = shared + p.dz_begin + row * p.dz_stride, *lower = upper + half * p.dz_stride;
    const T* w = shared + p.w_begin + column;
    T sum[2][4] = {};
    int g = 0;
#pragma unroll 1
    for (; g + 4 <= p.width; g += 4) {
      T a[4], b[4];
      load_four(upper + g, a);
      load_four(lower + g, b);
#pragma unroll
      for (int k = 0; k < 4; ++k, w += p.stride) add_column(a[k], b[k], w, sum);
    }
#pragma unroll 1
    for (; g < p.width; ++g, w += p.stride) add_column(upper[g], lower[g], w, sum);
    const int at = p.dx_begin + row * p.stride + column;
    put_four(p, shared, at, sum[0]);
    put_four(p, shared, at + half * p.stride, sum[1]);
  }
}

/// sum = the thread's 4 x 4 weights of [x | 1]^T dz over every k-th row of the tile.
template <class T>
__device__ void sum_weights(const StagedGradient<T>& p, const T* shared, int rows, T (&sum)[4][4]) {
  const int thread = static_cast<int>(threadIdx.x), group = p.units.quotient(thread);
  const int unit = thread - group * p.units.divisor, upper = p.quads.quotient(unit);
  if (group >= p.groups.divisor || group >= rows) return;
  const T* x = shared + group * p.stride + 4 * upper;
  const T* dz = shared + p.dz_begin + group * p.dz_stride + 4 * (unit - upper * p.quads.divisor);
  const int turns = p.groups.quotient(rows - 1 - group) + 1;
  const int x_step = p.groups.divisor * p.stride, dz_step = p.groups.divisor * p.dz_stride;
#pragma unroll 2
  for (int turn = 0; turn < turns; ++turn, x += x_step, dz += dz_step) {
    T left[4], right[4];
    load_four(x, left);
    load_four(dz, right);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[k][j] += left[k] * right[j];
    }
  }
}

/// Adds what the threads hold of each weight, which lies in `staged` [4][slots][4], and writes the block's sums.
template <class T>
__device__ void put_sums(const StagedGradient<T>& p, const T* staged) {
  const int count = (p.inner + 1) * p.width;
  double* const sums = p.sums + static_cast<std::int64_t>(blockIdx.x) * count;
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < count; i += gradient_threads) {
    const int f = p.columns.quotient(i), g = i - f * p.width;
    const T* from = staged + 4 * ((f & 3) * p.slots() + (f >> 2) * p.quads.divisor + (g >> 2)) + (g & 3);
    T sum{0};
#pragma unroll 4
    for (int group = 0; group < p.groups.divisor; ++group, from += 4 * p.units.divisor) sum += *from;
    sums[i] = static_cast<double>(sum);
  }
}

template <int V, class T>
__global__ void __launch_bounds__(gradient_threads) joined_dense_backward_staged(StagedGradient<T> p) {
  const int first = static_cast<int>(blockIdx.x) * p.tile_rows, rows = min(p.rows - first, p.tile_rows);
  T* const shared = dynamic_shared<T>();
  begin_tiles<V>(p, shared, first, rows);
  finish_copies();
  if (p.wants != 0) differentiate_parts(p, shared);
  T sum[4][4] = {};
  sum_weights(p, shared, rows, sum);
  __syncthreads();
  const int slot = static_cast<int>(threadIdx.x);
  if (slot < p.slots()) {
#pragma unroll
    for (int k = 0; k < 4; ++k) store_four(shared + 4 * (k * p.slots() + slot), sum[k]);
  }
  for_packs<V>(p.gradients, first, rows, [&](const TilePart<T>&, T* to, int at) {
    *reinterpret_cast<Pack<T, V>*>(to) = *reinterpret_cast<const Pack<T, V>*>(shared + at);
  });
  __syncthreads();
  put_sums(p, shared);
}

bool supports_forward(const JoinedDense& op) {
  return op.parts.size() <= most_parts_joined && op.w.rows() >= 1 && op.w.columns() >= 1 && op.w.rows() <= most_inner &&
         op.w.columns() <= most_width;
}
bool supports_backward(const JoinedDenseBackward& op) { return supports_forward({op.parts, op.w, Tensor(), op.dy}); }

/// Whether all of them are read in vectors of `bytes`; undefined ones are.
template <class T>
bool take_packs(const std::vector<Tensor>& tensors, std::size_t bytes) {
  for (const Tensor& tensor : tensors) {
    if (tensor.defined() && !takes_packs(tensor.data<T>(), tensor.columns(), sizeof(T), bytes)) return false;
  }
  return true;
}

std::int64_t fours(std::int64_t columns) { return (columns + 3) / 4; }

template <class T, int V>
void forward(const JoinedDense& op, const KernelContext& context) {
  StagedProduct<T> p{};
  p.rows = static_cast<int>(op.y.rows());
  p.inner = static_cast<int>(op.w.rows()), p.width = static_cast<int>(op.w.columns());
  p.quads = tile_divisor(fours(p.width));
  p.stride = tile_stride(p.inner), p.w_stride = 4 * p.quads.divisor;
  p.bias_begin = p.inner * p.w_stride;
  std::int64_t begin = p.bias_begin + p.w_stride;
  p.parts.add(op.w.data<T>(), p.width, V, 0, p.w_stride, p.inner);
  for (const Tensor& part : op.parts) {
    p.parts.add(part.data<T>(), part.columns(), V, begin, p.stride);
    begin += part.columns();
  }
  p.parts.share(product_threads / warp_lanes);
  p.bias = op.bias.data<T>(), p.y = op.y.data<T>();
  p.fours = p.width % 4 == 0 && is_multiple(p.y, 16) ? 1 : 0;
  p.tile_rows = product_threads / (p.quads.divisor <= 4 ? 4 : 8);
  const int values = p.bias_begin + p.w_stride + p.tile_rows * p.stride;
  launch(context, divide_up(p.rows, p.tile_rows), product_threads, static_cast<std::size_t>(values) * sizeof(T),
         joined_dense_staged<V, T>, p);
}

/// Sets the tile's rows and the places in shared memory, and returns their bytes: x, dz and w, which the threads' sums
/// later overwrite, followed by dx.
template <class T>
std::size_t place_tiles(StagedGradient<T>& p, int tile_rows) {
  p.tile_rows = tile_rows;
  p.dz_begin = tile_rows * p.stride;
  p.w_begin = p.dz_begin + tile_rows * p.dz_stride;
  p.dx_begin = std::max(p.w_begin + p.wants * p.width * p.stride, 16 * p.slots());
  return static_cast<std::size_t>(p.dx_begin + p.wants * tile_rows * p.stride) * sizeof(T);
}

/// Adds the parts, dy, and of the gradients those that are wanted: in fours of columns from the first of these to the
/// last.
template <class T>
void add_parts_of(StagedGradient<T>& p, const JoinedDenseBackward& op, int pack) {
  p.parts.add(op.dy.data<T>(), p.width, pack, p.dz_begin, p.dz_stride);
  std::int64_t begin = 0, first = 0, end = 4;
  for (std::size_t i = 0; i < op.parts.size(); ++i) {
    const std::int64_t columns = op.parts[i].columns();
    p.parts.add(op.parts[i].data<T>(), columns, pack, begin, p.stride);
    if (op.dparts[i].defined() && columns > 0) {
      if (p.gradients.count == 0) first = begin;
      end = begin + columns;
      p.gradients.add(op.dparts[i].data<T>(), columns, pack, p.dx_begin + begin, p.stride, 0, op.accumulate[i]);
      if (op.accumulate[i]) p.adds = 1;
    }
    begin += columns;
  }
  p.first_wanted = static_cast<int>(first / 4);
  p.wanted = tile_divisor(fours(end) - first / 4);
  p.parts.share(gradient_threads / warp_lanes);
  p.gradients.share(gradient_threads / warp_lanes);
}

template <class T, int V>
void backward(const JoinedDenseBackward& op, const KernelContext& context) {
  StagedGradient<T> p{};
  p.rows = static_cast<int>(op.dy.rows());
  if (p.rows == 0) return;
  p.inner = static_cast<int>(op.w.rows()), p.width = static_cast<int>(op.w.columns());
  p.stride = tile_stride(p.inner + 1), p.dz_stride = tile_stride(p.width);
  p.columns = tile_divisor(p.width), p.quads = tile_divisor(fours(p.width));
  p.units = tile_divisor((p.inner / 4 + 1) * fours(p.width));
  p.groups = tile_divisor(gradient_threads / p.units.divisor);
  p.w = op.w.data<T>();
  const auto wanted = [](const Tensor& dx) { return dx.defined() && dx.columns() > 0; };
  p.wants = std::any_of(op.dparts.begin(), op.dparts.end(), wanted) ? 1 : 0;
  int tile_rows = most_tile_rows;
  std::size_t bytes = place_tiles(p, tile_rows);
  while (tile_rows > least_tile_rows && (bytes > most_shared_bytes || p.rows < tile_rows * enough_blocks)) {
    bytes = place_tiles(p, tile_rows /= 2);
  }
  add_parts_of(p, op, V);
  const std::int64_t blocks = divide_up(p.rows, tile_rows), stride = op.w.elements() + op.w.columns();
  p.sums = part_sums_memory(context, blocks, stride);
  launch(context, blocks, gradient_threads, bytes, joined_dense_backward_staged<V, T>, p);
  add_part_sums<T>(context, op.dw, op.w.elements(), op.dbias, p.sums, blocks, stride);
}

/// The operation on rows [first, first + count): views of the same memory.
JoinedDense rows_of(JoinedDense op, std::int64_t first, std::int64_t count) {
  for (Tensor& part : op.parts) part = part.slice_rows(first, count);
  op.y = op.y.slice_rows(first, count);
  return op;
}
JoinedDenseBackward rows_of(JoinedDenseBackward op, std::int64_t first, std::int64_t count) {
  for (Tensor& part : op.parts) part = part.slice_rows(first, count);
  for (Tensor& gradient : op.dparts) {
    if (gradient.defined()) gradient = gradient.slice_rows(first, count);
  }
  op.dy = op.dy.slice_rows(first, count);
  return op;
}

/// Calls body(op) for each `most_rows` of the operation's rows. Gradients of weights are added to from one to the next.
template <class Op, class Body>
void by_rows(const Op& op, std::int64_t rows, const Body& body) {
  if (rows <= most_rows) return body(op);
  for (std::int64_t first = 0; first < rows; first += most_rows) {
    body(rows_of(op, first, std::min(most_rows, rows - first)));
  }
}

void run_rows(const JoinedDense& op, const KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto fits = [&](std::size_t bytes) {
      return take_packs<T>(op.parts, bytes) && take_packs<T>({op.w, op.y}, bytes);
    };
    with_pack<T, 2>(fits, [&](auto pack) { forward<T, decltype(pack)::value>(op, context); });
  });
}

void run_rows(const JoinedDenseBackward& op, const KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto fits = [&](std::size_t bytes) {
      return take_packs<T>(op.parts, bytes) && take_packs<T>(op.dparts, bytes) && take_packs<T>({op.dy}, bytes);
    };
    with_pack<T, 2>(fits, [&](auto pack) { backward<T, decltype(pack)::value>(op, context); });
  });
}

void run_forward(const JoinedDense& op, KernelContext& context) {
  by_rows(op, op.y.rows(), [&](const JoinedDense& some) { run_rows(some, context); });
}
void run_backward(const JoinedDenseBackward& op, KernelContext& context) {
  by_rows(op, op.dy.rows(), [&](const JoinedDenseBackward& some) { run_rows(some, context); });
}

const RegisterKernel<JoinedDense> staged{"cuda", {"staged", 30, supports_forward, run_forward}};
const RegisterKernel<JoinedDenseBackward> backward_staged{"cuda", {"staged", 30, supports_backward, run_backward}};

}  // namespace joined_dense_staged_kernels
}  // namespace strobe::cuda
