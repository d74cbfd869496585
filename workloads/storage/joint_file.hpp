// A binary file that threads and processes of one machine write together, part by part. Only bounds of the lengths of
// its sections are known beforehand.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "workloads/storage/binary_file.hpp"
#include "workloads/storage/shared_parts.hpp"

namespace strobe {

/// A section of up to `most` numbers.
struct JointSection {
  const char* name;
  const char* type;
  std::size_t width;  // bytes of a number
  std::int64_t most;
  std::uint64_t begin = 0;
};

template <class T>
JointSection joint_section(const char* name, std::int64_t most) {
  return {name, binary_type<T>(), sizeof(T), most};
}

/// Writes a file that BinaryFile reads. It is sparse: what a section does not fill takes no room on the disk. It has no
/// checksums of sections and is not flushed, so it serves processes that run now, and is not for keeping. Next to it
/// lie PATH.joint, which is moved to PATH when it is whole, and PATH.parts; who removes PATH removes these. Every
/// failure of the operating system (disk full) is a SystemError that names the path.
class JointFile {
 public:
  /// Every process gives the same arguments.
  JointFile(const BinaryKind& kind, const std::string& path, std::vector<JointSection> sections);
  ~JointFile();
  JointFile(const JointFile&) = delete;
  JointFile& operator=(const JointFile&) = delete;

  /// Puts numbers into section number `section` from place `first` on; a place beyond its bound throws Error. Safe from
  /// several threads.
  template <class T>
  void write(std::size_t section, std::int64_t first, std::span<const T> values) const {
    write_bytes(sections_[section], first, values.data(), static_cast<std::int64_t>(values.size()));
  }
  template <class T>
  void write(std::size_t section, std::int64_t first, const std::vector<T>& values) const {
    write(section, first, std::span<const T>(values));
  }

  /// Makes the parts together with other processes (SharedParts). `describe` gets the sum of their sizes and the
  /// lengths of the sections, all at their bounds, which it may lower; it returns the description. Afterwards the file
  /// is at its path.
  void make(std::int64_t parts, const MakePart& part,
            const std::function<Json(std::int64_t total, std::vector<std::int64_t>& lengths)>& describe, int threads,
            const BeginWait& begin_wait) const;

 private:
  void write_bytes(const JointSection& section, std::int64_t first, const void* values, std::int64_t count) const;
  void write_at(std::uint64_t place, const char* bytes, std::uint64_t size) const;
  void commit(Json description, const std::vector<std::int64_t>& lengths) const;
  [[noreturn]] void cannot_write() const;

  BinaryKind kind_;
  std::string path_;
  std::vector<JointSection> sections_;
  std::uint64_t bytes_ = 0;
  int file_ = -1;
};

}  // namespace strobe
