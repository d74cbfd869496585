// Files that appear whole or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/mapped_file.hpp"

namespace strobe {

/// Writes beside `path` and moves the file there in `commit`; without it the destructor removes what was written.
/// Writers of one path do not disturb each other: the last one to commit stays. Every failure of the operating system
/// (disk full, permission) is a SystemError that names the path.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  /// The mark of the file with all that was written so far; it keeps it through `commit`.
  FileMark mark();
  /// Replaces the first bytes and gives the file back its mark.
  void overwrite_begin(std::string_view bytes, const FileMark& mark);
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
