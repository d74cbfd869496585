// A binary file that is written block by block: sections grow side by side, and only bounds of their lengths are known.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/storage/binary_file.hpp"
#include "workloads/storage/unfinished_file.hpp"

namespace strobe {

/// A section of up to `most` numbers.
struct GrowingSection {
  const char* name;
  const char* type;
  std::size_t width;  // bytes of a number
  std::int64_t most;
  std::int64_t count = 0;  // appended so far
  std::uint64_t begin = 0;
};

template <class T>
GrowingSection growing_section(const char* name, std::int64_t most) {
  return {name, binary_type<T>(), sizeof(T), most};
}

/// Writes a file that BinaryFile reads. It is sparse: what a section does not fill takes no room on the disk. It has no
/// checksums of sections and is not flushed, so it serves processes that run now, and is not for keeping. Every failure
/// of the operating system (disk full) is a SystemError that names the path. Without `commit` the file is removed.
class GrowingFile {
 public:
  GrowingFile(const BinaryKind& kind, const std::string& path, std::vector<GrowingSection> sections);

  /// Appends to section number `section`; more than its bound throws Error.
  template <class T>
  void append(std::size_t section, const std::vector<T>& values) {
    append_bytes(sections_[section], values.data(), static_cast<std::int64_t>(values.size()));
  }

  /// Writes the beginning of the file, and moves the file to its path in one step.
  void commit(Json description);

 private:
  void append_bytes(GrowingSection& section, const void* values, std::int64_t count);
  void write_at(std::uint64_t place, const char* bytes, std::uint64_t size);

  BinaryKind kind_;
  std::string path_;
  std::vector<GrowingSection> sections_;
  UnfinishedFile file_;
  std::uint64_t bytes_ = 0;
};

}  // namespace strobe
