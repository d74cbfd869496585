// Plain attention over entries and its gradient, by the definitions, in double: a thread has one row (or column) and
// head, softmax with the row's maximum taken off. Backward keeps the gradient of every entry's score in scratch for dq
// and dw. A thread with a column then walks the column's entries: those of the transpose, or all where the matrix
// carries none. Cost 2 nnz H (D + E) FLOPs forward and three times as much backward; 8 bytes of scratch per entry and
// head.
#include <cmath>

#include "backends/cuda/kernels/part_sums.hpp"
#include "backends/operations/operations_edge_attention.hpp"

namespace strobe::cuda {
namespace edge_attention_plain_kernels {

constexpr int threads = 128;

/// Device arrays and sizes. `w`, `transposed_offsets` and gradients may be null.
template <class T>
struct Entries {
  const std::int64_t *offsets, *transposed_offsets;
  const std::int32_t *indices, *transposed_rows;
  const T *q, *k, *v, *w;
  EdgeScore form;
  std::int64_t rows, columns, nonzeros, width, value_width;

  __device__ std::int64_t depth() const { return width / form.heads; }
  __device__ std::int64_t value_depth() const { return value_width / form.heads; }
  __device__ double weight(std::int64_t d) const { return w == nullptr ? 1.0 : static_cast<double>(w[d]); }
  __device__ double query(std::int64_t row, std::int64_t d) const { return q[row * width + d]; }
  __device__ double key(std::int64_t column, std::int64_t d) const { return k[column * width + d]; }
  __device__ double slope(double both) const { return both > 0 ? 1.0 : form.p; }
  __device__ double score(std::int64_t row, std::int64_t column, std::int64_t head) const {
    double sum = 0;
    for (std::int64_t d = head * depth(); d < (head + 1) * depth(); ++d) {
      const double both = query(row, d) + key(column, d);
      sum += form.added ? weight(d) * both * slope(both) : form.p * query(row, d) * key(column, d);
    }
    return sum;
  }
  /// Gradients of the query, and of the weight, in column d of a score whose gradient is `dscore`.
  __device__ double to_query(std::int64_t row, std::int64_t column, std::int64_t d, double dscore) const {
    if (!form.added) return dscore * form.p * key(column, d);
    return dscore * weight(d) * slope(query(row, d) + key(column, d));
  }
  __device__ double to_key(std::int64_t row, std::int64_t column, std::int64_t d, double dscore) const {
    return form.added ? to_query(row, column, d, dscore) : dscore * form.p * query(row, d);
  }
  __device__ double to_weight(std::int64_t row, std::int64_t column, std::int64_t d, double dscore) const {
    const double both = query(row, d) + key(column, d);
    return dscore * both * slope(both);
  }
};

template <class T>
const T* device_data(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

template <class T, class Op>
Entries<T> entries_of(const Op& op) {
  return {op.a.row_offsets.template data<std::int64_t>(),
          device_data<std::int64_t>(op.a.transposed_offsets),
          op.a.column_indices.template data<std::int32_t>(),
          device_data<std::int32_t>(op.a.transposed_indices),
          op.q.template data<T>(),
          op.k.template data<T>(),
          op.v.template data<T>(),
          device_data<T>(op.w),
          op.score,
          op.a.rows,
          op.a.columns,
          op.a.nonzeros,
          op.q.columns(),
          op.v.columns()};
}

template <class T>
__device__ void attend(const Entries<T>& in, std::int64_t row, std::int64_t head, T* y, T* log_sums) {
  const std::int64_t begin = in.offsets[row], end = in.offsets[row + 1];
  double largest = 0, total = 0;
  for (std::int64_t e = begin; e < end; ++e) {
    const double score = in.score(row, in.indices[e], head);
    largest = e == begin ? score : max(largest, score);
  }
  for (std::int64_t e = begin; e < end; ++e) total += std::exp(in.score(row, in.indices[e], head) - largest);
  const double log_sum = begin == end ? 0.0 : largest + std::log(total);
  log_sums[row * in.form.heads + head] = static_cast<T>(log_sum);
  for (std::int64_t d = head * in.value_depth(); d < (head + 1) * in.value_depth(); ++d) {
    double sum = 0;
    for (std::int64_t e = begin; e < end; ++e) {
      sum += std::exp(in.score(row, in.indices[e], head) - log_sum) *
             static_cast<double>(in.v[in.indices[e] * in.value_width + d]);
    }
    y[row * in.value_width + d] = static_cast<T>(sum);
  }
}

template <class T>
__global__ void forward(Entries<T> in, T* y, T* log_sums) {
  for (std::int64_t i = grid_thread(); i < in.rows * in.form.heads; i += grid_threads())
    attend(in, i / in.form.heads, i % in.form.heads, y, log_sums);
}

/// Further arrays of the backward pass.
template <class T>
struct Backward {
  const T *y, *log_sums, *dy;
  double* dscores;  // [nnz, H]

  __device__ double coefficient(const Entries<T>& in, std::int64_t row, std::int64_t column, std::int64_t head) const {
    return std::exp(in.score(row, column, head) - static_cast<double>(log_sums[row * in.form.heads + head]));
  }
  /// The gradient of the score of an entry with coefficient p.
  __device__ double dscore(const Entries<T>& in, std::int64_t row, std::int64_t column, std::int64_t head,
                           double p) const {
    double dp = 0, mean = 0;
    for (std::int64_t d = head * in.value_depth(); d < (head + 1) * in.value_depth(); ++d) {
      const double here = dy[row * in.value_width + d];
      dp += here * static_cast<double>(in.v[column * in.value_width + d]);
      mean += here * static_cast<double>(y[row * in.value_width + d]);
    }
    return p * (dp - mean);
  }
};

/// The target of a sum: stored, or added to.
template <class T>
__device__ void put(T* to, double sum, bool accumulate) {
  *to = static_cast<T>((accumulate ? static_cast<double>(*to) : 0.0) + sum);
}

/// dq, and the gradients of all scores; dq may be null.
template <class T>
__global__ void rows_backward(Entries<T> in, Backward<T> at, T* dq, bool accumulate) {
  const std::int64_t heads = in.form.heads;
  for (std::int64_t i = grid_thread(); i < in.rows * heads; i += grid_threads()) {
    const std::int64_t row = i / heads, head = i % heads;
    for (std::int64_t e = in.offsets[row]; e < in.offsets[row + 1]; ++e) {
      const double p = at.coefficient(in, row, in.indices[e], head);
      at.dscores[e * heads + head] = at.dscore(in, row, in.indices[e], head, p);
    }
    for (std::int64_t d = head * in.depth(); dq != nullptr && d < (head + 1) * in.depth(); ++d) {
      double sum = 0;
      for (std::int64_t e = in.offsets[row]; e < in.offsets[row + 1]; ++e)
        sum += in.to_query(row, in.indices[e], d, at.dscores[e * heads + head]);
      put(dq + row * in.width + d, sum, accumulate);
    }
  }
}

/// parts [gridDim.x, H D]: dw of a range of rows.
template <class T>
__global__ void weight_parts(Entries<T> in, Backward<T> at, RowParts ranges, double* parts) {
  for (std::int64_t d = threadIdx.x; d < in.width; d += blockDim.x) {
    const std::int64_t head = d / in.depth();
    double sum = 0;
    for (std::int64_t row = ranges.begin(blockIdx.x); row < ranges.end(blockIdx.x); ++row) {
      for (std::int64_t e = in.offsets[row]; e < in.offsets[row + 1]; ++e)
        sum += in.to_weight(row, in.indices[e], d, at.dscores[e * in.form.heads + head]);
    }
    parts[blockIdx.x * in.width + d] = sum;
  }
}

/// Where the gradients of columns go.
template <class T>
struct ColumnSums {
  T *dk, *dv;  // may be null
  bool add_k, add_v;
};

/// Calls body(row) for the rows with an entry in the column, in ascending order.
template <class T, class Body>
__device__ void over_rows_of(const Entries<T>& in, std::int64_t column, const Body& body) {
  if (in.transposed_offsets != nullptr) {
    for (std::int64_t e = in.transposed_offsets[column]; e < in.transposed_offsets[column + 1]; ++e)
      body(std::int64_t{in.transposed_rows[e]});
    return;
  }
  for (std::int64_t row = 0; row < in.rows; ++row) {
    for (std::int64_t e = in.offsets[row]; e < in.offsets[row + 1]; ++e) {
      if (in.indices[e] == column) body(row);
    }
  }
}

template <class T>
__device__ void column_backward(const Entries<T>& in, const Backward<T>& at, const ColumnSums<T>& to,
                                std::int64_t column, std::int64_t head) {
  for (std::int64_t d = head * in.depth(); to.dk != nullptr && d < (head + 1) * in.depth(); ++d) {
    double sum = 0;
    over_rows_of(in, column, [&](std::int64_t row) {
      const double p = at.coefficient(in, row, column, head);
      sum += in.to_key(row, column, d, at.dscore(in, row, column, head, p));
    });
    put(to.dk + column * in.width + d, sum, to.add_k);
  }
  for (std::int64_t d = head * in.value_depth(); to.dv != nullptr && d < (head + 1) * in.value_depth(); ++d) {
    double sum = 0;
    over_rows_of(in, column, [&](std::int64_t row) {
      sum += at.coefficient(in, row, column, head) * static_cast<double>(at.dy[row * in.value_width + d]);
    });
    put(to.dv + column * in.value_width + d, sum, to.add_v);
  }
}

template <class T>
__global__ void columns_backward(Entries<T> in, Backward<T> at, ColumnSums<T> to) {
  for (std::int64_t i = grid_thread(); i < in.columns * in.form.heads; i += grid_threads())
    column_backward(in, at, to, i / in.form.heads, i % in.form.heads);
}

void run_forward(const EdgeAttention& op, KernelContext& context) {
  with_element(op.y.type(), [&](auto zero) {
    using T = decltype(zero);
    launch(context, blocks_for(op.a.rows * op.score.heads, threads), threads, 0, forward<T>, entries_of<T>(op),
           op.y.data<T>(), op.log_sums.data<T>());
  });
}

template <class T>
T* target_of(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

template <class T>
void run_backward_as(const EdgeAttentionBackward& op, const KernelContext& context) {
  const Entries<T> in = entries_of<T>(op);
  const RowParts ranges = row_parts(op.a.rows, op.q.columns(), 32);
  const std::size_t per_entry = scratch_part(op.a.nonzeros * op.score.heads, sizeof(double)),
                    per_part = scratch_part(ranges.count * op.q.columns(), sizeof(double));
  std::byte* scratch = context.scratch(per_entry + per_part);
  auto* parts = reinterpret_cast<double*>(scratch + per_entry);
  const Backward<T> at{op.y.data<T>(), op.log_sums.data<T>(), op.dy.data<T>(), reinterpret_cast<double*>(scratch)};
  launch(context, blocks_for(op.a.rows * op.score.heads, threads), threads, 0, rows_backward<T>, in, at,
         target_of<T>(op.dq), op.accumulate_q);
  if (op.dw.defined() && ranges.count > 0) {
    launch(context, ranges.count, threads, 0, weight_parts<T>, in, at, ranges, parts);
    const std::int64_t width = op.q.columns();
    add_parts(context, parts, ranges.count, width,
              SumTargets<T>{{op.dw.data<T>(), nullptr, nullptr}, {width, width, width}, true});
  }
  const ColumnSums<T> to{target_of<T>(op.dk), target_of<T>(op.dv), op.accumulate_k, op.accumulate_v};
  launch(context, blocks_for(op.a.columns * op.score.heads, threads), threads, 0, columns_backward<T>, in, at, to);
}

void run_backward(const EdgeAttentionBackward& op, KernelContext& context) {
  with_element(op.dy.type(), [&](auto zero) { run_backward_as<decltype(zero)>(op, context); });
}

const RegisterKernel<EdgeAttention> plain{"cuda", {"plain", 0, nullptr, run_forward}};
const RegisterKernel<EdgeAttentionBackward> backward_plain{"cuda", {"plain", 0, nullptr, run_backward}};

}  // namespace edge_attention_plain_kernels
}  // namespace strobe::cuda
