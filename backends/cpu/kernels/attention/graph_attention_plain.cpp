// Plain graph attention (Velickovic et al., ICLR'18, equations 1 to 6) and its gradient, by the definitions: one row
// and one head at a time, softmax with the row's maximum taken off. Backward recomputes the row's weights and scatters
// to the columns in row order, in one thread, so nothing depends on the number of threads. Cost 4 nnz H D FLOPs forward
// and again backward.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_attention.hpp"

namespace strobe {
namespace {

/// Raw arrays and sizes of an attention.
template <class T>
struct View {
  const std::int64_t* offsets;
  const std::int32_t* indices;
  const T* values;  // null when logits are not weighted
  const T *f, *left, *right;
  std::int64_t heads, depth;

  std::int64_t width() const { return heads * depth; }

  double score(const T* with, std::int64_t row, std::int64_t head) const {
    double sum = 0;
    for (std::int64_t d = head * depth; d < (head + 1) * depth; ++d) {
      sum += static_cast<double>(f[row * width() + d]) * static_cast<double>(with[d]);
    }
    return sum;
  }
  double factor(std::int64_t k) const { return values == nullptr ? 1.0 : static_cast<double>(values[k]); }
};

template <class T, class Op>
View<T> view_of(const Op& op) {
  return {op.a.row_offsets.template data<std::int64_t>(),
          op.a.column_indices.template data<std::int32_t>(),
          op.weighted ? op.a.values.template data<T>() : nullptr,
          op.f.template data<T>(),
          op.left.template data<T>(),
          op.right.template data<T>(),
          op.heads,
          op.f.columns() / op.heads};
}

/// One row's softmax of one head.
struct RowWeights {
  std::vector<double> p, slope, drop;  // per entry; drop: dropout's factor
  double own_score = 0, log_sum = 0;
};

template <class T>
void weigh(const View<T>& view, const AttentionDropout& dropout, std::int64_t row, std::int64_t head,
           RowWeights& weights) {
  const std::int64_t begin = view.offsets[row], end = view.offsets[row + 1];
  weights.p.assign(end - begin, 0.0);
  weights.slope = weights.p;
  weights.drop.assign(weights.p.size(), 1.0);
  for (std::int64_t k = begin; dropout.drops() && k < end; ++k)
    weights.drop[k - begin] = dropout.of_edge(row, view.indices[k], head);
  weights.own_score = view.score(view.left, row, head);
  double largest = -INFINITY, sum = 0;
  for (std::int64_t k = begin; k < end; ++k) {
    const std::size_t at = k - begin;
    const double logit = view.factor(k) * (weights.own_score + view.score(view.right, view.indices[k], head));
    weights.slope[at] = logit > 0 ? 1.0 : leaky_slope;
    weights.p[at] = logit * weights.slope[at];
    largest = std::max(largest, weights.p[at]);
  }
  for (double& p : weights.p) sum += p = std::exp(p - largest);
  for (double& p : weights.p) p /= sum;
  weights.log_sum = begin == end ? 0.0 : largest + std::log(sum);
}

template <class T>
void forward_row(const GraphAttention& op, const View<T>& view, std::int64_t row, RowWeights& weights) {
  const std::int64_t width = view.width();
  for (std::int64_t head = 0; head < view.heads; ++head) {
    weigh(view, op.dropout, row, head, weights);
    double slopes = 0;
    for (std::size_t k = 0; k < weights.p.size(); ++k) slopes += weights.p[k] * weights.slope[k];
    T* stats = op.row_stats.data<T>() + row * 2 * view.heads + head;
    stats[0] = static_cast<T>(weights.log_sum);
    stats[view.heads] = static_cast<T>(slopes);
    for (std::int64_t d = head * view.depth; d < (head + 1) * view.depth; ++d) {
      double sum = 0, sloped = 0;
      for (std::size_t k = 0; k < weights.p.size(); ++k) {
        const std::int64_t column = view.indices[view.offsets[row] + static_cast<std::int64_t>(k)];
        const double term = weights.p[k] * weights.drop[k] * static_cast<double>(view.f[column * width + d]);
        sum += term;
        sloped += term * weights.slope[k];
      }
      op.z.data<T>()[row * width + d] = static_cast<T>(sum);
      op.slopes.data<T>()[row * width + d] = static_cast<T>(sloped);
      op.y.data<T>()[row * width + d] = static_cast<T>(sum > 0 ? sum : std::expm1(sum));
    }
  }
}

void run_forward(const GraphAttention& op, KernelContext& context) {
  cpu::with_element(op.f.type(), [&](auto zero) {
    using T = decltype(zero);
    const View<T> view = view_of<T>(op);
    cpu::for_ranges(context, op.a.rows, 512, [&](std::int64_t begin, std::int64_t end) {
      RowWeights weights;
      for (std::int64_t row = begin; row < end; ++row) forward_row(op, view, row, weights);
    });
  });
}

/// The sums of rows and columns.
struct Sums {
  std::vector<double> df, dleft, dright;
};

/// Adds d to `from` [depth] times `score`'s vector and the other way round: the gradient of from . with.
template <class T>
void score_backward(const View<T>& view, const T* with, std::int64_t row, std::int64_t head, double d, Sums& sums,
                    std::vector<double>& dwith) {
  for (std::int64_t i = head * view.depth; i < (head + 1) * view.depth; ++i) {
    sums.df[row * view.width() + i] += d * static_cast<double>(with[i]);
    dwith[i] += d * static_cast<double>(view.f[row * view.width() + i]);
  }
}

template <class T>
void backward_row(const GraphAttentionBackward& op, const View<T>& view, std::int64_t row, RowWeights& weights,
                  Sums& sums) {
  const std::int64_t width = view.width();
  for (std::int64_t head = 0; head < view.heads; ++head) {
    weigh(view, op.dropout, row, head, weights);
    std::vector<double> dz(view.depth), dp(weights.p.size(), 0.0);
    double mean = 0, down = 0;
    for (std::int64_t d = 0; d < view.depth; ++d) {
      const std::int64_t at = row * width + head * view.depth + d;
      const double z = op.z.data<T>()[at];
      dz[d] = static_cast<double>(op.dy.data<T>()[at]) * (z > 0 ? 1.0 : std::exp(z));
    }
    for (std::size_t k = 0; k < weights.p.size(); ++k) {
      const std::int64_t column = view.indices[view.offsets[row] + static_cast<std::int64_t>(k)];
      for (std::int64_t d = 0; d < view.depth; ++d) {
        const std::int64_t at = column * width + head * view.depth + d;
        const double through = weights.drop[k] * dz[d];
        dp[k] += through * static_cast<double>(view.f[at]);
        sums.df[at] += weights.p[k] * through;
      }
      mean += weights.p[k] * dp[k];
    }
    for (std::size_t k = 0; k < weights.p.size(); ++k) {
      const std::int64_t entry = view.offsets[row] + static_cast<std::int64_t>(k);
      const double d = weights.p[k] * (dp[k] - mean) * weights.slope[k] * view.factor(entry);
      down += d;
      score_backward(view, view.right, view.indices[entry], head, d, sums, sums.dright);
    }
    score_backward(view, view.left, row, head, down, sums, sums.dleft);
  }
}

/// to (+)= values.
template <class T>
void put(const Tensor& to, const std::vector<double>& values, bool accumulate) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T& target = to.data<T>()[i];
    target = static_cast<T>((accumulate ? static_cast<double>(target) : 0.0) + values[i]);
  }
}

void run_backward(const GraphAttentionBackward& op, KernelContext&) {
  cpu::with_element(op.f.type(), [&](auto zero) {
    using T = decltype(zero);
    const View<T> view = view_of<T>(op);
    const std::size_t width = view.width();
    Sums sums{std::vector<double>(op.f.elements(), 0.0), std::vector<double>(width, 0.0),
              std::vector<double>(width, 0.0)};
    RowWeights weights;
    for (std::int64_t row = 0; row < op.a.rows; ++row) backward_row(op, view, row, weights, sums);
    put<T>(op.df, sums.df, op.accumulate_df);
    put<T>(op.dleft, sums.dleft, true);
    put<T>(op.dright, sums.dright, true);
  });
}

const RegisterKernel<GraphAttention> forward{"cpu", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<GraphAttentionBackward> backward{"cpu", {"plain", 0, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
