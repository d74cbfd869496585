// Vector attention of roots over their sampled neighbours and its gradient: columns of a head, or of a code, are the
// lanes of products and sums, slots those of the softmax. A root's keys are read in one walk over its slots and its
// values in another, so that each line of the gathered rows is read from memory once, and is asked for some slots
// before. A root writes rows of its own only: nothing depends on the number of threads. Cost per slot 4 (F + H C) FLOPs
// forward, 6 F + 8 H C backward; rows of codes are streamed, those of vertices gathered.
#include <limits>
#include <vector>

#include "backends/cpu/kernels/attention/neighbour_attention_parts.hpp"
#include "backends/cpu/kernels/exponential.hpp"

namespace strobe {
namespace {

using namespace cpu;

constexpr std::int64_t roots_per_task = 32;
constexpr std::int64_t slots_ahead = 6;  // whose rows of `vertex` are asked for
constexpr std::int64_t line_bytes = 64;

/// The sum of v's lanes, as a tree.
template <class T, int P>
[[gnu::always_inline]] inline T add_lanes(Lanes<T, P> v) {
  if constexpr (P == 1) {
    return v;
  } else if constexpr (P == 2) {
    return v[0] + v[1];
  } else {
    return [&]<std::size_t... L>(std::index_sequence<L...>) {
      constexpr int half = P / 2;
      return add_lanes<T, half>(__builtin_shufflevector(v, v, static_cast<int>(L)...) +
                                __builtin_shufflevector(v, v, (half + static_cast<int>(L))...));
    }
    (std::make_index_sequence<P / 2>{});
  }
}

/// A range of roots: its arrays, and values of one root's slots by head, [H, stride] each.
template <class T>
class RootRange {
 public:
  const NeighbourView<T>& view;
  const NeighbourDropout& dropout;
  std::int64_t begin, end;  // slots of the root at hand

  RootRange(const NeighbourView<T>& arrays, const NeighbourDropout& factors, std::int64_t first, std::int64_t last)
      : view(arrays), dropout(factors), begin(0), end(0), last_slot_(arrays.offsets[last]) {
    std::int64_t most = 1;
    for (std::int64_t r = first; r < last; ++r) most = std::max(most, view.offsets[r + 1] - view.offsets[r]);
    stride_ = divide_up(most, most_lanes<T>) * most_lanes<T>;
    values_.assign(3 * view.heads * stride_, T{0});
  }

  void enter(std::int64_t root) {
    begin = view.offsets[root];
    end = view.offsets[root + 1];
    if (dropout.drops()) draw(root);
    for (std::int64_t head = 0; head < view.heads; ++head) {
      for (std::int64_t s = slots(); s % most_lanes<T> != 0; ++s) first(head)[s] = std::numeric_limits<T>::lowest();
    }
  }
  std::int64_t slots() const { return end - begin; }
  /// Values after the slots, to the end of a register, have no weight in a softmax.
  T* first(std::int64_t head) { return values_.data() + head * stride_; }
  T* second(std::int64_t head) { return values_.data() + (view.heads + head) * stride_; }
  /// Dropout's factors; to be read only where it drops.
  T* factors(std::int64_t head) { return values_.data() + (2 * view.heads + head) * stride_; }

  const T* of_vertex(std::int64_t s) const { return view.vertex + view.rows[s] * 2 * view.width; }
  const T* of_code(std::int64_t s) const { return view.code + s * view.codes; }
  /// Prefetches the half of a row of `vertex` that a slot after s will read; part 0 has keys, part 1 values.
  [[gnu::always_inline]] void look_ahead(std::int64_t s, int part) const {
    if (s + slots_ahead >= last_slot_) return;
    const auto* half = reinterpret_cast<const std::byte*>(of_vertex(s + slots_ahead) + part * view.width);
    const auto bytes = view.width * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t at = 0; at < bytes; at += line_bytes) __builtin_prefetch(half + at);
    __builtin_prefetch(half + bytes - 1);
  }

 private:
  void draw(std::int64_t root) {
    const auto limit = static_cast<std::uint64_t>(dropout.rate * 0x1.0p32);
    const T kept = static_cast<T>(1.0 / (1.0 - dropout.rate));
    for (std::int64_t s = 0; s < slots(); ++s) {
      for (std::int64_t head = 0; head < view.heads; head += 4) {
        const auto words = neighbour_words(dropout, root, s, head / 4);
        for (std::int64_t i = 0; i < std::min<std::int64_t>(4, view.heads - head); ++i)
          factors(head + i)[s] = words[i] < limit ? T{0} : kept;
      }
    }
  }

  std::int64_t last_slot_, stride_;
  std::vector<T> values_;
};

/// x . y over `columns` columns.
template <class T, int P>
[[gnu::always_inline]] inline T product(const T* x, const T* y, std::int64_t columns) {
  Lanes<T, P> sum{};
  std::int64_t c = 0;
  for (; c + P <= columns; c += P) sum += load<T, P>(x + c) * load<T, P>(y + c);
  if constexpr (P > 1) {
    const int n = static_cast<int>(columns - c);
    if (n > 0) sum += load_row<T, P>(x + c, n) * keep_first<T, P>(load<T, P>(y + c), n);
  }
  return add_lanes<T, P>(sum);
}

/// to(head)[s] = x . (keys, or values, of slot s) + x_code . code of slot s for every head of the root at hand; x and
/// x_code are the root's rows.
template <class T, int P, class To>
void take_products(RootRange<T>& range, const T* x, const T* x_code, int part, const To& to) {
  const std::int64_t depth = range.view.depth, codes = range.view.codes;
  for (std::int64_t s = range.begin; s < range.end; ++s) {
    range.look_ahead(s, part);
    const T *vertex = range.of_vertex(s) + part * range.view.width, *code = range.of_code(s);
    for (std::int64_t head = 0; head < range.view.heads; ++head) {
      to(head)[s - range.begin] = product<T, P>(x + head * depth, vertex + head * depth, depth) +
                                  product<T, most_lanes<T>>(x_code + head * codes, code, codes);
    }
  }
}

/// Turns the products of one head into its coefficients.
template <class T>
void take_softmax(const NeighbourScale& scale, T* values, std::int64_t count) {
  constexpr int P = most_lanes<T>;
  using V = Lanes<T, P>;
  const T factor = static_cast<T>(scale.factor), slope = scale.is_leaky ? static_cast<T>(leaky_slope) : factor;
  V most = broadcast<T, P>(std::numeric_limits<T>::lowest());
  for_lanes<T>(0, count, [&](std::int64_t i, int) {
    const V product = load<T, P>(values + i), score = product > V{} ? product * factor : product * slope;
    store_first<T, P>(values + i, score, P);
    most = score > most ? score : most;
  });
  T largest = most[0];
  for (int l = 1; l < P; ++l) largest = std::max(largest, most[l]);
  V sum{};
  for_lanes<T>(0, count, [&](std::int64_t i, int n) {
    const V weight = keep_first<T, P>(exponential<T, P>(load<T, P>(values + i) - largest), n);  // none is quite 0
    store_first<T, P>(values + i, weight, P);
    sum += weight;
  });
  const T inverse = T{1} / add_lanes<T, P>(sum);
  for_lanes<T>(0, count,
               [&](std::int64_t i, int) { store_first<T, P>(values + i, load<T, P>(values + i) * inverse, P); });
}

/// Calls body(column, K as a constant, lanes of each) for K registers of P lanes that cover [0, depth).
template <int P, class Body>
[[gnu::always_inline]] inline void for_columns(std::int64_t depth, const Body& body) {
  std::int64_t c = 0;
  for (; c + 4 * P <= depth; c += 4 * P) body(c, std::integral_constant<int, 4>{}, P);
  for (; c + P <= depth; c += P) body(c, std::integral_constant<int, 1>{}, P);
  if (c < depth) body(c, std::integral_constant<int, 1>{}, static_cast<int>(depth - c));
}

/// to [columns] = the sum over the root's slots of weights[s] row(s).
template <class T, int P, class Row>
void sum_rows(const RootRange<T>& range, const T* weights, std::int64_t columns, const Row& row, T* to) {
  for_columns<P>(columns, [&](std::int64_t c, auto registers, int n) {
    constexpr int K = decltype(registers)::value;
    Lanes<T, P> sum[K];
    for (int i = 0; i < K; ++i) sum[i] = Lanes<T, P>{};
    for (std::int64_t s = range.begin; s < range.end; ++s) {
      const T* const from = row(s) + c;
      const T weight = weights[s - range.begin];
      for (int i = 0; i < K; ++i) sum[i] += weight * load<T, P>(from + i * P);
    }
    for (int i = 0; i < K; ++i) store_first<T, P>(to + c + i * P, sum[i], n);
  });
}

/// The sum of the root's codes by one head's weights, at its place in a tensor like code_query.
template <class T>
void sum_codes(const RootRange<T>& range, const T* weights, std::int64_t root, std::int64_t head, T* to) {
  const std::int64_t codes = range.view.codes;
  sum_rows<T, most_lanes<T>>(
      range, weights, codes, [&](std::int64_t s) { return range.of_code(s); },
      to + (root * range.view.heads + head) * codes);
}

template <class T, int P>
void attend_range(const NeighbourAttention& op, const NeighbourView<T>& view, std::int64_t first, std::int64_t last) {
  RootRange<T> range(view, op.dropout, first, last);
  T* const kept = op.coefficients.defined() ? op.coefficients.data<T>() : nullptr;
  for (std::int64_t root = first; root < last; ++root) {
    range.enter(root);
    const NeighbourScale scale(view.scale, std::max<std::int64_t>(1, range.slots()), view.depth);
    take_products<T, P>(range, view.q + root * view.width, view.code_query + root * view.heads * view.codes, 0,
                        [&](std::int64_t head) { return range.first(head); });
    for (std::int64_t head = 0; head < view.heads; ++head) {
      T* const weights = range.first(head);
      take_softmax(scale, weights, range.slots());
      for (std::int64_t s = 0; kept != nullptr && s < range.slots(); ++s)
        kept[(range.begin + s) * view.heads + head] = weights[s];
      for (std::int64_t s = 0; op.dropout.drops() && s < range.slots(); ++s) weights[s] *= range.factors(head)[s];
      const std::int64_t first_column = head * view.depth;
      sum_rows<T, P>(
          range, weights, view.depth, [&](std::int64_t s) { return range.of_vertex(s) + view.width + first_column; },
          op.y.data<T>() + root * view.width + first_column);
      sum_codes(range, weights, root, head, op.mixed.data<T>());
    }
  }
}

/// The gradients of one head's products from those of its coefficients in `down`. Dropout's factors are applied to
/// `down` first; `weights` become the coefficients with dropout.
template <class T>
void scores_back(RootRange<T>& range, const NeighbourScale& scale, const T* coefficients, std::int64_t head, T* down,
                 T* weights) {
  const bool drops = range.dropout.drops();
  T mean{0};
  for (std::int64_t s = 0; s < range.slots(); ++s) {
    const T p = coefficients[(range.begin + s) * range.view.heads + head];
    if (drops) down[s] *= range.factors(head)[s];
    mean += p * down[s];
  }
  for (std::int64_t s = 0; s < range.slots(); ++s) {
    const T p = coefficients[(range.begin + s) * range.view.heads + head];
    // Where the slope depends on the product, `weights` hold it.
    const T slope = scale.is_leaky && weights[s] <= T{0} ? static_cast<T>(leaky_slope) : static_cast<T>(scale.factor);
    down[s] = p * (down[s] - mean) * slope;
    weights[s] = drops ? p * range.factors(head)[s] : p;
  }
}

/// dq of one head, and the columns of dseen that belong to it.
template <class T, int P>
void columns_back(const NeighbourAttentionBackward& op, const RootRange<T>& range, const T* down, const T* weights,
                  std::int64_t root, std::int64_t head) {
  const std::int64_t first = head * range.view.depth, width = range.view.width;
  const T *q = range.view.q + root * width + first, *dy = op.dy.data<T>() + root * width + first;
  for_columns<P>(range.view.depth, [&](std::int64_t c, auto registers, int n) {
    constexpr int K = decltype(registers)::value;
    Lanes<T, P> dq[K], of_q[K], of_dy[K];
    for (int i = 0; i < K; ++i) {
      dq[i] = Lanes<T, P>{};
      of_q[i] = load<T, P>(q + c + i * P);
      of_dy[i] = load<T, P>(dy + c + i * P);
    }
    for (std::int64_t s = range.begin; s < range.end; ++s) {
      const T* const key = range.of_vertex(s) + first + c;
      T* const dseen = op.dseen.data<T>() + s * 2 * width + first + c;
      const T d = down[s - range.begin], p = weights[s - range.begin];
      for (int i = 0; i < K; ++i) {
        dq[i] += d * load<T, P>(key + i * P);
        store_first<T, P>(dseen + i * P, d * of_q[i], n);
        store_first<T, P>(dseen + width + i * P, p * of_dy[i], n);
      }
    }
    for (int i = 0; i < K; ++i) store_first<T, P>(op.dq.data<T>() + root * width + first + c + i * P, dq[i], n);
  });
}

/// dcode of the root's slots, from what all heads left in first() (gradients of products) and second() (weights).
template <class T>
void codes_back(const NeighbourAttentionBackward& op, RootRange<T>& range, std::int64_t root) {
  constexpr int P = most_lanes<T>;
  const std::int64_t codes = range.view.codes, heads = range.view.heads;
  const T *query = range.view.code_query + root * heads * codes, *dmixed = op.dmixed.data<T>() + root * heads * codes;
  for_columns<P>(codes, [&](std::int64_t c, auto registers, int n) {
    constexpr int K = decltype(registers)::value;
    for (std::int64_t s = range.begin; s < range.end; ++s) {
      Lanes<T, P> sum[K];
      for (int i = 0; i < K; ++i) sum[i] = Lanes<T, P>{};
      for (std::int64_t head = 0; head < heads; ++head) {
        const T d = range.first(head)[s - range.begin], p = range.second(head)[s - range.begin];
        const T *of_query = query + head * codes + c, *of_mixed = dmixed + head * codes + c;
        for (int i = 0; i < K; ++i) sum[i] += d * load<T, P>(of_query + i * P) + p * load<T, P>(of_mixed + i * P);
      }
      for (int i = 0; i < K; ++i) store_first<T, P>(op.dcode.data<T>() + s * codes + c + i * P, sum[i], n);
    }
  });
}

template <class T, int P>
void attend_range_back(const NeighbourAttentionBackward& op, const NeighbourView<T>& view, std::int64_t first,
                       std::int64_t last) {
  RootRange<T> range(view, op.dropout, first, last);
  for (std::int64_t root = first; root < last; ++root) {
    range.enter(root);
    const NeighbourScale scale(view.scale, std::max<std::int64_t>(1, range.slots()), view.depth);
    const std::int64_t at = root * view.width, at_codes = root * view.heads * view.codes;
    take_products<T, P>(range, op.dy.data<T>() + at, op.dmixed.data<T>() + at_codes, 1,
                        [&](std::int64_t head) { return range.first(head); });
    if (scale.is_leaky) {
      take_products<T, P>(range, view.q + at, view.code_query + at_codes, 0,
                          [&](std::int64_t head) { return range.second(head); });
    }
    for (std::int64_t head = 0; head < view.heads; ++head) {
      T *const down = range.first(head), *const weights = range.second(head);
      scores_back(range, scale, op.coefficients.data<T>(), head, down, weights);
      columns_back<T, P>(op, range, down, weights, root, head);
      sum_codes(range, down, root, head, op.dcode_query.data<T>());
    }
    codes_back(op, range, root);
  }
}

void run_neighbour_lanes(const NeighbourAttention& op, KernelContext& context) {
  with_element(op.q.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto view = neighbour_view<T>(op);
    with_lanes<T>(std::min<std::int64_t>(view.depth, most_lanes<T>), [&](auto lanes) {
      for_ranges(context, op.q.rows(), roots_per_task, [&](std::int64_t first, std::int64_t last) {
        attend_range<T, decltype(lanes)::value>(op, view, first, last);
      });
    });
  });
}

void run_neighbour_lanes_back(const NeighbourAttentionBackward& op, KernelContext& context) {
  with_element(op.q.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto view = neighbour_view<T>(op);
    with_lanes<T>(std::min<std::int64_t>(view.depth, most_lanes<T>), [&](auto lanes) {
      for_ranges(context, op.q.rows(), roots_per_task, [&](std::int64_t first, std::int64_t last) {
        attend_range_back<T, decltype(lanes)::value>(op, view, first, last);
      });
    });
  });
}

const RegisterKernel<NeighbourAttention> forward{"cpu", {"vector", 10, nullptr, run_neighbour_lanes}};
const RegisterKernel<NeighbourAttentionBackward> backward{"cpu", {"vector", 10, nullptr, run_neighbour_lanes_back}};

}  // namespace
}  // namespace strobe
