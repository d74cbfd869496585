// Vector attention over a vertex's own past. Vertices are the lanes: a register's worth of them is turned into
// [step][column][lane] in scratch memory, where every score, weight and sum is plain vertical arithmetic on values that
// lie one after the other; their timelines stay in the second-level cache. The backward pass recomputes the weights, so
// nothing of size T^2 is stored. Blocks of vertices are cut into ranges that depend on the number of vertices only;
// sums over vertices are taken in double per range, range after range: nothing depends on the number of threads.
// Cost 2 T^2 F FLOPs and T^2 H / 2 exponentials per vertex forward, 5 T^2 F and the same exponentials backward; each
// tensor is read or written once.
#include <limits>
#include <vector>

#include "backends/cpu/kernels/attention/past_lanes.hpp"
#include "backends/cpu/kernels/exponential.hpp"
#include "backends/cpu/kernels/support.hpp"
#include "backends/operations/operations_attention.hpp"

namespace strobe {
namespace {

using namespace cpu;
using namespace cpu::past_lanes;

constexpr std::int64_t most_ranges = 32;

/// Sizes of one block of lanes and its timeline in registers.
template <class T>
struct Block {
  std::int64_t vertices, total, first, width, heads;
  T scale;
  Registers<T> values;   // [total, 3 F]
  Registers<T> weights;  // [total]
  Registers<T> factors;  // [total, to whole fours] of dropout
  const AttentionDropout& dropout;
  const std::int32_t* sequences;  // [total * vertices, 3] of packed sequences
  std::int64_t vertex = 0;        // of the first lane
  int lanes = 0;

  std::int64_t depth() const { return width / heads; }
  /// Part 0 query, 1 key, 2 value of one head at one step.
  const Register<T>* at(std::int64_t step, int part, std::int64_t head) const {
    return values.data() + (step * 3 + part) * width + head * depth();
  }
  /// Packed sequences only: begin, step in the graph, and wanted flag of the row at `step` of a lane.
  const std::int32_t* row(std::int64_t step, int lane) const {
    return sequences + 3 * (step * vertices + vertex + lane);
  }
};

/// The queries of all lanes at step t: they look at the steps from `low` on, and all of them at those from `high` on.
template <class T>
struct Query {
  std::int64_t t, low = 0, high = 0;
  bool any = true, all = true;    // whether some, and all, outputs are wanted
  Register<T> begin{}, wanted{};  // of each lane, its first step where its output is wanted; and 1 there

  explicit Query(std::int64_t step) : t(step) {}

  /// A value of the lanes whose output is wanted, zero of the others.
  Register<T> keep_wanted(Register<T> value) const { return wanted > Register<T>{} ? value : Register<T>{}; }
  /// A value of the lanes that look at step s, else `other`.
  Register<T> keep_seen(std::int64_t s, Register<T> value, Register<T> other) const {
    return broadcast<T, most_lanes<T>>(static_cast<T>(s)) >= begin ? value : other;
  }
};

template <class T>
Query<T> query_at(const Block<T>& block, std::int64_t t) {
  Query<T> query(t);
  if (block.sequences == nullptr) return query;
  query.low = t + 1;
  query.any = false;
  for (int lane = 0; lane < block.lanes; ++lane) {
    const std::int32_t* row = block.row(t, lane);
    query.any = query.any || row[2] != 0;
    query.all = query.all && row[2] != 0;
    if (row[2] == 0) continue;
    query.wanted[lane] = T{1};
    query.begin[lane] = static_cast<T>(row[0]);
    query.low = std::min<std::int64_t>(query.low, row[0]);
    query.high = std::max<std::int64_t>(query.high, row[0]);
  }
  return query;
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
          op.dropout,
          op.sequences.template data<std::int32_t>()};
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
    for (std::int64_t c = 0; offsets.defined() && c < columns; ++c) to[c] += offsets.data<T>()[t * columns + c];
  }
}

/// Weights of a query over the steps from query.low up to its own, not divided by their sum, which is returned.
template <class T>
Register<T> weigh(Block<T>& block, const Query<T>& query, std::int64_t head) {
  const std::int64_t stride = 3 * block.width, t = query.t, low = query.low;
  const Register<T> lowest = broadcast<T, most_lanes<T>>(std::numeric_limits<T>::lowest());
  const Register<T>* q = block.at(t, 0, head);
  const Register<T>* k = block.at(low, 1, head);
  Register<T>* weights = block.weights.data();
  std::fill(weights + low, weights + t + 1, Register<T>{});
  for_chunks(block.depth(), [&](std::int64_t c, auto columns) {
    add_products<T, decltype(columns)::value>(q + c, k + c, stride, t + 1 - low, weights + low);
  });
  Register<T> largest = lowest;
  const auto scale = [&](std::int64_t s) {
    weights[s] *= block.scale;
    return weights[s];
  };
  for (std::int64_t s = low; s < query.high; ++s) {
    const Register<T> seen = query.keep_seen(s, scale(s), lowest);
    largest = seen > largest ? seen : largest;
  }
  for (std::int64_t s = query.high; s <= t; ++s) {
    scale(s);
    largest = weights[s] > largest ? weights[s] : largest;
  }
  Register<T> sum{};
  for (std::int64_t s = low; s < query.high; ++s) {
    weights[s] = query.keep_seen(s, exponential<T>(weights[s] - largest), Register<T>{});
    sum += weights[s];
  }
  for (std::int64_t s = query.high; s <= t; ++s) {
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
      for (std::int64_t i = 0; i < 4; ++i) out[(first + i) * most_lanes<T> + lane] = words[i] < limit ? T{0} : kept;
    }
  }
}

/// The same of packed sequences, whose steps are those of the graph, where an output is wanted.
template <class T>
void draw_packed_factors(Block<T>& block, std::int64_t t, std::int64_t head) {
  const AttentionDropout& dropout = block.dropout;
  const std::uint64_t limit = dropout.limit();
  const T kept = static_cast<T>(1.0 / (1.0 - dropout.rate));
  T* out = reinterpret_cast<T*>(block.factors.data());
  for (int lane = 0; lane < block.lanes; ++lane) {
    const std::int32_t* own = block.row(t, lane);
    if (own[2] == 0) continue;
    const std::uint64_t cell = dropout.cell_of(t * block.vertices + block.vertex + lane, own[1]);
    std::int32_t drawn = -1;
    std::array<std::uint32_t, 4> words{};
    for (std::int64_t s = own[0]; s <= t; ++s) {
      const std::int32_t step = block.row(s, lane)[1];
      if (step / 4 != drawn) {
        drawn = step / 4;
        words = dropout.words(cell, static_cast<std::uint32_t>(drawn), static_cast<std::uint32_t>(head),
                              random_purpose::past_dropout);
      }
      out[s * most_lanes<T> + lane] = words[step % 4] < limit ? T{0} : kept;
    }
  }
}

/// Draws the factors of a query of one head.
template <class T>
void draw(Block<T>& block, const Query<T>& query, std::int64_t head) {
  if (block.sequences == nullptr) return draw_factors(block, query.t, head);
  draw_packed_factors(block, query.t, head);
}

/// to[s] = from[s] times dropout's factor for the steps that a query looks at.
template <class T>
void drop(const Block<T>& block, const Query<T>& query, const Register<T>* from, Register<T>* to) {
  for (std::int64_t s = query.low; s <= query.t; ++s) to[s] = from[s] * block.factors[s];
}

template <class T>
void forward_query(Block<T>& block, const Query<T>& query, std::int64_t head, Register<T>* o) {
  const Register<T> inverse = T{1} / weigh(block, query, head);
  if (block.dropout.drops()) {
    draw(block, query, head);
    drop(block, query, block.weights.data(), block.weights.data());
  }
  const Register<T>* v = block.at(query.low, 2, head);
  for_chunks(block.depth(), [&](std::int64_t c, auto columns) {
    constexpr int C = decltype(columns)::value;
    std::fill(o + c, o + c + C, Register<T>{});
    add_weighted<T, C>(block.weights.data() + query.low, v + c, 3 * block.width, query.t + 1 - query.low, o + c);
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
      const Query<T> query = query_at(block, t);
      for (std::int64_t head = 0; query.any && head < op.heads; ++head)
        forward_query(block, query, head, o.data() + head * block.depth());
      if (block.sequences != nullptr && !query.all)
        for (Register<T>& value : o) value = query.keep_wanted(value);
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

/// Adds the gradients of a query to `grown` [total, 3 F]. `dweights` [total] is scratch.
template <class T>
void backward_query(Block<T>& block, const Query<T>& query, std::int64_t head, const Register<T>* d_o,
                    Register<T>* dweights, Register<T>* grown) {
  const std::int64_t stride = 3 * block.width, low = query.low, count = query.t + 1 - low;
  const Register<T> inverse = T{1} / weigh(block, query, head);
  Register<T>* weights = block.weights.data();
  const Register<T>*q = block.at(query.t, 0, head), *k = block.at(low, 1, head), *v = block.at(low, 2, head);
  std::fill(dweights + low, dweights + query.t + 1, Register<T>{});
  for_chunks(block.depth(), [&](std::int64_t c, auto columns) {
    add_products<T, decltype(columns)::value>(d_o + c, v + c, stride, count, dweights + low);
  });
  const bool drops = block.dropout.drops();
  if (drops) {
    draw(block, query, head);
    drop(block, query, dweights, dweights);
  }
  Register<T> mean{};
  for (std::int64_t s = low; s <= query.t; ++s) {
    weights[s] *= inverse;
    mean += weights[s] * dweights[s];
  }
  for (std::int64_t s = low; s <= query.t; ++s) dweights[s] = block.scale * weights[s] * (dweights[s] - mean);
  if (drops) drop(block, query, weights, weights);
  Register<T>* dq = grown + query.t * stride + head * block.depth();
  Register<T>* dk = grown + low * stride + block.width + head * block.depth();
  for_chunks(block.depth(), [&](std::int64_t c, auto columns) {
    constexpr int C = decltype(columns)::value;
    add_weighted<T, C>(dweights + low, k + c, stride, count, dq + c);
    spread_weights<T, C>(dweights + low, q + c, stride, count, dk + c);
    spread_weights<T, C>(weights + low, d_o + c, stride, count, dk + block.width + c);
  });
}

/// sums [total, 3 F] += the sums of `grown` over the block's lanes.
template <class T>
void add_lanes(const Block<T>& block, const Registers<T>& grown, double* sums) {
  const T* values = reinterpret_cast<const T*>(grown.data());
  for (std::int64_t i = 0; i < block.total * 3 * block.width; ++i) {
    T sum{0};
    for (int lane = 0; lane < block.lanes; ++lane) sum += values[i * most_lanes<T> + lane];
    sums[i] += static_cast<double>(sum);
  }
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
      const Query<T> query = query_at(block, t);
      if (!query.any) continue;
      turn_in(op.d_o.data<T>() + ((t - op.first) * n + vertex) * block.width, block.width, lanes, block.width,
              d_o.data());
      if (block.sequences != nullptr && !query.all)
        for (Register<T>& value : d_o) value = query.keep_wanted(value);
      for (std::int64_t head = 0; head < op.heads; ++head) {
        backward_query(block, query, head, d_o.data() + head * block.depth(), dweights.data(), grown.data());
      }
    }
    for (std::int64_t t = 0; t < block.total; ++t) {
      turn_out(grown.data() + t * columns, columns, lanes, columns,
               op.dprojected.data<T>() + (t * n + vertex) * columns);
    }
    if (op.doffsets.defined()) add_lanes(block, grown, sums);
  }
}

template <class T>
void add_ranges(const Tensor& target, const std::vector<double>& sums) {
  const std::size_t stride = target.elements();
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
    std::vector<double> sums(divide_up(n, grain) * stride, 0.0);
    for_ranges(context, n, grain, [&](std::int64_t begin, std::int64_t end) {
      backward_range<T>(op, n, begin, end, sums.data() + begin / grain * stride);
    });
    add_ranges<T>(op.doffsets, sums);
  });
}

const RegisterKernel<TemporalAttention> forward{"cpu", {"vector", 10, nullptr, run_forward}};
const RegisterKernel<TemporalAttentionBackward> backward{"cpu", {"vector", 10, nullptr, run_backward}};

}  // namespace
}  // namespace strobe
