// Memory straight from the operating system: untouched pages cost nothing, and freed ones are given back at once, which
// malloc does not promise. Building a large graph stays within its bound because of both.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "workloads/storage/column.hpp"

namespace strobe {

/// While one lives, large `Pages` that this thread makes lie in temporary files of a folder instead of memory. The
/// system may then take their memory back at any time. The files have no name, so they vanish with the process.
class PagesInFiles {
 public:
  /// "" means memory.
  explicit PagesInFiles(std::string folder);
  ~PagesInFiles();
  PagesInFiles(const PagesInFiles&) = delete;
  PagesInFiles& operator=(const PagesInFiles&) = delete;

 private:
  std::string folder_;
  const std::string* outer_;
};

/// Gives the memory of bytes that lie in such files, or in a `MappedFile`, back until they are read again. Does nothing
/// for other bytes.
void rest_pages(const void* data, std::size_t bytes);

/// Asks the system to read such bytes from the disk soon, without waiting for them. Does nothing for other bytes.
void read_pages_ahead(const void* data, std::size_t bytes);

/// Reads such bytes and returns when they are in memory. Asks for few pages at a time, because the system cannot take
/// back pages that it is reading. Does nothing for other bytes.
void bring_pages(const void* data, std::size_t bytes);

/// Tells all of them of the mapping of a file, which has all that was written to the memory, and of its end.
void note_file_mapping(const void* data, std::size_t bytes);
void forget_file_mapping(const void* data);

/// `bytes()` zero bytes, aligned to a page. Throws SystemError when there is no memory, or no room on the disk.
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept { *this = std::move(other); }
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(in_file_, other.in_file_);
    return *this;
  }

  /// Requests large pages, which make random access to all of the memory faster.
  void prefer_large();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool in_file() const { return in_file_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool in_file_ = false;
};

/// A column that owns `pages`, of `size` values from its beginning. `is_private`: as in Column.
template <class T>
Column<T> make_column(Pages pages, std::size_t size, bool is_private = true) {
  if (size == 0) return {};
  const auto keeper = std::make_shared<const Pages>(std::move(pages));
  return Column<T>(keeper, reinterpret_cast<const T*>(keeper->data()), size, is_private);
}

}  // namespace strobe
