// Plain attention over entries and its gradient, by the definitions: one row (or column) and one head at a time, sums
// in double, softmax with the row's maximum taken off. Backward walks the rows for dq and dw, then the columns for dk
// and dv. Columns are gathered where the matrix carries its transpose, otherwise scattered in row order by one thread.
// Cost 2 nnz H (D + E) FLOPs forward, and three times as much backward.
#include <cmath>
#include <vector>

#include "backends/cpu/kernels/range_sums.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_edge_attention.hpp"

namespace strobe {
namespace {

constexpr std::int64_t edge_rows_per_task = 128;

/// Raw arrays and sizes.
template <class T>
struct EdgeArrays {
  const std::int64_t* offsets;
  const std::int32_t* indices;
  const T *q, *k, *v, *w;  // w may be null
  EdgeScore form;
  std::int64_t width, value_width, depth, value_depth;

  template <class Op>
  explicit EdgeArrays(const Op& op)
      : offsets(op.a.row_offsets.template data<std::int64_t>()),
        indices(op.a.column_indices.template data<std::int32_t>()),
        q(op.q.template data<T>()),
        k(op.k.template data<T>()),
        v(op.v.template data<T>()),
        w(op.w.defined() ? op.w.template data<T>() : nullptr),
        form(op.score),
        width(op.q.columns()),
        value_width(op.v.columns()),
        depth(width / form.heads),
        value_depth(value_width / form.heads) {}

  double weight(std::int64_t column) const { return w == nullptr ? 1.0 : static_cast<double>(w[column]); }
  double added(std::int64_t row, std::int64_t column, std::int64_t d) const {
    return static_cast<double>(q[row * width + d]) + static_cast<double>(k[column * width + d]);
  }
  double score(std::int64_t row, std::int64_t column, std::int64_t head) const {
    double sum = 0;
    for (std::int64_t d = head * depth; d < (head + 1) * depth; ++d) {
      if (form.added) {
        const double both = added(row, column, d);
        sum += weight(d) * (both > 0 ? both : form.p * both);
      } else {
        sum += form.p * static_cast<double>(q[row * width + d]) * static_cast<double>(k[column * width + d]);
      }
    }
    return sum;
  }
};

template <class T>
void attend_row(const EdgeAttention& op, const EdgeArrays<T>& in, std::int64_t row, std::int64_t head,
                std::vector<double>& p) {
  const std::int64_t begin = in.offsets[row], end = in.offsets[row + 1];
  double largest = -INFINITY, total = 0;
  p.assign(static_cast<std::size_t>(end - begin), 0.0);
  for (std::int64_t e = begin; e < end; ++e)
    largest = std::max(largest, p[e - begin] = in.score(row, in.indices[e], head));
  for (double& each : p) total += each = std::exp(each - largest);
  for (std::int64_t d = head * in.value_depth; d < (head + 1) * in.value_depth; ++d) {
    double sum = 0;
    for (std::int64_t e = begin; e < end; ++e)
      sum += p[e - begin] * static_cast<double>(in.v[in.indices[e] * in.value_width + d]);
    op.y.data<T>()[row * in.value_width + d] = static_cast<T>(begin == end ? 0.0 : sum / total);
  }
  op.log_sums.data<T>()[row * in.form.heads + head] = static_cast<T>(begin == end ? 0.0 : largest + std::log(total));
}

void run_edge_attention(const EdgeAttention& op, KernelContext& context) {
  cpu::with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    const EdgeArrays<T> in(op);
    cpu::for_ranges(context, op.a.rows, edge_rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      std::vector<double> p;
      for (std::int64_t row = begin; row < end; ++row) {
        for (std::int64_t head = 0; head < in.form.heads; ++head) attend_row(op, in, row, head, p);
      }
    });
  });
}

/// Gradients of single entries.
template <class T>
class EdgeGradients {
 public:
  explicit EdgeGradients(const EdgeAttentionBackward& op)
      : op_(op), in_(op), dy_(op.dy.data<T>()), y_(op.y.data<T>()), log_sums_(op.log_sums.data<T>()) {}

  /// The coefficient of an entry, and the gradient of its score.
  struct Entry {
    double p, dscore;
  };
  Entry entry(std::int64_t row, std::int64_t column, std::int64_t head) const {
    double dp = 0, mean = 0;
    for (std::int64_t d = head * in_.value_depth; d < (head + 1) * in_.value_depth; ++d) {
      const auto dy = static_cast<double>(dy_[row * in_.value_width + d]);
      dp += dy * static_cast<double>(in_.v[column * in_.value_width + d]);
      mean += dy * static_cast<double>(y_[row * in_.value_width + d]);
    }
    const double p =
        std::exp(in_.score(row, column, head) - static_cast<double>(log_sums_[row * in_.form.heads + head]));
    return {p, p * (dp - mean)};
  }
  /// Adds to dq [D] of the row, dw [D] and dk [D] of the column; each may be null.
  void add_score(std::int64_t row, std::int64_t column, std::int64_t head, double dscore, double* dq, double* dk,
                 double* dw) const {
    for (std::int64_t i = 0; i < in_.depth; ++i) {
      const std::int64_t d = head * in_.depth + i;
      double to_q = 0, to_k = 0;
      if (in_.form.added) {
        const double both = in_.added(row, column, d), slope = both > 0 ? 1.0 : in_.form.p;
        to_q = to_k = dscore * in_.weight(d) * slope;
        if (dw != nullptr) dw[i] += dscore * both * slope;
      } else {
        to_q = dscore * in_.form.p * static_cast<double>(in_.k[column * in_.width + d]);
        to_k = dscore * in_.form.p * static_cast<double>(in_.q[row * in_.width + d]);
      }
      if (dq != nullptr) dq[i] += to_q;
      if (dk != nullptr) dk[i] += to_k;
    }
  }
  void add_value(std::int64_t row, std::int64_t head, double p, double* dv) const {
    for (std::int64_t i = 0; i < in_.value_depth; ++i)
      dv[i] += p * static_cast<double>(dy_[row * in_.value_width + head * in_.value_depth + i]);
  }

  /// dq of the rows, and dw.
  void run_rows(const KernelContext& context) const {
    const std::int64_t weights = op_.dw.defined() ? in_.width : 0;
    cpu::add_weight_gradients<T>(context, op_.a.rows, edge_rows_per_task, op_.dw, weights, Tensor(), 0,
                                 [&](std::int64_t begin, std::int64_t end, double* sums) {
                                   for (std::int64_t row = begin; row < end; ++row)
                                     row_gradients(row, op_.dw.defined() ? sums : nullptr);
                                 });
  }
  void run_columns(const KernelContext& context) const {
    if (!op_.dk.defined() && !op_.dv.defined()) return;
    if (!op_.a.transposed_offsets.defined()) return scatter_columns();
    const std::int64_t* offsets = op_.a.transposed_offsets.data<std::int64_t>();
    const std::int32_t* rows = op_.a.transposed_indices.data<std::int32_t>();
    cpu::for_ranges(context, op_.a.columns, edge_rows_per_task, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t column = begin; column < end; ++column) {
        std::vector<double> dk(in_.width, 0.0), dv(in_.value_width, 0.0);
        for (std::int64_t e = offsets[column]; e < offsets[column + 1]; ++e) to_column(rows[e], column, dk, dv, 0, 0);
        put(op_.dk, column * in_.width, dk.data(), in_.width, op_.accumulate_k);
        put(op_.dv, column * in_.value_width, dv.data(), in_.value_width, op_.accumulate_v);
      }
    });
  }

 private:
  void row_gradients(std::int64_t row, double* dw) const {
    std::vector<double> dq(in_.width, 0.0);
    for (std::int64_t head = 0; head < in_.form.heads; ++head) {
      const std::int64_t first = head * in_.depth;
      for (std::int64_t e = in_.offsets[row]; e < in_.offsets[row + 1]; ++e) {
        const std::int64_t column = in_.indices[e];
        add_score(row, column, head, entry(row, column, head).dscore, dq.data() + first, nullptr,
                  dw == nullptr ? nullptr : dw + first);
      }
    }
    put(op_.dq, row * in_.width, dq.data(), in_.width, op_.accumulate_q);
  }
  /// Adds what the row gives the column to dk and dv, which have the column's part from these places on.
  void to_column(std::int64_t row, std::int64_t column, std::vector<double>& dk, std::vector<double>& dv,
                 std::int64_t of_key, std::int64_t of_value) const {
    for (std::int64_t head = 0; head < in_.form.heads; ++head) {
      const Entry each = entry(row, column, head);
      add_score(row, column, head, each.dscore, nullptr, dk.data() + of_key + head * in_.depth, nullptr);
      add_value(row, head, each.p, dv.data() + of_value + head * in_.value_depth);
    }
  }
  void scatter_columns() const {
    std::vector<double> dk(op_.a.columns * in_.width, 0.0), dv(op_.a.columns * in_.value_width, 0.0);
    for (std::int64_t row = 0; row < op_.a.rows; ++row) {
      for (std::int64_t e = in_.offsets[row]; e < in_.offsets[row + 1]; ++e) {
        const std::int64_t column = in_.indices[e];
        to_column(row, column, dk, dv, column * in_.width, column * in_.value_width);
      }
    }
    put(op_.dk, 0, dk.data(), op_.a.columns * in_.width, op_.accumulate_k);
    put(op_.dv, 0, dv.data(), op_.a.columns * in_.value_width, op_.accumulate_v);
  }
  static void put(const Tensor& to, std::int64_t at, const double* from, std::int64_t count, bool accumulate) {
    if (!to.defined()) return;
    T* target = to.data<T>() + at;
    for (std::int64_t i = 0; i < count; ++i)
      target[i] = static_cast<T>((accumulate ? static_cast<double>(target[i]) : 0.0) + from[i]);
  }

  const EdgeAttentionBackward& op_;
  EdgeArrays<T> in_;
  const T *dy_, *y_, *log_sums_;
};

void run_edge_attention_backward(const EdgeAttentionBackward& op, KernelContext& context) {
  cpu::with_element(op.dy.type(), [&](auto zero) {
    const EdgeGradients<decltype(zero)> gradients(op);
    if (op.dq.defined() || op.dw.defined()) gradients.run_rows(context);
    gradients.run_columns(context);
  });
}

const RegisterKernel<EdgeAttention> edge_forward{"cpu", {"plain", 0, nullptr, run_edge_attention}};
const RegisterKernel<EdgeAttentionBackward> edge_backward{"cpu", {"plain", 0, nullptr, run_edge_attention_backward}};

}  // namespace
}  // namespace strobe
