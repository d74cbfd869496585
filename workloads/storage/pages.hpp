// Memory straight from the operating system: untouched pages cost nothing, and freed ones are given back at once, which
// malloc does not promise. Building a large graph stays within its bound because of both.
#pragma once

#include <cstddef>
#include <memory>

#include "workloads/storage/column.hpp"

namespace strobe {

/// `bytes()` zero bytes, aligned to a page. Throws SystemError when there is no memory.
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// Requests large pages, which make random access to all of the memory faster.
  void prefer_large();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A column that owns `pages`, of `size` values from its beginning.
template <class T>
Column<T> make_column(Pages pages, std::size_t size) {
  if (size == 0) return {};
  const auto keeper = std::make_shared<const Pages>(std::move(pages));
  return Column<T>(keeper, reinterpret_cast<const T*>(keeper->data()), size, true);
}

}  // namespace strobe
