// Vector graph attention, for narrow heads over very many rows. LeakyReLU is the larger of x and slope x, so
// exp(LeakyReLU(l + r)) = max(exp(l) exp(r), exp(slope l) exp(slope r)): with exponentials of every vertex's scores
// taken once, an entry costs a product and a maximum per head, and no exponential. A factor that belongs to the row
// cancels in the softmax. This holds while scores stay within a range that is checked first; beyond it every entry
// takes one register's exp of all its heads, with the row's maximum taken off. Backward needs no pass over the rows'
// entries: with G_i = dz_i / (row sum) a column adds up U = sum w_ij G_i, V = sum w_ij s_ij G_i and a mean, from which
// the gradients of f_j and of its score follow; the transposed matrix gives the columns. Sums over rows are taken in
// double per range of rows, range after range, and ranges depend on shapes and the matrix only: nothing depends on the
// number of threads. Cost 4 nnz H D FLOPs forward and again backward; one row of f (or G) and of the scores out of
// cache per entry.
#include <limits>
#include <vector>

#include "backends/cpu/kernels/attention/graph_attention_parts.hpp"
#include "backends/cpu/kernels/exponential.hpp"
#include "backends/cpu/kernels/lane_math.hpp"
#include "backends/cpu/kernels/sparse/gather.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::uint64_t most_head_bytes = std::min(32, register_bytes);  // heads are lanes of one register

template <class Op>
bool is_supported(const Op& op) {
  const std::uint64_t head_bytes = static_cast<std::uint64_t>(op.heads) * element_bytes(op.f.type());
  return !op.weighted && op.f.row_bytes() <= most_feature_registers * register_bytes && head_bytes <= most_head_bytes;
}

bool is_backward_supported(const GraphAttentionBackward& op) {
  return is_supported(op) && op.a.transposed_offsets.defined();
}

/// An entry's weight before it is divided by the row's sum, and the weight times LeakyReLU's slope there.
template <class T, int P>
struct EntryWeight {
  Lanes<T, P> weight, tilted;

  /// From the products of exponentials.
  [[gnu::always_inline]] static EntryWeight of_products(Lanes<T, P> up, Lanes<T, P> low) {
    return {up > low ? up : low, up > low ? up : low * static_cast<T>(leaky_slope)};
  }
  /// exp(LeakyReLU(score) - shift).
  [[gnu::always_inline]] static EntryWeight of_score(Lanes<T, P> score, Lanes<T, P> shift) {
    const Lanes<T, P> zero{}, low = score * static_cast<T>(leaky_slope);
    const Lanes<T, P> weight = exponential<T, P>((score > zero ? score : low) - shift);
    return {weight, score > zero ? weight : weight * static_cast<T>(leaky_slope)};
  }
  [[gnu::always_inline]] void drop(Lanes<T, P> factors) {
    weight *= factors;
    tilted *= factors;
  }
};

/// Dropout's factors of all heads of the edge from `column` to `row`; other lanes mean nothing. Its ten rounds cost far
/// more than a call.
template <class T, int P>
[[gnu::noinline]] Lanes<T, P> edge_factors(const AttentionDropout& dropout, std::int64_t row, std::int64_t column,
                                           std::int64_t heads) {
  const std::uint64_t cell = dropout.ids.data<std::int64_t>()[row];
  const auto vertex = static_cast<std::uint32_t>(dropout.columns.data<std::int32_t>()[column]);
  const std::uint64_t limit = dropout.limit();
  const T kept = static_cast<T>(1.0 / (1.0 - dropout.rate));
  Lanes<T, P> factors{};
  for (std::int64_t first = 0; first < heads; first += 4) {
    const auto words = dropout.words(cell, vertex, static_cast<std::uint32_t>(first / 4), random_purpose::edge_dropout);
    for (int i = 0; i < 4 && first + i < P; ++i) factors[first + i] = words[i] < limit ? T{0} : kept;
  }
  return factors;
}

/// The arrays that rows of the forward pass read and write.
template <class T>
struct ForwardView {
  CompressedView<T> a;
  const T *f, *columns, *rows;  // rows of f; AttentionScores
  T *y, *z, *slopes, *stats;
  std::int64_t width, heads;
  const AttentionDropout& dropout;
};

/// The largest logit of row r.
template <class T, int P>
Lanes<T, P> largest_logit(const ForwardView<T>& view, std::int64_t r) {
  Lanes<T, P> most = broadcast<T, P>(std::numeric_limits<T>::lowest());
  for (std::int64_t k = view.a.offsets[r]; k < view.a.offsets[r + 1]; ++k) {
    const Lanes<T, P> score = load<T, P>(view.columns + static_cast<std::int64_t>(view.a.indices[k]) * 2 * view.heads);
    most = score > most ? score : most;
  }
  most += load<T, P>(view.rows + r * 3 * view.heads);
  return most > Lanes<T, P>{} ? most : most * static_cast<T>(leaky_slope);
}

/// The registers of a row. K in range, where a loop of K keeps its sums in registers. Out of range they are counted at
/// run time, where exponentials and random numbers take most of the time and sums may lie in memory.
template <bool InRange, class T, int P, int K>
[[gnu::always_inline]] inline int registers_of(const HeadLanes<T, P, K>& spread) {
  return InRange ? K : spread.registers();
}

/// Calls body(P, K, InRange) with what forward_range and backward_range are compiled for.
template <class T, class Body>
void with_rows_of(std::int64_t width, bool in_range, const Body& body) {
  if (in_range) {
    with_registers<T>(width, [&](auto lanes, auto registers) { body(lanes, registers, std::true_type{}); });
  } else {
    with_half_or_whole<T>(width, [&](auto lanes) {
      body(lanes, std::integral_constant<int, most_feature_registers>{}, std::false_type{});
    });
  }
}

/// Divides the sums of row r and writes its outputs.
template <class T, int P, int K, bool InRange>
[[gnu::always_inline]] inline void store_row(const ForwardView<T>& view, const HeadLanes<T, P, K>& spread,
                                             std::int64_t r, Lanes<T, P> inverse, const Lanes<T, P> (&z)[K],
                                             const Lanes<T, P> (&slopes)[K]) {
  for (int i = 0; i < registers_of<InRange>(spread); ++i) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(P, view.width - i * P));
    const Lanes<T, P> share = spread.over(i, inverse), result = z[i] * share;
    const std::int64_t at = r * view.width + i * P;
    store_first<T, P>(view.z + at, result, lanes);
    store_first<T, P>(view.slopes + at, slopes[i] * share, lanes);
    store_first<T, P>(view.y + at, result > Lanes<T, P>{} ? result : exp_minus_one<T, P>(result), lanes);
  }
}

/// Row r with K registers of P lanes; out of range, where time matters less, each entry asks whether edges are dropped.
/// log(sum_out) + shift_out, both [H], is the logarithm of the row's sum.
template <class T, int P, int K, bool InRange>
[[gnu::always_inline]] inline void forward_row(const ForwardView<T>& view, const HeadLanes<T, P, K>& spread,
                                               std::int64_t r, T* sum_out, T* shift_out) {
  using V = Lanes<T, P>;
  const std::int64_t heads = view.heads;
  const V own = load<T, P>(view.rows + r * 3 * heads), factor = load<T, P>(view.rows + (r * 3 + 1) * heads);
  const V shift = InRange ? V{} : largest_logit<T, P>(view, r);
  const int registers = registers_of<InRange>(spread);
  V sum{}, sloped{}, z[K], slopes[K];
  for (int i = 0; i < registers; ++i) z[i] = slopes[i] = V{};
  for (std::int64_t k = view.a.offsets[r]; k < view.a.offsets[r + 1]; ++k) {
    const std::int64_t column = view.a.indices[k];
    const T* scores = view.columns + column * 2 * heads;
    auto entry = InRange ? EntryWeight<T, P>::of_products(own * load<T, P>(scores), load<T, P>(scores + heads))
                         : EntryWeight<T, P>::of_score(own + load<T, P>(scores), shift);
    sum += entry.weight;
    sloped += entry.tilted;
    if (!InRange && view.dropout.drops()) entry.drop(edge_factors<T, P>(view.dropout, r, column, heads));
    const T* f = view.f + column * view.width;
    for (int i = 0; i < registers; ++i) {
      const V values = load<T, P>(f + i * P);
      z[i] += spread.over(i, entry.weight) * values;
      slopes[i] += spread.over(i, entry.tilted) * values;
    }
  }
  const bool any = view.a.offsets[r] != view.a.offsets[r + 1];
  const V inverse = any ? T{1} / sum : V{};
  const int lanes = static_cast<int>(heads);
  store_first<T, P>(sum_out, any ? (InRange ? sum * factor : sum) : broadcast<T, P>(T{1}), lanes);
  store_first<T, P>(shift_out, any ? shift : V{}, lanes);
  store_first<T, P>(view.stats + (r * 2 + 1) * heads, sloped * inverse, lanes);
  store_row<T, P, K, InRange>(view, spread, r, inverse, z, slopes);
}

template <class T, int P, int K, bool InRange>
void forward_range(const ForwardView<T>& view, std::int64_t begin, std::int64_t end) {
  constexpr int most = most_lanes<T>;
  const HeadLanes<T, P, K> spread(view.width, view.heads);
  T sums[attention_block * most], shifts[attention_block * most];
  for (std::int64_t first = begin; first < end; first += attention_block) {
    const std::int64_t count = std::min(attention_block, end - first), total = count * view.heads;
    for (std::int64_t i = 0; i < count; ++i) {
      forward_row<T, P, K, InRange>(view, spread, first + i, sums + i * view.heads, shifts + i * view.heads);
    }
    for (std::int64_t i = 0; i < total; i += most) {
      const int lanes = static_cast<int>(std::min<std::int64_t>(most, total - i));
      const auto shift = load_first<T, most>(shifts + i, lanes), sum = load_first<T, most>(sums + i, lanes);
      store_first<T, most>(sums + i, logarithm<T>(sum) + shift, lanes);
    }
    for (std::int64_t i = 0; i < total; ++i) {
      view.stats[(first + i / view.heads) * 2 * view.heads + i % view.heads] = sums[i];
    }
  }
}

template <class T>
void run_forward_as(const GraphAttention& op, KernelContext& context) {
  const AttentionScores<T> scores(op, context);
  const ForwardView<T> view{compressed<T>(op.a), op.f.data<T>(), scores.columns(),    scores.rows(),
                            op.y.data<T>(),      op.z.data<T>(), op.slopes.data<T>(), op.row_stats.data<T>(),
                            op.f.columns(),      op.heads,       op.dropout};
  const std::vector<std::int64_t> bounds = balanced_rows(view.a);
  with_rows_of<T>(view.width, scores.in_range(), [&](auto lanes, auto registers, auto in_range) {
    run_tasks(context, static_cast<std::int64_t>(bounds.size()) - 1, [&](std::int64_t i) {
      const std::int64_t begin = bounds[i], end = bounds[static_cast<std::size_t>(i) + 1];
      forward_range<T, lanes(), registers(), in_range()>(view, begin, end);
    });
  });
}

void run_forward(const GraphAttention& op, KernelContext& context) {
  with_element(op.f.type(), [&](auto zero) { run_forward_as<decltype(zero)>(op, context); });
}

const RegisterKernel<GraphAttention> forward{"cpu", {"vector", 10, is_supported<GraphAttention>, run_forward}};

/// The arrays that columns of the backward pass read and write (AttentionScores, RowGradients).
template <class T>
struct BackwardView {
  CompressedView<T> a;  // the transpose
  const T *columns, *rows, *g, *f;
  T *u, *products, *tilted_means;  // [C, H D] sums U; scratch of a block: V f [., H D] and means [., H]
  std::int64_t width, heads;
  bool accumulate;
  const AttentionDropout& dropout;
};

/// One column; `slot` is its place in the scratch arrays.
template <class T, int P, int K, bool InRange>
[[gnu::always_inline]] inline void backward_column(const BackwardView<T>& view, const HeadLanes<T, P, K>& spread,
                                                   std::int64_t c, std::int64_t slot) {
  using V = Lanes<T, P>;
  const std::int64_t heads = view.heads;
  const V own = load<T, P>(view.columns + c * 2 * heads), low = load<T, P>(view.columns + (c * 2 + 1) * heads);
  const int registers = registers_of<InRange>(spread);
  V mean{}, u[K], v[K];
  for (int i = 0; i < registers; ++i) u[i] = v[i] = V{};
  for (std::int64_t k = view.a.offsets[c]; k < view.a.offsets[c + 1]; ++k) {
    const std::int64_t r = view.a.indices[k];
    const T* row = view.rows + r * 3 * heads;
    auto entry = InRange ? EntryWeight<T, P>::of_products(own * load<T, P>(row), low)
                         : EntryWeight<T, P>::of_score(own + load<T, P>(row), load<T, P>(row + 2 * heads));
    mean += entry.tilted * load<T, P>(row + heads);
    if (!InRange && view.dropout.drops()) entry.drop(edge_factors<T, P>(view.dropout, r, c, heads));
    const T* g = view.g + r * view.width;
    for (int i = 0; i < registers; ++i) {
      const V values = load<T, P>(g + i * P);
      u[i] += spread.over(i, entry.weight) * values;
      v[i] += spread.over(i, entry.tilted) * values;
    }
  }
  store_first<T, P>(view.tilted_means + slot * view.heads, mean, static_cast<int>(view.heads));
  for (int i = 0; i < registers; ++i) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(P, view.width - i * P));
    T* to = view.u + c * view.width + i * P;
    if (view.accumulate) u[i] += load_first<T, P>(to, lanes);
    store_first<T, P>(to, u[i], lanes);
    store_first<T, P>(view.products + slot * view.width + i * P,
                      v[i] * load_row<T, P>(view.f + c * view.width + i * P, lanes), lanes);
  }
}

/// Columns [begin, end): U into df, then the scores' gradients, which go into df and into `sums` [H D, 2 H].
template <class T, int P, int K, bool InRange>
void backward_range(const BackwardView<T>& view, const AttentionMatrices<T>& matrices, const T* dleft_scores,
                    std::int64_t own_rows, std::int64_t begin, std::int64_t end, double* sums) {
  const HeadLanes<T, P, K> spread(view.width, view.heads);
  const std::int64_t heads = view.heads;
  std::vector<T> products(attention_block * view.width + most_lanes<T>),
      means(static_cast<std::size_t>(attention_block * heads + most_lanes<T>)),
      dscores(static_cast<std::size_t>(attention_block * 2 * heads + most_lanes<T>));
  BackwardView<T> part = view;
  part.products = products.data();
  part.tilted_means = means.data();
  for (std::int64_t first = begin; first < end; first += attention_block) {
    const std::int64_t count = std::min(attention_block, end - first);
    for (std::int64_t c = first; c < first + count; ++c) backward_column<T, P, K, InRange>(part, spread, c, c - first);
    matrices.add_up_heads(products.data(), count, dscores.data() + heads, 2 * heads);
    for (std::int64_t c = 0; c < count; ++c) {
      for (std::int64_t h = 0; h < heads; ++h) {
        dscores[(c * 2 + 1) * heads + h] -= means[c * heads + h];
        dscores[c * 2 * heads + h] = first + c < own_rows ? dleft_scores[(first + c) * heads + h] : T{0};
      }
    }
    matrices.spread_scores(dscores.data(), count, part.u + first * view.width);
    matrices.add_vector_gradients(view.f + first * view.width, dscores.data(), count, sums);
  }
}

template <class T>
void run_backward_as(const GraphAttentionBackward& op, KernelContext& context) {
  const AttentionScores<T> scores(op, context);
  const AttentionMatrices<T> matrices(op.left, op.right, op.heads);
  const RowGradients<T> rows(op, matrices, scores, context);
  const BackwardView<T> view{compressed_transpose<T>(op.a),
                             scores.columns(),
                             scores.rows(),
                             rows.g(),
                             op.f.data<T>(),
                             op.df.data<T>(),
                             nullptr,
                             nullptr,
                             op.f.columns(),
                             op.heads,
                             op.accumulate_df,
                             op.dropout};
  const std::vector<std::int64_t> bounds = balanced_rows(view.a);
  const std::int64_t tasks = static_cast<std::int64_t>(bounds.size()) - 1, stride = view.width * 2 * view.heads;
  std::vector<double> sums(tasks * stride, 0.0);
  with_rows_of<T>(view.width, scores.in_range(), [&](auto lanes, auto registers, auto in_range) {
    run_tasks(context, tasks, [&](std::int64_t i) {
      const std::int64_t begin = bounds[i], end = bounds[static_cast<std::size_t>(i) + 1];
      backward_range<T, lanes(), registers(), in_range()>(view, matrices, rows.dleft_scores(), op.a.rows, begin, end,
                                                          sums.data() + i * stride);
    });
  });
  matrices.put_vector_gradients(sums, op.dleft, op.dright);
}

void run_backward(const GraphAttentionBackward& op, KernelContext& context) {
  with_element(op.f.type(), [&](auto zero) { run_backward_as<decltype(zero)>(op, context); });
}

const RegisterKernel<GraphAttentionBackward> backward{"cpu", {"vector", 10, is_backward_supported, run_backward}};

}  // namespace
}  // namespace strobe
