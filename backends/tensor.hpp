// Tensor: a row-major matrix [rows, columns] on a device. Without values (shape-only numerics) it has a shape and an
// accounted size but no data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "backends/memory_part.hpp"

namespace strobe {

enum class ElementType : std::uint8_t { f32, f64, i32, i64, u8 };

inline std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::f32:
    case ElementType::i32:
      return 4;
    case ElementType::f64:
    case ElementType::i64:
      return 8;
    case ElementType::u8:
      return 1;
  }
  return 0;
}

template <class T>
inline constexpr ElementType element_type_of = ElementType::u8;
template <>
inline constexpr ElementType element_type_of<float> = ElementType::f32;
template <>
inline constexpr ElementType element_type_of<double> = ElementType::f64;
template <>
inline constexpr ElementType element_type_of<std::int32_t> = ElementType::i32;
template <>
inline constexpr ElementType element_type_of<std::int64_t> = ElementType::i64;

/// Bytes past the last element of every allocation that may be read (their values mean nothing): a full vector
/// register.
inline constexpr std::size_t readable_tail_bytes = 64;

/// Memory of one allocation; its deleter returns it to the device that made it and to that device's accounting.
struct Storage {
  std::byte* data = nullptr;  // null when the device holds no values
  std::size_t bytes = 0;
  MemoryPart part = MemoryPart::state;
};

/// A view of shared storage. Copying a Tensor copies the view, not the values.
/// Allocations are readable for `readable_tail_bytes` past their last element, so vector kernels may load full
/// registers.
class Tensor {
 public:
  Tensor() = default;
  Tensor(std::shared_ptr<Storage> storage, std::int64_t rows, std::int64_t columns, ElementType type,
         std::uint64_t offset_bytes = 0)
      : storage_(std::move(storage)), rows_(rows), columns_(columns), offset_bytes_(offset_bytes), type_(type) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t elements() const { return rows_ * columns_; }
  ElementType type() const { return type_; }
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(elements()) * element_bytes(type_); }
  std::uint64_t row_bytes() const { return static_cast<std::uint64_t>(columns_) * element_bytes(type_); }
  bool defined() const { return storage_ != nullptr; }
  /// The part of the rank's memory that it belongs to.
  MemoryPart part() const { return storage_ == nullptr ? MemoryPart::state : storage_->part; }
  bool has_values() const { return storage_ != nullptr && storage_->data != nullptr; }

  /// First byte of row 0 of this view; null without values.
  std::byte* raw() const { return has_values() ? storage_->data + offset_bytes_ : nullptr; }
  template <class T>
  T* data() const {
    return reinterpret_cast<T*>(raw());
  }
  template <class T>
  std::span<T> values() const {
    return {data<T>(), static_cast<std::size_t>(has_values() ? elements() : 0)};
  }

  /// Rows [first, first + count) as a view of the same storage.
  Tensor slice_rows(std::int64_t first, std::int64_t count) const {
    return Tensor(storage_, count, columns_, type_, offset_bytes_ + static_cast<std::uint64_t>(first) * row_bytes());
  }

  /// Elements [first, first + rows * columns) in storage order as a matrix of another shape.
  Tensor view(std::int64_t first, std::int64_t rows, std::int64_t columns) const {
    return Tensor(storage_, rows, columns, type_,
                  offset_bytes_ + static_cast<std::uint64_t>(first) * element_bytes(type_));
  }

 private:
  std::shared_ptr<Storage> storage_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::uint64_t offset_bytes_ = 0;
  ElementType type_ = ElementType::f32;
};

}  // namespace strobe
