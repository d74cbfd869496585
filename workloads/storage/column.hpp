// Large arrays of a graph: read like a const vector, and either memory of their own or a view on a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

namespace strobe {

/// An array [size()] that reads like a const vector. Copies share their memory until one of them is changed; a view on
/// memory that something else owns (a mapped file) becomes memory of its own then.
template <class T>
class Column {
 public:
  using value_type = T;
  using const_iterator = const T*;
  using iterator = const_iterator;

  Column() = default;
  Column(std::vector<T> values) : owned_(std::make_shared<std::vector<T>>(std::move(values))) { refresh(); }
  Column(std::initializer_list<T> values) : Column(std::vector<T>(values)) {}
  /// A view on `size` values from `data`, valid as long as `keeper` lives. `is_private`: no file backs them.
  Column(std::shared_ptr<const void> keeper, const T* data, std::size_t size, bool is_private = false)
      : keeper_(std::move(keeper)), data_(data), size_(size), private_view_(is_private) {}
  Column(const Column&) = default;
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column other) noexcept {
    swap(other);
    return *this;
  }

  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool is_view() const { return keeper_ != nullptr; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  const_iterator begin() const { return data_; }
  const_iterator end() const { return data_ + size_; }
  /// Bytes of private memory; 0 for a view of a file.
  std::size_t own_bytes() const { return owned_ == nullptr && !private_view_ ? 0 : size_ * sizeof(T); }
  /// `size` values from `first` on, as a view that shares this memory. A part of an empty column is empty.
  Column part(std::size_t first, std::size_t size) const {
    if (empty()) return {};
    return {keeper_ ? keeper_ : std::shared_ptr<const void>(owned_), data_ + first, size};
  }
  std::vector<T> copy() const { return std::vector<T>(begin(), end()); }

  /// The values for writing; valid until the column is copied, resized or destroyed.
  std::span<T> edit() { return own(); }
  void push_back(const T& value) {
    own().push_back(value);
    refresh();
  }
  template <class It>
  void append(It first, It last) {
    own().insert(own().end(), first, last);
    refresh();
  }
  void resize(std::size_t size, const T& value = T()) {
    own().resize(size, value);
    refresh();
  }
  void pop_back() { resize(size_ - 1); }
  void assign(std::size_t size, const T& value) { *this = std::vector<T>(size, value); }
  void reserve(std::size_t size) {
    own().reserve(size);
    refresh();
  }
  void clear() { *this = Column(); }
  /// The values as a vector, without a copy if nobody else has them. The column is empty then.
  std::vector<T> release() {
    std::vector<T> values = empty() ? std::vector<T>() : std::move(own());
    clear();
    return values;
  }

  void swap(Column& other) noexcept {
    std::swap(owned_, other.owned_);
    std::swap(keeper_, other.keeper_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(private_view_, other.private_view_);
  }

  friend bool operator==(const Column& a, const Column& b) { return equal(a, b.data(), b.size()); }
  friend bool operator==(const Column& a, const std::vector<T>& b) { return equal(a, b.data(), b.size()); }

 private:
  static bool equal(const Column& a, const T* b, std::size_t size) {
    bool same = a.size() == size;
    for (std::size_t i = 0; same && i < size; ++i) same = a[i] == b[i];
    return same;
  }
  /// Memory that no other column sees.
  std::vector<T>& own() {
    if (!owned_ || owned_.use_count() != 1) {
      owned_ = std::make_shared<std::vector<T>>(begin(), end());
      keeper_.reset();
      refresh();
    }
    return *owned_;
  }
  void refresh() {
    data_ = owned_->data();
    size_ = owned_->size();
  }

  std::shared_ptr<std::vector<T>> owned_;  // null for a view
  std::shared_ptr<const void> keeper_;
  const T* data_ = nullptr;
  std::size_t size_ = 0;
  bool private_view_ = false;
};

}  // namespace strobe
