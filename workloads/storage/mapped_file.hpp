// A file's bytes as memory, read from the disk when they are touched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace strobe {

/// What changes with every ordinary change of a file: another file, or another time of change.
struct FileMark {
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;  // since 1970
  friend bool operator==(const FileMark&, const FileMark&) = default;
};

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
};

}  // namespace strobe
