// Vector gradient of a dense layer of narrow parts side by side: parts of at most 8 columns, wider ones where only dw
// is wanted of them, as many outputs as a register has lanes. The parts are read, and their gradients stored, where
// they lie; joining them costs more than their multiply-adds. Blocks of 64 rows stay in the first-level cache while
// part after part passes over them: dw by registers of a row of dy, one for every column of the part; dx by registers
// of 8 columns of the part. dw is summed in the element type inside a block, and in double over blocks and row ranges,
// which depend on the number of rows only. Cost 2 R F G FLOPs per product, each part read once.
#include <vector>

#include "backends/cpu/kernels/dense/column_parts.hpp"
#include "backends/cpu/kernels/dense/dense_rows.hpp"
#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/operations/operations_join.hpp"

namespace strobe {
namespace {

using namespace cpu;

template <class T>
constexpr int most_columns = std::min(8, most_lanes<T>);  // of a part
constexpr std::int64_t most_piece_columns = 64;           // of a part without a gradient, all its pieces together
constexpr std::int64_t most_ranges = 64;
constexpr std::int64_t rows_at_a_time = 64;  // ten parts of 6 columns take 15 KB, dy 4 KB and sums 4 KB

/// Calls body(std::integral_constant<int, W>) with W = width, 1 <= width <= most_columns.
template <class T, int W = 1, class Body>
void with_columns(std::int64_t width, const Body& body) {
  if constexpr (W < most_columns<T>) {
    if (width > W) return with_columns<T, W + 1>(width, body);
  }
  body(std::integral_constant<int, W>{});
}

/// At most `most_columns` columns of a part, whose rows lie `stride` values apart; `first` is their first of all
/// parts'.
template <class T>
struct Piece {
  const T* data;
  std::int64_t stride, width, first;
};

template <class T>
std::vector<Piece<T>> pieces_of(const std::vector<Tensor>& tensors) {
  std::vector<Piece<T>> pieces;
  for (const Part<T>& part : column_parts<T>(tensors)) {
    for (std::int64_t c = 0; c < part.width; c += most_columns<T>) {
      pieces.push_back(
          {part.data + c, part.width, std::min<std::int64_t>(most_columns<T>, part.width - c), part.first + c});
    }
  }
  return pieces;
}

/// State that all ranges of rows share.
template <class T>
struct Layer {
  const JoinedDenseBackward& op;
  std::vector<Piece<T>> inputs;
  std::vector<Part<T>> gradients;
  std::int64_t columns, width;  // F, G
  Scratch<T> turned;            // rows of w for every part of `gradients`, as columns: [G][most_columns], then zeros

  explicit Layer(const JoinedDenseBackward& operation)
      : op(operation), inputs(pieces_of<T>(op.parts)), columns(op.w.rows()), width(op.w.columns()) {
    const std::vector<Part<T>> parts = column_parts<T>(op.parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (op.dparts[i].defined())
        gradients.push_back({op.dparts[i].data<T>(), parts[i].width, parts[i].first, op.accumulate[i]});
    }
    turned = Scratch<T>(static_cast<std::int64_t>(gradients.size()) * width * most_columns<T>);
    T* to = turned.data();
    for (const Part<T>& part : gradients) {
      const T* const from = op.w.data<T>() + part.first * width;
      for (std::int64_t g = 0; g < width; ++g, to += most_columns<T>) {
        for (std::int64_t f = 0; f < part.width; ++f) to[f] = from[f * width + g];
      }
    }
  }
};

/// sums[W][P] += x^T dz of `rows` rows of x [rows, W], `stride` values apart, and dz [rows, P], several rows side by
/// side, so that additions do not wait for one another.
template <class T, int P, int W>
void add_products(const T* x, std::int64_t stride, const T* dz, std::int64_t rows, T* sums) {
  constexpr int U = W >= 4 ? 2 : W >= 2 ? 4 : 8;
  Lanes<T, P> sum[U][W];
  const auto add = [&](int u, std::int64_t row) __attribute__((always_inline)) {
    const Lanes<T, P> right = load<T, P>(dz + row * P);
#pragma GCC unroll 8
    for (int k = 0; k < W; ++k) sum[u][k] += x[row * stride + k] * right;
  };
#pragma GCC unroll 8
  for (int u = 0; u < U; ++u) {
#pragma GCC unroll 8
    for (int k = 0; k < W; ++k) sum[u][k] = Lanes<T, P>{};
  }
  std::int64_t row = 0;
  for (; row + U <= rows; row += U) {
#pragma GCC unroll 8
    for (int u = 0; u < U; ++u) add(u, row + u);
  }
  for (; row < rows; ++row) add(0, row);
#pragma GCC unroll 8
  for (int k = 0; k < W; ++k) {
#pragma GCC unroll 8
    for (int u = 1; u < U; ++u) sum[0][k] += sum[u][k];
    store_first<T, P>(sums + k * P, load<T, P>(sums + k * P) + sum[0][k], P);
  }
}

/// R rows of `part` from `to` on (+)= dz [R, P] turned [G][most_columns]. A whole register also covers the first values
/// of the next rows. It writes them back unchanged, or, without addition, writes values that the next rows then
/// replace. Rows come in order; a row whose register would reach rows of another range is `alone`.
template <class T, int P, int R, bool alone>
void gradient_tile(const Part<T>& part, T* to, const T* turned, const T* dz, std::int64_t width) {
  constexpr int most = most_columns<T>;
  const int lanes = static_cast<int>(alone ? part.width : most);
  Lanes<T, most> sum[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
    sum[r] = part.accumulate ? load_first<T, most>(to + r * part.width, lanes) : Lanes<T, most>{};
  for (std::int64_t g = 0; g < width; ++g, turned += most) {
    const Lanes<T, most> right = load<T, most>(turned);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sum[r] += dz[r * P + g] * right;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    store_first<T, most>(to + r * part.width, sum[r], alone ? lanes : most);
  }
}

/// The gradient of rows [row, row + rows) of a part, `left` rows before the end of their range. A register of the last
/// rows of a range would reach past it: these rows are `alone`.
template <class T, int P>
void part_gradient(const Part<T>& part, const T* turned, const T* dz, std::int64_t row, std::int64_t rows,
                   std::int64_t left, std::int64_t width) {
  T* const to = part.data + row * part.width;
  const std::int64_t reached =
      divide_up(most_columns<T> - part.width, part.width);  // rows that a register reaches after a row
  const std::int64_t whole = std::clamp<std::int64_t>(left - reached, 0, rows);
  std::int64_t r = 0;
  for (; r + 8 <= whole; r += 8) gradient_tile<T, P, 8, false>(part, to + r * part.width, turned, dz + r * P, width);
  for (; r < whole; ++r) gradient_tile<T, P, 1, false>(part, to + r * part.width, turned, dz + r * P, width);
  for (; r < rows; ++r) gradient_tile<T, P, 1, true>(part, to + r * part.width, turned, dz + r * P, width);
}

/// dz [rows, P] = rows of dy [rows, width], padded with zeros; adds their sum to `total` [P].
template <class T, int P>
void copy_padded(const T* dy, std::int64_t rows, std::int64_t width, T* dz, T* total) {
  Lanes<T, P> sum[2] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
    const Lanes<T, P> row = load_row<T, P>(dy + r * width, static_cast<int>(width));
    store_first<T, P>(dz + r * P, row, P);
    sum[r % 2] += row;
  }
  store_first<T, P>(total, load<T, P>(total) + sum[0] + sum[1], P);
}

/// Adds the sums [F + 1][P] to `totals` [(F + 1) G] and clears them.
template <class T, int P>
void flush(T* sums, std::int64_t rows, std::int64_t width, double* totals) {
  for (std::int64_t f = 0; f < rows; ++f, sums += P, totals += width) {
    for (std::int64_t g = 0; g < width; ++g) totals[g] += static_cast<double>(sums[g]);
    store_first<T, P>(sums, Lanes<T, P>{}, P);
  }
}

/// The parts' gradients of rows [begin, end), and to `totals` [(F + 1) G] these rows' part of dw and dbias.
template <class T, int P>
void backward_rows(const Layer<T>& layer, std::int64_t begin, std::int64_t end, double* totals) {
  const std::int64_t width = layer.width, sum_rows = layer.columns + 1;
  T* const dz = line_buffer<T>((rows_at_a_time + sum_rows) * P);
  T* const sums = dz + rows_at_a_time * P;  // dw, followed by dbias
  std::fill_n(sums, sum_rows * P, T{0});
  for (std::int64_t row = begin; row < end; row += rows_at_a_time) {
    const std::int64_t rows = std::min(rows_at_a_time, end - row);
    const std::int64_t ahead = row + 2 * rows_at_a_time;  // a block alone takes less time than memory
    for (const Tensor& part : layer.op.parts) prefetch_tensor_rows<2>(part, ahead, rows);
    prefetch_tensor_rows<2>(layer.op.dy, ahead, rows);
    copy_padded<T, P>(layer.op.dy.template data<T>() + row * width, rows, width, dz, sums + layer.columns * P);
    for (const Piece<T>& piece : layer.inputs) {
      with_columns<T>(piece.width, [&](auto columns) {
        constexpr int W = decltype(columns)::value;
        add_products<T, P, W>(piece.data + row * piece.stride, piece.stride, dz, rows, sums + piece.first * P);
      });
    }
    flush<T, P>(sums, sum_rows, width, totals);
    const T* turned = layer.turned.data();
    for (const Part<T>& part : layer.gradients) {
      part_gradient<T, P>(part, turned, dz, row, rows, end - row, width);
      turned += width * most_columns<T>;
    }
  }
}

void run_backward(const JoinedDenseBackward& op, KernelContext& context) {
  const std::int64_t rows = op.dy.rows(), grain = std::max<std::int64_t>(512, divide_up(rows, most_ranges));
  with_element(op.dy.type(), [&](auto zero) {
    using T = decltype(zero);
    const Layer<T> layer(op);
    add_weight_gradients<T>(context, rows, grain, op.dw, op.w.elements(), op.dbias, op.w.columns(),
                            [&](std::int64_t begin, std::int64_t end, double* totals) {
                              with_lanes<T>(layer.width, [&](auto lanes) {
                                backward_rows<T, decltype(lanes)::value>(layer, begin, end, totals);
                              });
                            });
  });
}

template <class T>
bool serves_type(const JoinedDenseBackward& op) {
  if (op.w.columns() < 1 || op.w.columns() > most_lanes<T>) return false;
  for (std::size_t i = 0; i < op.parts.size(); ++i) {
    const std::int64_t columns = op.parts[i].columns();
    if (columns < 1 || columns > (op.dparts[i].defined() ? most_columns<T> : most_piece_columns)) return false;
  }
  return true;
}

bool serves(const JoinedDenseBackward& op) {
  return op.dy.type() == ElementType::f32 ? serves_type<float>(op) : serves_type<double>(op);
}

const RegisterKernel<JoinedDenseBackward> backward{"cpu", {"parts", 20, serves, run_backward}};

}  // namespace
}  // namespace strobe
