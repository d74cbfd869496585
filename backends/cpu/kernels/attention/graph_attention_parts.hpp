// Parts of the fast graph attention: exponentials of the scores, the gradients of rows, and small block-diagonal
// matrices that turn sums over a head's columns into products of tile.hpp.
#pragma once

#include <atomic>
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/dense/tile.hpp"
#include "backends/cpu/kernels/exponential.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_attention.hpp"

namespace strobe::cpu {

inline constexpr std::int64_t attention_block = 128;  // rows that stay in the first-level cache
inline constexpr std::int64_t attention_grain = 4096;

/// Spreads a register of values per head over the registers of H D columns; there are at most K.
template <class T, int P, int K>
class HeadLanes {
 public:
  HeadLanes(std::int64_t width, std::int64_t heads) : registers_(static_cast<int>(divide_up(width, P))) {
    for (std::int64_t c = 0; c < P * registers_; ++c) {
      index_[c / P][c % P] = static_cast<Element>(c < width ? c / (width / heads) : 0);
    }
  }
  [[gnu::always_inline]] Lanes<T, P> over(int i, Lanes<T, P> heads) const {
#ifdef __clang__  // has no shuffle by an index that is found at run time
    Lanes<T, P> spread;
    for (int p = 0; p < P; ++p) spread[p] = heads[index_[i][p]];
    return spread;
#else
    return __builtin_shuffle(heads, index_[i]);
#endif
  }
  /// The registers that hold the columns.
  int registers() const { return registers_; }

 private:
  using Element = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  Lanes<Element, P> index_[K];
  int registers_;
};

/// Registers of one row of features: 256 bytes, or half of that where registers have 16 bytes.
inline constexpr int most_feature_registers = register_bytes >= 32 ? 256 / register_bytes : 8;

/// Calls body(P, K) as constants: K registers of P lanes hold `width` columns, at most most_feature_registers.
template <class T, int K = 1, class Body>
void with_registers(std::int64_t width, const Body& body) {
  constexpr int P = most_lanes<T>;
  if constexpr (K == 1 && P > 2) {
    if (width <= P / 2) return body(std::integral_constant<int, P / 2>{}, std::integral_constant<int, 1>{});
  }
  if constexpr (K < most_feature_registers) {
    if (width > K * P) return with_registers<T, K + 1>(width, body);
  }
  body(std::integral_constant<int, P>{}, std::integral_constant<int, K>{});
}

/// Calls body(P) with the lanes of registers that hold `width` columns, for code that counts the registers as it runs.
template <class T, class Body>
void with_half_or_whole(std::int64_t width, const Body& body) {
  constexpr int P = most_lanes<T>;
  if constexpr (P > 2) {
    if (width <= P / 2) return body(std::integral_constant<int, P / 2>{});
  }
  body(std::integral_constant<int, P>{});
}

/// The vectors `left` and `right` as block-diagonal matrices.
template <class T>
class AttentionMatrices {
 public:
  AttentionMatrices(const Tensor& left, const Tensor& right, std::int64_t heads)
      : heads_(heads), width_(left.columns()), vectors_(zeros(2 * heads * width_)), ones_(zeros(heads * width_)) {
    for (std::int64_t c = 0; c < width_; ++c) {
      const std::int64_t h = head(c);
      vectors_[h * width_ + c] = left.data<T>()[c];
      vectors_[(heads + h) * width_ + c] = right.data<T>()[c];
      ones_[c * heads + h] = T{1};
    }
  }

  /// to[r * stride + h] = sum over the columns of head h of row r of `products` [count, H D].
  void add_up_heads(const T* products, std::int64_t count, T* to, std::int64_t stride) const {
    multiply(Factors<T>{products, width_, 1, ones_.data(), heads_, width_}, count, heads_, ProductStore<T>{to, stride});
  }

  /// df [count, H D] += dscores [count, 2 H] times the vectors.
  void spread_scores(const T* dscores, std::int64_t count, T* df) const {
    multiply(Factors<T>{dscores, 2 * heads_, 1, vectors_.data(), width_, 2 * heads_}, count, width_,
             ProductStore<T>{.to = df, .stride = width_, .accumulate = true});
  }

  /// sums [H D, 2 H] += f^T dscores over `count` rows.
  void add_vector_gradients(const T* f, const T* dscores, std::int64_t count, double* sums) const {
    const std::int64_t stride = 2 * heads_;
    multiply(Factors<T>{f, 1, width_, dscores, stride, count}, width_, stride, ProductSums{sums, stride});
  }

  /// Adds the block diagonals of all parts in `sums` to the gradients of the vectors.
  void put_vector_gradients(const std::vector<double>& sums, const Tensor& dleft, const Tensor& dright) const {
    const std::size_t stride = width_ * 2 * heads_;
    for (std::int64_t c = 0; c < width_; ++c) {
      for (const bool is_right : {false, true}) {
        T& target = (is_right ? dright : dleft).template data<T>()[c];
        double total = target;
        for (std::size_t p = c * 2 * heads_ + head(c) + (is_right ? heads_ : 0); p < sums.size(); p += stride)
          total += sums[p];
        target = static_cast<T>(total);
      }
    }
  }

 private:
  static std::vector<T> zeros(std::int64_t count) { return std::vector<T>(count + most_lanes<T>, T{0}); }
  std::int64_t head(std::int64_t column) const { return column / (width_ / heads_); }

  std::int64_t heads_, width_;
  std::vector<T> vectors_, ones_;  // [2 H, H D], [H D, H]
};

/// All scores in the operation's workspace: of column j [C, 2 H], of row i [R, 3 H]. In range, where no product of
/// exponentials can leave the range of T, they are (exp r_j | exp(slope r_j)) and (exp((1 - slope) l_i) | exp(slope
/// l_i) | free); out of it they are (r_j | free) and (l_i | free | free).
template <class T>
class AttentionScores {
 public:
  template <class Op>
  AttentionScores(const Op& op, const KernelContext& context)
      : heads_(op.heads),
        width_(op.f.columns()),
        columns_(op.workspace.template data<T>()),
        rows_(columns_ + op.f.rows() * 2 * heads_),
        f_(op.f.template data<T>()),
        own_rows_(op.a.rows) {
    in_range_ = !op.dropout.drops();
    if (in_range_) take_all(op, true, context);
    if (!in_range_) take_all(op, false, context);
  }

  /// Never where edges are dropped, whose random numbers cost more than the exponentials that this saves.
  bool in_range() const { return in_range_; }
  const T* columns() const { return columns_; }
  T* rows() const { return rows_; }

 private:
  /// [H D, parts H]: `vector` times each of `factors`, block-diagonal, side by side.
  std::vector<T> blocks(const Tensor& vector, const std::vector<double>& factors) const {
    const std::int64_t stride = static_cast<std::int64_t>(factors.size()) * heads_;
    std::vector<T> matrix(width_ * stride + most_lanes<T>, T{0});
    for (std::int64_t c = 0; c < width_; ++c) {
      T* row = matrix.data() + c * stride + c / (width_ / heads_);
      for (const double factor : factors) {
        *row = vector.data<T>()[c] * static_cast<T>(factor);
        row += heads_;
      }
    }
    return matrix;
  }

  template <class Op>
  void take_all(const Op& op, bool exponentials, const KernelContext& context) {
    const std::vector<T> right = blocks(op.right, {1.0, exponentials ? leaky_slope : 0.0});
    const std::vector<T> left =
        blocks(op.left, {exponentials ? 1 - leaky_slope : 1.0, exponentials ? leaky_slope : 0.0, 0.0});
    for_ranges(context, op.f.rows(), attention_grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin; first < end; first += attention_block) {
        const std::int64_t count = std::min(attention_block, end - first);
        take(first, count, right.data(), 2 * heads_, columns_, exponentials);
        take(first, std::min(count, own_rows_ - first), left.data(), 3 * heads_, rows_, exponentials);
      }
    });
  }

  /// Rows [first, first + count) of f times `matrix` [H D, stride], and their exponentials, to `to` [., stride].
  void take(std::int64_t first, std::int64_t count, const T* matrix, std::int64_t stride, T* to, bool exponentials) {
    if (count <= 0) return;
    constexpr int P = most_lanes<T>;
    to += first * stride;
    multiply(Factors<T>{f_ + first * width_, width_, 1, matrix, stride, width_}, count, stride,
             ProductStore<T>{to, stride});
    if (!exponentials) return;
    // Products of exponentials of such scores, and sums of many, stay normal numbers in float.
    const Lanes<T, P> high = broadcast<T, P>(T{30}), low = -high;
    auto inside = low < high;  // false for NaN, too
    for (std::int64_t i = 0; i < count * stride; i += P) {
      const int lanes = static_cast<int>(std::min<std::int64_t>(P, count * stride - i));
      const Lanes<T, P> score = load_first<T, P>(to + i, lanes);
      inside &= (score <= high) & (score >= low);
      store_first<T, P>(to + i, exponential<T>(score), lanes);
    }
    for (int i = 0; i < P; ++i) {
      if (!inside[i]) in_range_ = false;
    }
  }

  std::int64_t heads_, width_;
  T *columns_, *rows_;
  const T* f_;
  std::int64_t own_rows_;
  std::atomic<bool> in_range_{true};
};

/// Gradients that belong to rows, in the operation's workspace: g [R, H D] and the gradient of l_i [R, H]. With the
/// mean m_i = sum_j p_ij dp_ij = dz . z: in range g = dz n_i and a row's second third becomes m_i n_i, where n_i =
/// exp(slope l_i) / sum_j exp e_ij turns the products of exponentials into p_ij; out of it g = dz, the second third is
/// m_i and the last one log sum_j exp e_ij.
template <class T>
class RowGradients {
 public:
  RowGradients(const GraphAttentionBackward& op, const AttentionMatrices<T>& matrices, const AttentionScores<T>& scores,
               const KernelContext& context)
      : op_(op),
        matrices_(matrices),
        in_range_(scores.in_range()),
        heads_(op.heads),
        width_(op.f.columns()),
        rows_(scores.rows()),
        g_(rows_ + op.a.rows * 3 * heads_),
        dleft_(g_ + op.a.rows * width_) {
    for_ranges(context, op.a.rows, attention_grain, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t size = attention_block * 2 * (width_ + heads_) + most_lanes<T>;
      std::vector<T> scratch(size, T{0});
      for (std::int64_t first = begin; first < end; first += attention_block) {
        take(first, std::min(attention_block, end - first), scratch.data());
      }
    });
  }

  const T* g() const { return g_; }
  const T* dleft_scores() const { return dleft_; }

 private:
  void take(std::int64_t first, std::int64_t count, T* scratch) {
    T *with_z = scratch, *with_slopes = with_z + attention_block * width_,
      *means = with_slopes + attention_block * width_, *sloped = means + attention_block * heads_;
    gradients_of_z(first, count, with_z, with_slopes);
    matrices_.add_up_heads(with_z, count, means, heads_);
    matrices_.add_up_heads(with_slopes, count, sloped, heads_);
    with_half_or_whole<T>(width_, [&](auto lanes) {
      constexpr int P = decltype(lanes)::value;
      const HeadLanes<T, P, most_feature_registers> spread(width_, heads_);
      for (std::int64_t i = 0; i < count; ++i) {
        take_row<P>(spread, first + i, means + i * heads_, sloped + i * heads_);
      }
    });
  }

  template <int P>
  [[gnu::always_inline]] void take_row(const HeadLanes<T, P, most_feature_registers>& spread, std::int64_t r,
                                       const T* means, const T* sloped) {
    using V = Lanes<T, P>;
    const int heads = static_cast<int>(heads_);
    const T* stats = op_.row_stats.data<T>() + r * 2 * heads_;
    const V log_sum = load<T, P>(stats), slopes = load<T, P>(stats + heads_), mean = load<T, P>(means);
    T* row = rows_ + r * 3 * heads_;
    const V norm = in_range_ ? load<T, P>(row + heads_) * exponential<T, P>(-log_sum) : broadcast<T, P>(T{1});
    store_first<T, P>(row + heads_, mean * norm, heads);
    store_first<T, P>(row + 2 * heads_, log_sum, heads);
    store_first<T, P>(dleft_ + r * heads_, load<T, P>(sloped) - mean * slopes, heads);
    for (int i = 0; i < spread.registers(); ++i) {
      T* g = g_ + r * width_ + i * P;
      const int lanes = static_cast<int>(std::min<std::int64_t>(P, width_ - i * P));
      store_first<T, P>(g, load_first<T, P>(g, lanes) * spread.over(i, norm), lanes);
    }
  }

  /// g = dz; with_z = dz z; with_slopes = dz slopes.
  void gradients_of_z(std::int64_t first, std::int64_t count, T* with_z, T* with_slopes) {
    constexpr int P = most_lanes<T>;
    const std::int64_t at = first * width_, total = count * width_;
    for_lanes<T>(0, total, [&](std::int64_t i, int lanes) {
      const Lanes<T, P> z = load_row<T, P>(op_.z.data<T>() + at + i, lanes),
                        dy = load_row<T, P>(op_.dy.data<T>() + at + i, lanes),
                        slopes = load_row<T, P>(op_.slopes.data<T>() + at + i, lanes);
      const Lanes<T, P> dz = z > Lanes<T, P>{} ? dy : dy * exponential<T>(z);
      store_first<T, P>(g_ + at + i, dz, lanes);
      store_first<T, P>(with_z + i, dz * z, lanes);
      store_first<T, P>(with_slopes + i, dz * slopes, lanes);
    });
  }

  const GraphAttentionBackward& op_;
  const AttentionMatrices<T>& matrices_;
  bool in_range_;
  std::int64_t heads_, width_;
  T *rows_, *g_, *dleft_;
};

}  // namespace strobe::cpu
