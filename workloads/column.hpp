// Columns of an event graph: read like a const vector, and either memory of their own or a view on a mapped file.
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
  /// A view on `size` values from `data`, valid as long as `keeper` lives.
  Column(std::shared_ptr<const void> keeper, const T* data, std::size_t size)
      : keeper_(std::move(keeper)), data_(data), size_(size) {}
  Column(const Column&) = default;
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column other) noexcept {
    swap(other);
    return *this;
  }

  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T& front() const { return data_[0]; }
  const T& back() const { return data_[size_ - 1]; }
  const_iterator begin() const { return data_; }
  const_iterator end() const { return data_ + size_; }
  std::vector<T> copy() const { return std::vector<T>(begin(), end()); }

  /// The values for writing; valid until the column is copied, resized or destroyed.
  std::span<T> edit() { return own(); }
  void push_back(const T& value) {
    own().push_back(value);
    refresh();
  }
  void resize(std::size_t size, const T& value = T()) {
    own().resize(size, value);
    refresh();
  }
  void assign(std::size_t size, const T& value) { *this = std::vector<T>(size, value); }
  void reserve(std::size_t size) {
    own().reserve(size);
    refresh();
  }
  void clear() { *this = Column(); }

  void swap(Column& other) noexcept {
    std::swap(owned_, other.owned_);
    std::swap(keeper_, other.keeper_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
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
};

/// Times [size()] as doubles, read by value. Whole numbers within 2^32 - 1 of the first time can be stored as 4-byte
/// distances from it instead of 8-byte doubles; both give back exactly the numbers that went in.
class TimeColumn {
 public:
  using value_type = double;

  class const_iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = double;
    using difference_type = std::ptrdiff_t;
    using pointer = const double*;
    using reference = double;

    const_iterator() = default;
    const_iterator(const TimeColumn* column, std::size_t at) : column_(column), at_(at) {}
    double operator*() const { return (*column_)[at_]; }
    double operator[](difference_type n) const { return *(*this + n); }
    const_iterator& operator+=(difference_type n) {
      at_ = static_cast<std::size_t>(static_cast<difference_type>(at_) + n);
      return *this;
    }
    const_iterator& operator-=(difference_type n) { return *this += -n; }
    const_iterator& operator++() { return *this += 1; }
    const_iterator& operator--() { return *this -= 1; }
    const_iterator operator++(int) { return std::exchange(*this, *this + 1); }
    const_iterator operator--(int) { return std::exchange(*this, *this - 1); }
    friend const_iterator operator+(const_iterator a, difference_type n) { return a += n; }
    friend const_iterator operator+(difference_type n, const_iterator a) { return a += n; }
    friend const_iterator operator-(const_iterator a, difference_type n) { return a -= n; }
    friend difference_type operator-(const_iterator a, const_iterator b) {
      return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
    }
    friend bool operator==(const_iterator a, const_iterator b) { return a.at_ == b.at_; }
    friend auto operator<=>(const_iterator a, const_iterator b) { return a.at_ <=> b.at_; }

   private:
    const TimeColumn* column_ = nullptr;
    std::size_t at_ = 0;
  };
  using iterator = const_iterator;

  TimeColumn() = default;
  TimeColumn(std::vector<double> values) : values_(std::move(values)) {}
  TimeColumn(std::initializer_list<double> values) : values_(values) {}
  TimeColumn(Column<double> values) : values_(std::move(values)) {}
  /// Times base + distances[i]; `base` is a whole number below 2^52 in magnitude.
  TimeColumn(double base, Column<std::uint32_t> distances) : distances_(std::move(distances)), base_(base) {}

  bool compact() const { return !distances_.empty(); }
  std::size_t size() const { return compact() ? distances_.size() : values_.size(); }
  bool empty() const { return size() == 0; }
  double operator[](std::size_t i) const { return compact() ? base_ + static_cast<double>(distances_[i]) : values_[i]; }
  double front() const { return (*this)[0]; }
  double back() const { return (*this)[size() - 1]; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size()}; }
  /// Memory of the times in bytes.
  std::size_t bytes() const {
    return compact() ? distances_.size() * sizeof(std::uint32_t) : values_.size() * sizeof(double);
  }

  /// Appends; a compact column becomes one of doubles first.
  void push_back(double time) { doubles().push_back(time); }
  void reserve(std::size_t size) { doubles().reserve(size); }
  void clear() { *this = TimeColumn(); }

  /// How the times are stored: `values` when not compact, else `base` and `distances`.
  const Column<double>& values() const { return values_; }
  const Column<std::uint32_t>& distances() const { return distances_; }
  double base() const { return base_; }

  friend bool operator==(const TimeColumn& a, const TimeColumn& b) { return equal(a, b); }
  friend bool operator==(const TimeColumn& a, const std::vector<double>& b) { return equal(a, b); }

 private:
  template <class Other>
  static bool equal(const TimeColumn& a, const Other& b) {
    bool same = a.size() == b.size();
    for (std::size_t i = 0; same && i < b.size(); ++i) same = a[i] == b[i];
    return same;
  }
  Column<double>& doubles() {
    if (compact()) *this = TimeColumn(std::vector<double>(begin(), end()));
    return values_;
  }

  Column<double> values_;
  Column<std::uint32_t> distances_;
  double base_ = 0;
};

}  // namespace strobe
