// A file's bytes as memory, read from the disk when they are touched.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/storage/mapping_watch.hpp"

namespace strobe {

/// The facts that change with every change of a file. The file's owner can set the time of modification. The time of
/// change is the system's own, so it separates a file that was put back from one that was not touched.
struct FileMark {
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;  // since 1970
  std::int64_t changed_ns = 0;
  std::uint32_t owner = 0;  // the user's number
  friend bool operator==(const FileMark&, const FileMark&) = default;
};

FileMark mark_of(const struct stat& status);

/// A regular file mapped for reading. Throws InvalidInput when there is none, SystemError when it cannot be mapped.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  const FileMark& mark() const { return mark_; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  FileMark mark_;
  std::optional<MappingWatch> watch_;
};

}  // namespace strobe
