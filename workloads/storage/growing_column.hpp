// Values that arrive one after the other, as many as a file has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "workloads/storage/column.hpp"
#include "workloads/storage/pages.hpp"
#include "workloads/storage/reading_bound.hpp"

namespace strobe {

/// A vector of plain values. Under a bound of memory it moves into a temporary file when it gets large, so the system
/// may take its pages out of memory. Made where the bound holds, it keeps to it on every thread.
template <class T>
class GrowingColumn {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit GrowingColumn(const ReadingBound* bound = reading_bound()) : bound_(bound) {}
  /// `size` zeros.
  explicit GrowingColumn(std::size_t size, const ReadingBound* bound) : bound_(bound) { resize(size); }
  GrowingColumn(GrowingColumn&& other) noexcept { *this = std::move(other); }
  GrowingColumn& operator=(GrowingColumn&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(bound_, other.bound_);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return reinterpret_cast<T*>(memory_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data()); }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  const ReadingBound* bound() const { return bound_; }

  void push_back(const T& value) {
    const T copy = value;  // it may lie in this column
    resize(size_ + 1);
    data()[size_ - 1] = copy;
  }
  void append(const T* values, std::size_t count) {
    const std::size_t before = size_;
    resize(size_ + count);
    if (count > 0) std::memcpy(data() + before, values, count * sizeof(T));
  }
  /// Never smaller than before. New values are zeros, or what `shrink` left.
  void resize(std::size_t size) {
    if (size * sizeof(T) > memory_.bytes()) make_room(size * sizeof(T));
    size_ = size;
  }
  void shrink(std::size_t size) { size_ = std::min(size, size_); }
  /// The values; this is empty then.
  Column<T> finish() { return make_column<T>(std::exchange(memory_, Pages()), std::exchange(size_, 0)); }

 private:
  static constexpr std::size_t least_bytes = std::size_t{1} << 14, share_of_bound = 32;

  void make_room(std::size_t bytes) {
    bytes = std::max({bytes, 2 * memory_.bytes(), least_bytes});
    const bool is_large = bound_ != nullptr && bytes > bound_->bytes / share_of_bound;
    const PagesInFiles aside(is_large ? bound_->folder : "");
    Pages larger(bytes);
    if (size_ > 0) std::memcpy(larger.data(), memory_.data(), size_ * sizeof(T));
    memory_ = std::move(larger);
  }

  Pages memory_;
  std::size_t size_ = 0;
  const ReadingBound* bound_ = nullptr;
};

}  // namespace strobe
