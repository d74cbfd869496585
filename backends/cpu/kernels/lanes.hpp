// Short vectors of P lanes (P a power of two, at most most_lanes<T>) in GCC's vector extension, so the fast kernels are
// one source for float and double and for any instruction set. A vector larger than the machine's registers would be
// right as well, but GCC 12 keeps it in memory, which made epochs up to 25 times slower: it is refused. Loads may read
// past a row's end into the next row (tensors are readable 64 bytes past their end, tensor.hpp); stores write exactly
// the lanes asked for.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__AVX512F__) && defined(__AVX512VL__)
#include <immintrin.h>
#define STROBE_MASKED_LANES 1
#elif defined(__AVX2__)
#include <immintrin.h>
#define STROBE_BLENDED_LANES 1
#endif

// Vectors are only passed between inlined functions, so a changed calling convention cannot matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace strobe::cpu {

// The size in bytes and the number of the machine's vector registers.
#if defined(STROBE_MASKED_LANES)
inline constexpr int register_bytes = 64, register_count = 32;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32, register_count = 16;
#elif defined(__aarch64__)
inline constexpr int register_bytes = 16, register_count = 32;
#else
inline constexpr int register_bytes = 16, register_count = 16;
#endif
inline constexpr bool many_registers = register_count > 16;

template <class T>
inline constexpr int most_lanes = register_bytes / static_cast<int>(sizeof(T));

template <class T, int P>
struct LanesOf {
  static_assert(P * sizeof(T) <= register_bytes && (P & (P - 1)) == 0);
  typedef T Type __attribute__((vector_size(P * sizeof(T))));
};
template <class T>
struct LanesOf<T, 1> {
  using Type = T;
};

/// P lanes of T.
template <class T, int P>
using Lanes = typename LanesOf<T, P>::Type;

/// P values from `from`, which need not be aligned.
template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> load(const T* from) {
  Lanes<T, P> v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}

template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> broadcast(T value) {
  return value - Lanes<T, P>{};  // an addition of zero would stay: it turns -0 into 0
}

/// Keeps a value in a register from here on. Otherwise GCC makes a loaded value a memory operand of every instruction
/// that reads it, so a loop with two readers waits for loads. For addresses it derives one from the other, or keeps
/// more of them than there are registers.
template <class V>
[[gnu::always_inline]] inline void hold_value([[maybe_unused]] V& v) {
  if constexpr (std::is_pointer_v<V>) {
    asm("" : "+r"(v));
  } else {
#if defined(STROBE_MASKED_LANES)
    asm("" : "+v"(v));
#elif defined(__AVX__)
    asm("" : "+x"(v));
#endif
  }
}

#ifdef STROBE_MASKED_LANES
// One overload per register: `n` lanes are stored, or loaded with zeros after them.
[[gnu::always_inline]] inline void store_masked(float* to, Lanes<float, 4> v, unsigned mask) {
  _mm_mask_storeu_ps(to, static_cast<__mmask8>(mask), reinterpret_cast<__m128>(v));
}
[[gnu::always_inline]] inline void store_masked(float* to, Lanes<float, 8> v, unsigned mask) {
  _mm256_mask_storeu_ps(to, static_cast<__mmask8>(mask), reinterpret_cast<__m256>(v));
}
[[gnu::always_inline]] inline void store_masked(float* to, Lanes<float, 16> v, unsigned mask) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), reinterpret_cast<__m512>(v));
}
[[gnu::always_inline]] inline void store_masked(double* to, Lanes<double, 2> v, unsigned mask) {
  _mm_mask_storeu_pd(to, static_cast<__mmask8>(mask), reinterpret_cast<__m128d>(v));
}
[[gnu::always_inline]] inline void store_masked(double* to, Lanes<double, 4> v, unsigned mask) {
  _mm256_mask_storeu_pd(to, static_cast<__mmask8>(mask), reinterpret_cast<__m256d>(v));
}
[[gnu::always_inline]] inline void store_masked(double* to, Lanes<double, 8> v, unsigned mask) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask), reinterpret_cast<__m512d>(v));
}
[[gnu::always_inline]] inline Lanes<float, 4> load_masked(const float* from, Lanes<float, 4>, unsigned mask) {
  return reinterpret_cast<Lanes<float, 4>>(_mm_maskz_loadu_ps(static_cast<__mmask8>(mask), from));
}
[[gnu::always_inline]] inline Lanes<float, 8> load_masked(const float* from, Lanes<float, 8>, unsigned mask) {
  return reinterpret_cast<Lanes<float, 8>>(_mm256_maskz_loadu_ps(static_cast<__mmask8>(mask), from));
}
[[gnu::always_inline]] inline Lanes<float, 16> load_masked(const float* from, Lanes<float, 16>, unsigned mask) {
  return reinterpret_cast<Lanes<float, 16>>(_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from));
}
[[gnu::always_inline]] inline Lanes<double, 2> load_masked(const double* from, Lanes<double, 2>, unsigned mask) {
  return reinterpret_cast<Lanes<double, 2>>(_mm_maskz_loadu_pd(static_cast<__mmask8>(mask), from));
}
[[gnu::always_inline]] inline Lanes<double, 4> load_masked(const double* from, Lanes<double, 4>, unsigned mask) {
  return reinterpret_cast<Lanes<double, 4>>(_mm256_maskz_loadu_pd(static_cast<__mmask8>(mask), from));
}
[[gnu::always_inline]] inline Lanes<double, 8> load_masked(const double* from, Lanes<double, 8>, unsigned mask) {
  return reinterpret_cast<Lanes<double, 8>>(_mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), from));
}
// The lanes of the mask, zeros elsewhere.
[[gnu::always_inline]] inline Lanes<float, 4> keep_masked(Lanes<float, 4> v, unsigned mask) {
  return reinterpret_cast<Lanes<float, 4>>(_mm_maskz_mov_ps(static_cast<__mmask8>(mask), reinterpret_cast<__m128>(v)));
}
[[gnu::always_inline]] inline Lanes<float, 8> keep_masked(Lanes<float, 8> v, unsigned mask) {
  return reinterpret_cast<Lanes<float, 8>>(
      _mm256_maskz_mov_ps(static_cast<__mmask8>(mask), reinterpret_cast<__m256>(v)));
}
[[gnu::always_inline]] inline Lanes<float, 16> keep_masked(Lanes<float, 16> v, unsigned mask) {
  return reinterpret_cast<Lanes<float, 16>>(
      _mm512_maskz_mov_ps(static_cast<__mmask16>(mask), reinterpret_cast<__m512>(v)));
}
[[gnu::always_inline]] inline Lanes<double, 2> keep_masked(Lanes<double, 2> v, unsigned mask) {
  return reinterpret_cast<Lanes<double, 2>>(
      _mm_maskz_mov_pd(static_cast<__mmask8>(mask), reinterpret_cast<__m128d>(v)));
}
[[gnu::always_inline]] inline Lanes<double, 4> keep_masked(Lanes<double, 4> v, unsigned mask) {
  return reinterpret_cast<Lanes<double, 4>>(
      _mm256_maskz_mov_pd(static_cast<__mmask8>(mask), reinterpret_cast<__m256d>(v)));
}
[[gnu::always_inline]] inline Lanes<double, 8> keep_masked(Lanes<double, 8> v, unsigned mask) {
  return reinterpret_cast<Lanes<double, 8>>(
      _mm512_maskz_mov_pd(static_cast<__mmask8>(mask), reinterpret_cast<__m512d>(v)));
}
#endif

#ifdef STROBE_BLENDED_LANES
/// Lanes of Bits, the first n of them all ones: read from a row of eight of them and eight zeros.
template <class Mask, class Bits>
[[gnu::always_inline]] inline Mask first_lanes(int n) {
  alignas(32) static constexpr Bits ones_and_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  Mask mask;
  std::memcpy(&mask, ones_and_zeros + 8 - n, sizeof(mask));
  return mask;
}
[[gnu::always_inline]] inline Lanes<float, 4> load_partly(const float* from, Lanes<float, 4>, int n) {
  return reinterpret_cast<Lanes<float, 4>>(_mm_maskload_ps(from, first_lanes<__m128i, std::int32_t>(n)));
}
[[gnu::always_inline]] inline Lanes<float, 8> load_partly(const float* from, Lanes<float, 8>, int n) {
  return reinterpret_cast<Lanes<float, 8>>(_mm256_maskload_ps(from, first_lanes<__m256i, std::int32_t>(n)));
}
[[gnu::always_inline]] inline Lanes<double, 2> load_partly(const double* from, Lanes<double, 2>, int n) {
  return reinterpret_cast<Lanes<double, 2>>(_mm_maskload_pd(from, first_lanes<__m128i, std::int64_t>(n)));
}
[[gnu::always_inline]] inline Lanes<double, 4> load_partly(const double* from, Lanes<double, 4>, int n) {
  return reinterpret_cast<Lanes<double, 4>>(_mm256_maskload_pd(from, first_lanes<__m256i, std::int64_t>(n)));
}

/// v with zeros in the lanes after the first n.
template <class V>
[[gnu::always_inline]] inline V keep_partly(V v, int n) {
  using Bits = std::conditional_t<sizeof(v[0]) == 4, std::int32_t, std::int64_t>;
  typedef Bits Mask __attribute__((vector_size(sizeof(V))));
  return reinterpret_cast<V>(reinterpret_cast<Mask>(v) & first_lanes<Mask, Bits>(n));
}
#endif

/// Whether partial loads and stores of P lanes of T are single instructions here.
template <class T, int P>
inline constexpr bool has_masks =
#ifdef STROBE_MASKED_LANES
    P * sizeof(T) >= 16;
#else
    false;
#endif

/// Whether partial loads are, but not partial stores: that of AVX2 takes some 20 cycles on Zen 3.
template <class T, int P>
inline constexpr bool has_partial_loads =
#ifdef STROBE_BLENDED_LANES
    P * sizeof(T) >= 16;
#else
    false;
#endif

/// The first n < P lanes to `to` in halves, which are whole stores.
template <class T, int P>
[[gnu::always_inline]] inline void store_halves(T* to, Lanes<T, P> v, int n) {
  if constexpr (P == 2) {
    if (n == 1) *to = v[0];
  } else {
    constexpr int half = P / 2;
    const auto part = [&]<std::size_t... L>(std::index_sequence<L...>, bool upper) {
      return upper ? __builtin_shufflevector(v, v, (half + static_cast<int>(L))...)
                   : __builtin_shufflevector(v, v, static_cast<int>(L)...);
    };
    const auto lanes = std::make_index_sequence<half>{};
    Lanes<T, half> rest = part(lanes, false);
    if (n >= half) {
      std::memcpy(to, &rest, sizeof(rest));
      rest = part(lanes, true);
      to += half;
      n -= half;
    }
    store_halves<T, half>(to, rest, n);
  }
}

/// Stores the first n lanes at `to`; nothing after them is touched.
template <class T, int P>
[[gnu::always_inline]] inline void store_first(T* to, Lanes<T, P> v, int n) {
  if constexpr (P == 1) {
    *to = v;
  } else if (__builtin_constant_p(n) && n == P) {
    std::memcpy(to, &v, sizeof(v));
  } else if constexpr (has_masks<T, P>) {
#ifdef STROBE_MASKED_LANES
    store_masked(to, v, (1u << n) - 1u);
#endif
  } else {
    if (n == P) {
      std::memcpy(to, &v, sizeof(v));
    } else {
      store_halves<T, P>(to, v, n);
    }
  }
}

/// v with zeros in the lanes after the first n.
template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> keep_first(Lanes<T, P> v, int n) {
  if constexpr (has_masks<T, P>) {
#ifdef STROBE_MASKED_LANES
    return keep_masked(v, (1u << n) - 1u);
#endif
  } else if constexpr (has_partial_loads<T, P>) {
#ifdef STROBE_BLENDED_LANES
    return __builtin_constant_p(n) && n == P ? v : keep_partly(v, n);
#endif
  } else {
    for (int i = n; i < P; ++i) v[i] = T{0};
    return v;
  }
}

/// The first n values at `from`, then zeros; nothing after them is read.
template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> load_first(const T* from, int n) {
  if constexpr (P == 1) {
    return *from;
  } else if (__builtin_constant_p(n) && n == P) {
    return load<T, P>(from);
  } else if constexpr (has_masks<T, P>) {
#ifdef STROBE_MASKED_LANES
    return load_masked(from, Lanes<T, P>{}, (1u << n) - 1u);
#endif
  } else if constexpr (has_partial_loads<T, P>) {
#ifdef STROBE_BLENDED_LANES
    return load_partly(from, Lanes<T, P>{}, n);
#endif
  } else {
    Lanes<T, P> v{};
    if (n == P) {
      std::memcpy(&v, from, sizeof(v));
    } else {
      for (int i = 0; i < n; ++i) v[i] = from[i];
    }
    return v;
  }
}

/// Like load_first, for a row that may be read for a register from `from` on. On values that are in no cache a partial
/// load takes up to three times as long as a full one (Zen 5), whatever its mask.
template <class T, int P>
[[gnu::always_inline]] inline Lanes<T, P> load_row(const T* from, int n) {
  if constexpr (P == 1) {
    return *from;
  } else {
    return keep_first<T, P>(load<T, P>(from), n);
  }
}

/// Calls body(first, lanes) for registers that cover [begin, end). Inlined for whole registers and for the last lanes,
/// so that only those take partial loads and stores.
template <class T, class Body>
[[gnu::always_inline]] inline void for_lanes(std::int64_t begin, std::int64_t end, const Body& body) {
  for (; begin + most_lanes<T> <= end; begin += most_lanes<T>) body(begin, most_lanes<T>);
  if (begin < end) body(begin, static_cast<int>(end - begin));
}

/// Calls body(std::integral_constant<int, P>) with the smallest P that holds `width` lanes, at most `most_lanes<T>`.
template <class T, class Body>
[[gnu::always_inline]] inline void with_lanes(std::int64_t width, const Body& body) {
  if (width <= 1) return body(std::integral_constant<int, 1>{});
  if (width <= 2) return body(std::integral_constant<int, 2>{});
  constexpr int most = most_lanes<T>;
  if constexpr (most > 2) {
    if (width <= 4) return body(std::integral_constant<int, 4>{});
  }
  if constexpr (most > 4) {
    if (width <= 8) return body(std::integral_constant<int, 8>{});
  }
  if constexpr (most > 8) return body(std::integral_constant<int, 16>{});
}

}  // namespace strobe::cpu
