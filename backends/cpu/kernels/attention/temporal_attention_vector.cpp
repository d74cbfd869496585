// Vector attention over a vertex's own past. Vertices are the lanes: a register's worth of them is turned into
// [step][column][lane] in scratch memory, where every score, weight and sum is plain vertical arithmetic on values that
// lie one after the other; their timelines stay in the second-level cache. The backward pass recomputes the weights, so
// nothing of size T^2 is stored. Blocks of vertices are cut into ranges that depend on the number of vertices only;
// sums over vertices are taken in double per range, range after range: nothing depends on the number of threads.
// Cost 2 T^2 F FLOPs and T^2 H / 2 exponentials per vertex forward, 5 T^2 F and the same exponentials backward; each
// tensor is read or written once.
#include <limits>
#include <vector>

#include "backends/cpu/kernels/exponential.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_attention.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t most_ranges = 32;

template <class T>
using Register = Lanes<T, most_lanes<T>>;

/// Registers in scratch memory.
template <class T>
using Registers = std::vector<Register<T>>;

/// Sizes of one block of lanes and its timeline in registers.
template <class T>
struct Block {
  std::int64_t vertices, total, first, width, heads;
  T scale;
  Registers<T> values;   // [total, 3 F]
  Registers<T> weights;  // [total]
  Registers<T> factors;  // [total, to whole fours] of dropout
  const AttentionDropout& dropout;
  std::int64_t vertex = 0;  // of the first lane
  int lanes = 0;

  std::int64_t depth() const { return width / heads; }
  /// Part 0 query, 1 key, 2 value of one head at one step.
  const Register<T>* at(std::int64_t step, int part, std::int64_t head) const {
    return values.data() + (step * 3 + part) * width + head * depth();
  }
};

/// to[c][lane] = from[lane][c] for `lanes` rows that lie `stride` apart; other lanes are zero.
template <class T>
void turn_in(const T* from, std::int64_t stride, int lanes, std::int64_t columns, Register<T>* to) {
  T* out = reinterpret_cast<T*>(to);
  constexpr int P = most_lanes<T>;
  if (lanes < P) std::fill(out, out + columns * P, T{0});
  for (int lane = 0; lane < lanes; ++lane) {
    const T* row = from + lane * stride;
    for (std::int64_t c = 0; c < columns; ++c) out[c * P + lane] = row[c];
  }
}

/// The other way round.
template <class T>
void turn_out(const Register<T>* from, std::int64_t stride, int lanes, std::int64_t columns, T* to) {
  const T* in = reinterpret_cast<const T*>(from);
  constexpr int P = most_lanes<T>;
  for (int lane = 0; lane < lanes; ++lane) {
    T* row = to + lane * stride;
    for (std::int64_t c = 0; c < columns; ++c) row[c] = in[c * P + lane];
  }
}

template <class T, class Op>
Block<T> block_of(const Op& op, std::int64_t vertices) {
  const std::int64_t total = op.first + op.steps, width = op.projected.columns() / 3;
  return {vertices,
          total,
          op.first,
          width,
          op.heads,
          static_cast<T>(op.scale),
          Registers<T>(static_cast<std::size_t>(total * 3 * width)),
          Registers<T>(static_cast<std::size_t>(total)),
          Registers<T>(static_cast<std::size_t>(total + 3)),
          op.dropout};
}

/// The timelines of `lanes` vertices from `vertex` on, offsets added.
template <class T>
void read_block(const Tensor& projected, const Tensor& offsets, std::int64_t vertex, int lanes, Block<T>& block) {
  const std::int64_t columns = 3 * block.width;
  block.vertex = vertex;
  block.lanes = lanes;
  for (std::int64_t t = 0; t < block.total; ++t) {
    Register<T>* to = block.values.data() + t * columns;
    turn_in(projected.data<T>() + (t * block.vertices + vertex) * columns, columns, lanes, columns, to);
    for (std::int64_t c = 0; c < columns; ++c) to[c] += offsets.data<T>()[t * columns + c];
  }
}

// The loops over steps, for C columns that stay in registers. Row s of a matrix lies at m + s * stride.

/// sums[s] += x . m_s for s of [0, count).
template <class T, int C>
void add_products(const Register<T>* x, const Register<T>* m, std::int64_t stride, std::int64_t count,
                  Register<T>* sums) {
  Register<T> own[C];
  for (int c = 0; c < C; ++c) own[c] = x[c];
  for (std::int64_t s = 0; s < count; ++s, m += stride) {
    Register<T> sum = sums[s];
    for (int c = 0; c < C; ++c) sum += own[c] * m[c];
    sums[s] = sum;
  }
}

/// y += sum over s of weights[s] m_s.
template <class T, int C>
void add_weighted(const Register<T>* weights, const Register<T>* m, std::int64_t stride, std::int64_t count,
                  Register<T>* y) {
  Register<T> sum[C];
  for (int c = 0; c < C; ++c) sum[c] = y[c];
  for (std::int64_t s = 0; s < count; ++s, m += stride) {
    for (int c = 0; c < C; ++c) sum[c] += weights[s] * m[c];
  }
  for (int c = 0; c < C; ++c) y[c] = sum[c];
}

/// m_s += weights[s] x.
template <class T, int C>
void spread_weights(const Register<T>* weights, const Register<T>* x, std::int64_t stride, std::int64_t count,
                    Register<T>* m) {
  Register<T> own[C];
  for (int c = 0; c < C; ++c) own[c] = x[c];
  for (std::int64_t s = 0; s < count; ++s, m += stride) {
    const Register<T> weight = weights[s];
    for (int c = 0; c < C; ++c) m[c] += weight * own[c];
  }
}

/// Calls body(first column, number of columns as a constant) for chunks of at most 8 that cover [0, depth).
template <class Body>
void for_chunks(std::int64_t depth, const Body& body) {
  std::int64_t c = 0;
  for (; c + 8 <= depth; c += 8) body(c, std::integral_constant<int, 8>{});
  switch (depth - c) {
    case 1:
      return body(c, std::integral_constant<int, 1>{});
    case 2:
      return body(c, std::integral_constant<int, 2>{});
    case 3:
      return body(c, std::integral_constant<int, 3>{});
    case 4:
      return body(c, std::integral_constant<int, 4>{});
    case 5:
      return body(c, std::integral_constant<int, 5>{});
    case 6:
      return body(c, std::integral_constant<int, 6>{});
    case 7:
      return body(c, std::integral_constant<int, 7>{});
    default:
      return;
  }
}

/// Weights of the query at step t over the steps up to t, not divided by their sum, which is returned.
template <class T>
Register<T> weigh(Block<T>& block, std::int64_t t, std::int64_t head) {
  const std::int64_t stride = 3 * block.width;
  const Register<T>* q = block.at(t, 0, head);
  const Register<T>* k = block.at(0, 1, head);
  Register<T>* weights = block.weights.data();
  std::fill(weights, weights + t + 1, Register<T>{});
  for_chunks(block.depth(), [&](std::int64_t c, auto columns) {
    add_products<T, decltype(columns)::value>(q + c, k + c, stride, t + 1, weights);
  });
  Register<T> largest = broadcast<T, most_lanes<T>>(std::numeric_limits<T>::lowest());
  for (std::int64_t s = 0; s <= t; ++s) {
    weights[s] *= block.scale;
    largest = weights[s] > largest ? weights[s] : largest;
  }
  Register<T> sum{};
  for (std::int64_t s = 0; s <= t; ++s) {
    weights[s] = exponential<T>(weights[s] - largest);
    sum += weights[s];
  }
  return sum;
}

/// Dropout's factors of the query at step t for the steps up to t; AttentionDropout::of_past, four steps a time.
template <class T>
void draw_factors(Block<T>& block, std::int64_t t, std::int64_t head) {
  const AttentionDropout& dropout = block.dropout;
  const std::uint64_t limit = dropout.limit();
  const T kept = static_cast<T>(1.0 / (1.0 - dropout.rate));
  T* out = reinterpret_cast<T*>(block.factors.data());
  for (int lane = 0; lane < block.lanes; ++lane) {
    const std::uint64_t cell = dropout.cell_of(block.vertex + lane, t);
    for (std::int64_t first = 0; first <= t; first += 4) {
      const auto words = dropout.words(cell, static_cast<std::uint32_t>(first / 4), static_cast<std::uint32_t>(head),
                                       random_purpose::past_dropout);
      for (std::int64_t i = 0; i < 4; ++i)
        out[(first + i) * most_lanes<T> + lane] = words[static_cast<std::size_t>(i)] < limit ? T{0} : kept;
    }
  }
}

/// to[s] = from[s] times dropout's factor for the steps up to t.
template <class T>
void drop(const Block<T>& block, std::int64_t t, const Register<T>* from, Register<T>* to) {
  for (std::int64_t s = 0; s <= t; ++s) to[s] = from[s] * block.factors[static_cast<std::size_t>(s)];
}

template <class T>
void forward_query(Block<T>& block, std::int64_t t, std::int64_t head, Register<T>* o) {
  const Register<T> inverse = T{1} / weigh(block, t, head);
  if (block.dropout.drops()) {
    draw_factors(block, t, head);
    drop(block, t, block.weights.data(), block.weights.data());
  }
  const Register<T>* v = block.at(0, 2, head);
  for_chunks(block.depth(), [&](std::int64_t c, auto columns) {
    constexpr int C = decltype(columns)::value;
    std::fill(o + c, o + c + C, Register<T>{});
    add_weighted<T, C>(block.weights.data(), v + c, 3 * block.width, t + 1, o + c);
    for (int i = 0; i < C; ++i) o[c + i] *= inverse;
  });
}

/// Vertices per range: whole registers, at most `most_ranges` ranges.
template <class T>
std::int64_t range_vertices(std::int64_t vertices) {
  const std::int64_t blocks = divide_up(vertices, most_lanes<T>);
  return most_lanes<T> * std::max<std::int64_t>(1, divide_up(blocks, most_ranges));
}

template <class T>
void forward_range(const TemporalAttention& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t n = op.vertices();
  Block<T> block = block_of<T>(op, n);
  Registers<T> o(static_cast<std::size_t>(block.width));
  for (std::int64_t vertex = begin; vertex < end; vertex += most_lanes<T>) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(most_lanes<T>, end - vertex));
    read_block(op.projected, op.offsets, vertex, lanes, block);
    for (std::int64_t t = op.first; t < block.total; ++t) {
      for (std::int64_t head = 0; head < op.heads; ++head)
        forward_query(block, t, head, o.data() + head * block.depth());
      turn_out(o.data(), block.width, lanes, block.width, op.o.data<T>() + ((t - op.first) * n + vertex) * block.width);
    }
  }
}

void run_forward(const TemporalAttention& op, KernelContext& context) {
  if (op.o.elements() == 0) return;
  with_element(op.o.type(), [&](auto zero) {
    using T = decltype(zero);
    for_ranges(context, op.vertices(), range_vertices<T>(op.vertices()),
               [&](std::int64_t begin, std::int64_t end) { forward_range<T>(op, begin, end); });
  });
}

/// Adds the gradients of the query at step t to `grown` [total, 3 F]. `dweights` [total] is scratch.
template <class T>
void backward_query(Block<T>& block, std::int64_t t, std::int64_t head, const Register<T>* d_o, Register<T>* dweights,
                    Register<T>* grown) {
  const std::int64_t stride = 3 * block.width, count = t + 1;
  const Register<T> inverse = T{1} / weigh(block, t, head);
  Register<T>* weights = block.weights.data();
  const Register<T>*q = block.at(t, 0, head), *k = block.at(0, 1, head), *v = block.at(0, 2, head);
  std::fill(dweights, dweights + count, Register<T>{});
  for_chunks(block.depth(), [&](std::int64_t c, auto columns) {
    add_products<T, decltype(columns)::value>(d_o + c, v + c, stride, count, dweights);
  });
  const bool drops = block.dropout.drops();
  if (drops) {
    draw_factors(block, t, head);
    drop(block, t, dweights, dweights);
  }
  Register<T> mean{};
  for (std::int64_t s = 0; s < count; ++s) {
    weights[s] *= inverse;
    mean += weights[s] * dweights[s];
  }
  for (std::int64_t s = 0; s < count; ++s) dweights[s] = block.scale * weights[s] * (dweights[s] - mean);
  if (drops) drop(block, t, weights, weights);
  Register<T>* dq = grown + t * stride + head * block.depth();
  Register<T>* dk = grown + block.width + head * block.depth();
  for_chunks(block.depth(), [&](std::int64_t c, auto columns) {
    constexpr int C = decltype(columns)::value;
    add_weighted<T, C>(dweights, k + c, stride, count, dq + c);
    spread_weights<T, C>(dweights, q + c, stride, count, dk + c);
    spread_weights<T, C>(weights, d_o + c, stride, count, dk + block.width + c);
  });
}

/// One range of vertices; its sums over vertices go to `sums` [total, 3 F].
template <class T>
void backward_range(const TemporalAttentionBackward& op, std::int64_t n, std::int64_t begin, std::int64_t end,
                    double* sums) {
  Block<T> block = block_of<T>(op, n);
  const std::int64_t columns = 3 * block.width;
  Registers<T> d_o(static_cast<std::size_t>(block.width)), dweights(static_cast<std::size_t>(block.total)),
      grown(block.values.size());
  for (std::int64_t vertex = begin; vertex < end; vertex += most_lanes<T>) {
    const int lanes = static_cast<int>(std::min<std::int64_t>(most_lanes<T>, end - vertex));
    read_block(op.projected, op.offsets, vertex, lanes, block);
    std::fill(grown.begin(), grown.end(), Register<T>{});
    for (std::int64_t t = op.first; t < block.total; ++t) {
      turn_in(op.d_o.data<T>() + ((t - op.first) * n + vertex) * block.width, block.width, lanes, block.width,
              d_o.data());
      for (std::int64_t head = 0; head < op.heads; ++head) {
        backward_query(block, t, head, d_o.data() + head * block.depth(), dweights.data(), grown.data());
      }
    }
    for (std::int64_t t = 0; t < block.total; ++t) {
      turn_out(grown.data() + t * columns, columns, lanes, columns,
               op.dprojected.data<T>() + (t * n + vertex) * columns);
    }
    const T* values = reinterpret_cast<const T*>(grown.data());
    for (std::int64_t i = 0; i < block.total * columns; ++i) {
      T sum{0};
      for (int lane = 0; lane < lanes; ++lane) sum += values[i * most_lanes<T> + lane];
      sums[i] += static_cast<double>(sum);
    }
  }
}

template <class T>
void add_ranges(const Tensor& target, const std::vector<double>& sums) {
  const auto stride = static_cast<std::size_t>(target.elements());
  for (std::size_t i = 0; i < stride; ++i) {
    double total = 0;
    for (std::size_t p = i; p < sums.size(); p += stride) total += sums[p];
    target.data<T>()[i] = static_cast<T>(total);
  }
}

void run_backward(const TemporalAttentionBackward& op, KernelContext& context) {
  const std::int64_t n = op.steps == 0 ? 0 : op.d_o.rows() / op.steps;
  with_element(op.d_o.type(), [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t grain = range_vertices<T>(n), stride = op.doffsets.elements();
    std::vector<double> sums(static_cast<std::size_t>(divide_up(n, grain) * stride), 0.0);
    for_ranges(context, n, grain, [&](std::int64_t begin, std::int64_t end) {
      backward_range<T>(op, n, begin, end, sums.data() + begin / grain * stride);
    });
    add_ranges<T>(op.doffsets, sums);
  });
}

const RegisterKernel<TemporalAttention> forward{Numerics::cpu,
                                                {"vector", 10, without_sequences<TemporalAttention>, run_forward}};
const RegisterKernel<TemporalAttentionBackward> backward{
    Numerics::cpu, {"vector", 10, without_sequences<TemporalAttentionBackward>, run_backward}};

}  // namespace
}  // namespace strobe
