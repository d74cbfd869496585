// The times of an event graph: read like a const vector of doubles, stored in as few bits as they need.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "workloads/storage/column.hpp"
#include "workloads/storage/packed_times.hpp"

namespace strobe {

/// Times [size()] as doubles, read by value: packed or unpacked. Both return exactly the numbers that went in.
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
  TimeColumn(PackedTimes packed) : packed_(std::move(packed)) {}

  bool compact() const { return !packed_.empty(); }
  std::size_t size() const { return compact() ? packed_.size() : values_.size(); }
  bool empty() const { return size() == 0; }
  double operator[](std::size_t i) const { return compact() ? packed_[i] : values_[i]; }
  /// Asks for the memory of time i, which is read soon.
  void bring_in(std::size_t i) const { compact() ? packed_.bring_in(i) : __builtin_prefetch(values_.data() + i); }
  double front() const { return (*this)[0]; }
  double back() const { return (*this)[size() - 1]; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size()}; }
  /// The times [first, first + out.size()): the fast way to many.
  void copy(std::size_t first, std::span<double> out) const {
    if (compact())
      packed_.copy(first, out);
    else
      std::copy_n(values_.begin() + first, out.size(), out.begin());
  }
  /// Memory of the times in bytes, bookkeeping included.
  std::size_t bytes() const { return compact() ? packed_.bytes() : values_.size() * sizeof(double); }

  /// The same without views of files.
  std::size_t own_bytes() const { return compact() ? packed_.own_bytes() : values_.own_bytes(); }

  /// Appends; a compact column becomes one of doubles first.
  void push_back(double time) { doubles().push_back(time); }
  void reserve(std::size_t size) { doubles().reserve(size); }
  void clear() { *this = TimeColumn(); }

  /// How the times are stored: `values` when not compact, else `packed`.
  const Column<double>& values() const { return values_; }
  const PackedTimes& packed() const { return packed_; }

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
  PackedTimes packed_;
};

}  // namespace strobe
