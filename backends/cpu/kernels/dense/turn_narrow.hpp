// Turns whole strips of 2, 4 or 6 columns with consecutive rows. They are whole registers of memory, so every column is
// shuffled from all of them together, and shuffled back into them. For 6 columns and 16 rows this takes 18 shuffles, 6
// loads and 6 stores. Rows loaded one by one take 24, 16 and 6; rows stored one by one take 24, 6 and 16 under a mask.
#pragma once

#include <cstdint>
#include <utility>

#include "backends/cpu/kernels/lanes.hpp"

namespace strobe::cpu {

/// The places of P rows of 2 M values in registers of P. The values of a row go in pairs, M of them; a half of the
/// rows is M registers of memory, and the pairs j of a half are one register.
template <class T, int M>
struct TurnedRows {
  static constexpr int P = most_lanes<T>;
  using Value = Lanes<T, P>;
  using Index = std::make_index_sequence<P>;

  /// Where lane l of the pairs j of a half lies in that half's memory.
  static constexpr int in_memory(int l, int j) { return l / 2 * 2 * M + 2 * j + l % 2; }
  /// Lane l of shuffle(before, register k) towards the pairs j: what `before` has of registers below k stays.
  static constexpr int to_pair(int l, int j, int k) {
    const int at = in_memory(l, j);
    if (at / P > k) return 0;  // comes later
    return at / P == k ? P + at % P : k == 1 ? at : l;
  }
  /// Lane l of shuffle(before, pairs j) that makes register k of a half's memory.
  static constexpr int to_memory(int l, int k, int j) {
    const int at = k * P + l, row = at / (2 * M), pair = at % (2 * M) / 2, lane = 2 * row + at % 2;
    if (pair > j) return 0;
    return pair == j ? P + lane : j == 1 ? lane : l;
  }

  template <int j, int k, std::size_t... L>
  [[gnu::always_inline]] static Value pairs_of(const Value* memory, std::index_sequence<L...> lanes) {
    if constexpr (k == 0) return memory[0];
    if constexpr (k > 0) {
      return __builtin_shufflevector(pairs_of<j, k - 1>(memory, lanes), memory[k],
                                     to_pair(static_cast<int>(L), j, k)...);
    }
  }
  template <int k, int j, std::size_t... L>
  [[gnu::always_inline]] static Value memory_of(const Value* pairs, std::index_sequence<L...> lanes) {
    if constexpr (j == 0) return pairs[0];
    if constexpr (j > 0) {
      return __builtin_shufflevector(memory_of<k, j - 1>(pairs, lanes), pairs[j],
                                     to_memory(static_cast<int>(L), k, j)...);
    }
  }
  /// Every second lane, from `first` on, of the pairs of both halves: a column.
  template <int first, std::size_t... L>
  [[gnu::always_inline]] static Value column_of(Value lower, Value upper, std::index_sequence<L...>) {
    return __builtin_shufflevector(lower, upper, (2 * static_cast<int>(L) + first)...);
  }
  /// The pairs of the lower or upper half of the rows from two columns.
  template <bool upper, std::size_t... L>
  [[gnu::always_inline]] static Value pair_up(Value a, Value b, std::index_sequence<L...>) {
    return __builtin_shufflevector(
        a, b, (static_cast<int>(L) / 2 + (upper ? P / 2 : 0) + (static_cast<int>(L) % 2 == 0 ? 0 : P))...);
  }

  template <std::size_t... J>
  [[gnu::always_inline]] static void load(const T* from, T* to, std::int64_t stride, std::index_sequence<J...>) {
    Value memory[2 * M];
#pragma GCC unroll 8
    for (int i = 0; i < 2 * M; ++i) memory[i] = cpu::load<T, P>(from + i * P);
    const auto put = [&](auto pair) {
      constexpr int j = decltype(pair)::value;
      const Value lower = pairs_of<j, M - 1>(memory, Index{}), upper = pairs_of<j, M - 1>(memory + M, Index{});
      store_first<T, P>(to + 2 * j * stride, column_of<0>(lower, upper, Index{}), P);
      store_first<T, P>(to + (2 * j + 1) * stride, column_of<1>(lower, upper, Index{}), P);
    };
    (put(std::integral_constant<int, static_cast<int>(J)>{}), ...);
  }

  template <bool accumulate, std::size_t... J>
  [[gnu::always_inline]] static void store(const T* from, std::int64_t stride, T* to, std::index_sequence<J...>) {
    Value lower[M], upper[M];
#pragma GCC unroll 4
    for (int j = 0; j < M; ++j) {
      const Value a = cpu::load<T, P>(from + 2 * j * stride), b = cpu::load<T, P>(from + (2 * j + 1) * stride);
      lower[j] = pair_up<false>(a, b, Index{});
      upper[j] = pair_up<true>(a, b, Index{});
    }
    const auto put = [](T* at, Value value) {
      if constexpr (accumulate) value += cpu::load<T, P>(at);
      store_first<T, P>(at, value, P);
    };
    (put(to + static_cast<int>(J) * P, memory_of<static_cast<int>(J), M - 1>(lower, Index{})), ...);
    (put(to + (M + static_cast<int>(J)) * P, memory_of<static_cast<int>(J), M - 1>(upper, Index{})), ...);
  }
};

/// to [2 M][2 P] from 2 P rows of 2 M values.
template <class T, int M>
[[gnu::noinline]] void load_narrow(const T* from, T* to) {
  constexpr int P = most_lanes<T>;
  for (int half = 0; half < 2; ++half, from += 2 * M * P, to += P)
    TurnedRows<T, M>::load(from, to, 2 * P, std::make_index_sequence<M>{});
}

/// 2 P rows of 2 M values at `to` from `from` [2 M][2 P], or added to.
template <class T, int M, bool accumulate>
[[gnu::noinline]] void store_narrow(const T* from, T* to) {
  constexpr int P = most_lanes<T>;
  for (int half = 0; half < 2; ++half, from += P, to += 2 * M * P)
    TurnedRows<T, M>::template store<accumulate>(from, 2 * P, to, std::make_index_sequence<M>{});
}

/// Calls body(std::integral_constant<int, M>) for 2 M columns, if they are few enough, and says whether it did.
template <class Body>
[[gnu::always_inline]] inline bool with_pairs(std::int64_t columns, const Body& body) {
  switch (columns) {
    case 2:
      return body(std::integral_constant<int, 1>{}), true;
    case 4:
      return body(std::integral_constant<int, 2>{}), true;
    case 6:
      return body(std::integral_constant<int, 3>{}), true;
    default:
      return false;
  }
}

}  // namespace strobe::cpu
