// Values that arrive one after the other, as many as a file has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

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
    std::swap(in_memory_, other.in_memory_);
    std::swap(in_file_, other.in_file_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
    std::swap(bound_, other.bound_);
    return *this;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const ReadingBound* bound() const { return bound_; }
  /// Whether `size` values go into a file under this bound.
  static bool leaves_memory(std::size_t size, const ReadingBound* bound) {
    return bound != nullptr && size * sizeof(T) > bound->bytes / share_of_bound;
  }

  /// Takes memory for `size` values at once.
  void reserve(std::size_t size) {
    if (size > room_) make_room(size);
  }
  void push_back(const T& value) {
    const T copy = value;  // it may lie in this column
    if (size_ == room_) make_room(size_ + 1);
    if (is_in_file())
      data_[size_] = copy;
    else
      in_memory_.push_back(copy);
    ++size_;
  }
  void pop_back() {
    --size_;
    if (!is_in_file()) in_memory_.pop_back();
  }
  void append(const T* values, std::size_t count) {
    if (count == 0) return;
    if (count > room_ - size_) make_room(size_ + count);
    if (is_in_file())
      std::memcpy(data_ + size_, values, count * sizeof(T));
    else
      in_memory_.insert(in_memory_.end(), values, values + count);
    size_ += count;
  }
  /// Never smaller than before. New values are zeros, or what `shrink` left in a file.
  void resize(std::size_t size) {
    if (size > room_) make_room(size);
    if (!is_in_file()) in_memory_.resize(size);
    size_ = size;
  }
  void shrink(std::size_t size) { resize(std::min(size, size_)); }
  /// Gives memory beyond the values back. A file keeps its size.
  void fit() {
    if (is_in_file()) return;
    in_memory_.shrink_to_fit();
    data_ = in_memory_.data(), room_ = in_memory_.capacity();
  }
  /// The values; this is empty then.
  Column<T> finish() {
    const std::size_t size = std::exchange(size_, 0);
    data_ = nullptr, room_ = 0;
    if (is_in_file()) return make_column<T>(std::exchange(in_file_, Pages()), size);
    return size == 0 ? Column<T>() : Column<T>(std::exchange(in_memory_, {}));
  }

 private:
  static constexpr std::size_t share_of_bound = 32, least_in_file = (std::size_t{1} << 14) / sizeof(T);

  bool is_in_file() const { return in_file_.bytes() > 0; }
  void make_room(std::size_t size) {
    size = std::max(size, 2 * room_);
    if (!is_in_file() && (bound_ == nullptr || size * sizeof(T) <= bound_->bytes / share_of_bound)) {
      in_memory_.reserve(size);
      data_ = in_memory_.data(), room_ = in_memory_.capacity();
      return;
    }
    const PagesInFiles aside(bound_->folder);
    Pages larger(std::max(size, least_in_file) * sizeof(T));
    if (size_ > 0) std::memcpy(larger.data(), data_, size_ * sizeof(T));
    in_file_ = std::move(larger);
    in_memory_ = {};
    data_ = reinterpret_cast<T*>(in_file_.data()), room_ = in_file_.bytes() / sizeof(T);
  }

  std::vector<T> in_memory_;  // [size_], or empty when a file has the values
  Pages in_file_;
  T* data_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
  const ReadingBound* bound_ = nullptr;
};

}  // namespace strobe
