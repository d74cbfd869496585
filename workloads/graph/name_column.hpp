// Names of vertices: read like a vector of texts, kept as two columns that may lie in a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/storage/column.hpp"

namespace strobe {

/// Texts [size()]. Copies share their memory.
class NameColumn {
 public:
  NameColumn() = default;
  NameColumn(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      bytes_.append(name.begin(), name.end());
      ends_.push_back(static_cast<std::int64_t>(bytes_.size()));
    }
  }
  /// `ends` [size] is the end of each name in `bytes`, ascending.
  NameColumn(Column<std::int8_t> bytes, Column<std::int64_t> ends) : bytes_(std::move(bytes)), ends_(std::move(ends)) {}

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator(const NameColumn& names, std::size_t at) : names_(&names), at_(at) {}
    std::string_view operator*() const { return (*names_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {*names_, at_++}; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    const NameColumn* names_;
    std::size_t at_;
  };

  std::size_t size() const { return ends_.size(); }
  bool empty() const { return ends_.empty(); }
  std::string_view operator[](std::size_t i) const {
    const std::int64_t begin = i == 0 ? 0 : ends_[i - 1];
    return {reinterpret_cast<const char*>(bytes_.data()) + begin, static_cast<std::size_t>(ends_[i] - begin)};
  }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }
  const Column<std::int8_t>& bytes() const { return bytes_; }
  const Column<std::int64_t>& ends() const { return ends_; }
  void clear() { *this = NameColumn(); }

  friend bool operator==(const NameColumn& a, const NameColumn& b) {
    return a.bytes_ == b.bytes_ && a.ends_ == b.ends_;
  }

 private:
  Column<std::int8_t> bytes_;  // of all names in sequence
  Column<std::int64_t> ends_;
};

}  // namespace strobe
