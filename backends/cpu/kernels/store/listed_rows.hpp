// Rows that lists name: moving them in whole registers, because a call of memcpy for 24 bytes takes longer than they
// do, and asking for their lines some rows ahead, because no hardware prefetcher follows a list.
#pragma once

#include <cstring>

#include "backends/cpu/kernels/support.hpp"

namespace strobe::cpu {

/// Rows of a list ahead of the one that is moved whose lines are asked for.
inline constexpr std::int64_t rows_ahead = 24;

/// Copies `count` values.
struct CopyBytes {
  std::size_t element;
  void operator()(std::byte* to, const std::byte* from, std::int64_t count) const {
    std::memcpy(to, from, static_cast<std::size_t>(count) * element);
  }
};

/// Copies `Bytes`, whatever the count says.
template <int Bytes>
struct CopyFixed {
  void operator()(std::byte* to, const std::byte* from, std::int64_t) const { std::memcpy(to, from, Bytes); }
};

/// Adds `count` values.
template <class T>
struct AddValues {
  void operator()(std::byte* to, const std::byte* from, std::int64_t count) const {
    T* target = reinterpret_cast<T*>(to);
    const T* source = reinterpret_cast<const T*>(from);
    for (std::int64_t i = 0; i < count; ++i) target[i] += source[i];
  }
};

/// Adds `Count` values, whatever the count says: all are read before one is written, in registers.
template <class T, int Count>
struct AddFixed {
  void operator()(std::byte* to, const std::byte* from, std::int64_t) const {
    T target[Count], source[Count];
    std::memcpy(target, to, sizeof(target));
    std::memcpy(source, from, sizeof(source));
#pragma GCC unroll 16
    for (int i = 0; i < Count; ++i) target[i] += source[i];
    std::memcpy(to, target, sizeof(target));
  }
};

/// Calls body(move) with a copy of rows of `width` values of `element` bytes.
template <class Body>
void with_copy(std::int64_t width, std::size_t element, const Body& body) {
  switch (width * static_cast<std::int64_t>(element)) {
    case 8:
      return body(CopyFixed<8>{});
    case 16:
      return body(CopyFixed<16>{});
    case 24:
      return body(CopyFixed<24>{});
    case 32:
      return body(CopyFixed<32>{});
    case 48:
      return body(CopyFixed<48>{});
    case 64:
      return body(CopyFixed<64>{});
    case 128:
      return body(CopyFixed<128>{});
    default:
      return body(CopyBytes{element});
  }
}

/// Calls body(move) with an addition of rows of `width` values.
template <class T, class Body>
void with_addition(std::int64_t width, const Body& body) {
  switch (width) {
    case 2:
      return body(AddFixed<T, 2>{});
    case 4:
      return body(AddFixed<T, 4>{});
    case 6:
      return body(AddFixed<T, 6>{});
    case 8:
      return body(AddFixed<T, 8>{});
    case 16:
      return body(AddFixed<T, 16>{});
    default:
      return body(AddValues<T>{});
  }
}

/// Rows of a tensor: where the columns that move begin, and which row is the i-th.
struct ListedRows {
  std::byte* first;
  std::uint64_t row_bytes;
  const std::int64_t* list;  // null: 0, 1, 2, ...
  ListedRows(const Tensor& tensor, const Tensor& rows, std::int64_t column = 0)
      : first(tensor.raw() + static_cast<std::size_t>(column) * element_bytes(tensor.type())),
        row_bytes(tensor.row_bytes()),
        list(rows.defined() ? rows.data<std::int64_t>() : nullptr) {}
  std::int64_t row(std::int64_t i) const { return list != nullptr ? list[i] : i; }
  std::byte* at(std::int64_t row) const { return first + static_cast<std::uint64_t>(row) * row_bytes; }
};

/// Asks for the first and the last line of the `bytes` at `row`.
template <int Written>
[[gnu::always_inline]] inline void prefetch_row(const std::byte* row, std::int64_t bytes) {
  __builtin_prefetch(row, Written);
  __builtin_prefetch(row + bytes - 1, Written);
}

}  // namespace strobe::cpu
