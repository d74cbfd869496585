// The difference of one row of two snapshots: entries that only the earlier has, entries that only the later has, and
// common entries whose value changed. Columns of a row are sorted and distinct. A window of each row is compared
// position by position when the two are equal; otherwise every column of one window with every column of the other.
// Columns not above the smaller of the two windows' ends are then decided, and the windows move on. Two forms with one
// result: 16 columns at a time in AVX-512 registers (32 shuffles and comparisons for 16 x 16 pairs, no branch on
// columns), and a merge without branches on columns, which needs one step an entry.
// Cost: O(entries of both rows).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/ids.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace strobe {

/// One snapshot's arrays; positions count from `first`.
struct StepView {
  const std::int64_t* offsets;  // [rows + 1]
  const VertexId* columns;      // of the snapshot's first entry
  std::int64_t first;
};

/// Where the next removed, added and changed positions go. Handed on by value, so that registers hold it.
struct Ends {
  std::int32_t *removed, *added, *changed;
};

/// The number of positions past the end of each list that may be overwritten.
inline constexpr std::int64_t trailing_room = 16;

/// The bits of a value: values are equal when their bits are.
template <class T>
auto bits_of(T value) {
  return std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(value);
}

/// Stores `position`, and keeps it when `keep`.
[[gnu::always_inline]] inline void put(std::int32_t*& end, std::int64_t position, bool keep) {
  *end = static_cast<std::int32_t>(position);
  end += static_cast<std::ptrdiff_t>(keep);
}

/// Rows of two snapshots; `Values` says whether values are compared.
template <class T, bool Values>
class RowDifference {
 public:
  RowDifference(const StepView& from, const StepView& to, const T* from_values, const T* to_values)
      : from_(from), to_(to), a_(from.columns), b_(to.columns), a_values_(from_values), b_values_(to_values) {}

  /// Appends the difference of one row.
  [[gnu::always_inline]] Ends find(std::int64_t row, Ends ends) const {
    return compare(from_.offsets[row] - from_.first, from_.offsets[row + 1] - from_.first, to_.offsets[row] - to_.first,
                   to_.offsets[row + 1] - to_.first, ends);
  }

 private:
#if defined(__AVX512F__)
  /// Which lanes of `a` are somewhere in `b`, and of `b` in `a`.
  struct Matches {
    std::uint32_t a = 0, b = 0;
  };

  [[gnu::always_inline]] static __m512i rotate(__m512i v) {
    typedef std::int32_t Lanes __attribute__((vector_size(64)));
    const auto x = reinterpret_cast<Lanes>(v);
    return reinterpret_cast<__m512i>(
        __builtin_shufflevector(x, x, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0));
  }

  [[gnu::always_inline]] static Matches match(__m512i a, __m512i b) {
    Matches found;
#pragma GCC unroll 16
    for (int k = 0; k < 16; ++k) {
      const auto equal = static_cast<std::uint16_t>(_mm512_cmpeq_epi32_mask(a, b));
      found.a |= equal;
      found.b |= std::rotl(equal, k);
      b = rotate(b);
    }
    return found;
  }

  [[gnu::always_inline]] static std::uint32_t lanes(std::int64_t n) {
    return n >= 16 ? 0xffffu : (1u << static_cast<unsigned>(n)) - 1u;
  }

  /// first, first + 1, ...
  [[gnu::always_inline]] static __m512i positions_from(std::int64_t first) {
    const __m512i count = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_add_epi32(count, _mm512_set1_epi32(static_cast<std::int32_t>(first)));
  }

  /// Positions first, first + 1, ... of the set lanes.
  [[gnu::always_inline]] static std::int32_t* put_lanes(std::int32_t* end, std::int64_t first, std::uint32_t set) {
    _mm512_storeu_si512(end, _mm512_maskz_compress_epi32(static_cast<__mmask16>(set), positions_from(first)));
    return end + std::popcount(set);
  }

  /// Lanes among the first n whose values differ.
  [[gnu::always_inline]] std::uint32_t differing(std::int64_t a, std::int64_t b, std::uint32_t set) const {
    if constexpr (sizeof(T) == 4) {
      const auto mask = static_cast<__mmask16>(set);
      return _mm512_mask_cmpneq_epi32_mask(mask, _mm512_maskz_loadu_epi32(mask, a_values_ + a),
                                           _mm512_maskz_loadu_epi32(mask, b_values_ + b));
    } else {
      const auto low = static_cast<__mmask8>(set), high = static_cast<__mmask8>(set >> 8);
      const std::uint32_t first = _mm512_mask_cmpneq_epi64_mask(low, _mm512_maskz_loadu_epi64(low, a_values_ + a),
                                                                _mm512_maskz_loadu_epi64(low, b_values_ + b));
      const std::uint32_t second = _mm512_mask_cmpneq_epi64_mask(
          high, _mm512_maskz_loadu_epi64(high, a_values_ + a + 8), _mm512_maskz_loadu_epi64(high, b_values_ + b + 8));
      return first | second << 8;
    }
  }

  /// The k-th matched lane of one window is the k-th of the other: both ascend. Values of windows without a match are
  /// not read.
  [[gnu::always_inline]] std::int32_t* put_changed(std::int32_t* end, std::int64_t a, std::int64_t b,
                                                   Matches common) const {
    if (common.a == 0) return end;
    if constexpr (sizeof(T) == 4) {
      const auto left = static_cast<__mmask16>(common.a), right = static_cast<__mmask16>(common.b);
      const __m512i before = _mm512_maskz_compress_epi32(left, _mm512_maskz_loadu_epi32(left, a_values_ + a));
      const __m512i after = _mm512_maskz_compress_epi32(right, _mm512_maskz_loadu_epi32(right, b_values_ + b));
      const std::uint32_t changed = _mm512_cmpneq_epi32_mask(before, after);  // past the matches both are 0
      const __m512i places = _mm512_maskz_compress_epi32(right, positions_from(b));
      _mm512_storeu_si512(end, _mm512_maskz_compress_epi32(static_cast<__mmask16>(changed), places));
      return end + std::popcount(changed);
    }
    std::int32_t left[16], right[16];
    put_lanes(left, a, common.a);
    const std::int64_t count = put_lanes(right, b, common.b) - right;
    for (std::int64_t k = 0; k < count; ++k)
      put(end, right[k], bits_of(a_values_[left[k]]) != bits_of(b_values_[right[k]]));
    return end;
  }

  [[gnu::always_inline]] Ends compare(std::int64_t a, std::int64_t a_end, std::int64_t b, std::int64_t b_end,
                                      Ends ends) const {
    constexpr VertexId none = std::numeric_limits<VertexId>::max();
    while (a < a_end || b < b_end) {
      const std::uint32_t a_lanes = lanes(a_end - a), b_lanes = lanes(b_end - b);
      const auto a_mask = static_cast<__mmask16>(a_lanes), b_mask = static_cast<__mmask16>(b_lanes);
      // Absent lanes hold numbers that no column has and that differ from each other.
      const __m512i left = _mm512_mask_loadu_epi32(_mm512_set1_epi32(-1), a_mask, a_ + a);
      const __m512i right = _mm512_mask_loadu_epi32(_mm512_set1_epi32(-2), b_mask, b_ + b);
      if (a_lanes == b_lanes && _mm512_mask_cmpneq_epi32_mask(a_mask, left, right) == 0) {
        if constexpr (Values) ends.changed = put_lanes(ends.changed, b, differing(a, b, a_lanes));
        const std::int64_t count = std::popcount(a_lanes);
        a += count, b += count;
        continue;
      }
      const VertexId a_last = a_end - a <= 16 ? none : a_[a + 15], b_last = b_end - b <= 16 ? none : b_[b + 15];
      const __m512i last = _mm512_set1_epi32(std::min(a_last, b_last));
      const std::uint32_t a_decided = _mm512_mask_cmple_epi32_mask(a_mask, left, last);
      const std::uint32_t b_decided = _mm512_mask_cmple_epi32_mask(b_mask, right, last);
      const Matches common = match(left, right);
      ends.removed = put_lanes(ends.removed, a, a_decided & ~common.a);
      ends.added = put_lanes(ends.added, b, b_decided & ~common.b);
      if constexpr (Values) ends.changed = put_changed(ends.changed, a, b, common);
      a += std::popcount(a_decided), b += std::popcount(b_decided);
    }
    return ends;
  }
#else
  static constexpr std::int64_t stride = 4;

  [[gnu::always_inline]] static bool equal_stride(const VertexId* a, const VertexId* b) {
    std::uint64_t x[2], y[2];
    std::memcpy(x, a, sizeof x);
    std::memcpy(y, b, sizeof y);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
  }

  /// Equal columns at the front of both rows, and at the back, are passed over four at a time; the rest is merged.
  [[gnu::always_inline]] Ends compare(std::int64_t a, std::int64_t a_end, std::int64_t b, std::int64_t b_end,
                                      Ends ends) const {
    const std::int64_t shorter = std::min(a_end - a, b_end - b);
    std::int64_t front = 0, back = 0;
    while (front + stride <= shorter && equal_stride(a_ + a + front, b_ + b + front)) front += stride;
    while (front + back < shorter && back + stride <= shorter &&
           equal_stride(a_ + a_end - back - stride, b_ + b_end - back - stride)) {
      back += stride;
    }
    back = std::min(back, shorter - front);
    ends = compare_values(a, b, front, ends);
    ends = merge(a + front, a_end - back, b + front, b_end - back, ends);
    return compare_values(a_end - back, b_end - back, back, ends);
  }

  [[gnu::always_inline]] Ends compare_values(std::int64_t a, std::int64_t b, std::int64_t count, Ends ends) const {
    if constexpr (Values) {
      for (std::int64_t k = 0; k < count; ++k)
        put(ends.changed, b + k, bits_of(a_values_[a + k]) != bits_of(b_values_[b + k]));
    }
    return ends;
  }

  [[gnu::always_inline]] Ends merge(std::int64_t a, std::int64_t a_end, std::int64_t b, std::int64_t b_end,
                                    Ends ends) const {
    while (a < a_end && b < b_end) {
      const bool from = a_[a] <= b_[b], to = b_[b] <= a_[a];
      put(ends.removed, a, !to);
      put(ends.added, b, !from);
      if constexpr (Values) put(ends.changed, b, (from & to) & (bits_of(a_values_[a]) != bits_of(b_values_[b])));
      a += static_cast<std::int64_t>(from);
      b += static_cast<std::int64_t>(to);
    }
    for (; a < a_end; ++a) put(ends.removed, a, true);
    for (; b < b_end; ++b) put(ends.added, b, true);
    return ends;
  }
#endif

  StepView from_, to_;
  const VertexId *a_, *b_;
  const T *a_values_, *b_values_;
};

}  // namespace strobe
