// Files that appear whole or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strobe {

/// Writes beside `path` and moves the file there in `commit`; without it the destructor removes what was written.
/// Every failure of the operating system (disk full, permission) is a SystemError that names the path.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  /// Flushes to the disk, renames, and flushes the folder.
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(const char* action) const;

  std::string path_, temporary_;
  int file_ = -1;
  std::vector<char> buffer_;
};

}  // namespace strobe
