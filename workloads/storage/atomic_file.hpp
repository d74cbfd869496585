// Files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/storage/mapped_file.hpp"
#include "workloads/storage/output_target.hpp"
#include "workloads/storage/unfinished_file.hpp"

namespace strobe {

/// The treatment of a link at the path of a written file. followed: its end is written. replaced: the link itself is
/// replaced, for paths where nobody but Strobe has anything to put.
enum class Links : std::uint8_t { followed, replaced };

/// Writes a file in the same folder as `path` and moves it there in `commit`; without `commit` the destructor removes
/// it. A link that is followed stays a link: the file at its end is replaced. Devices, pipes and descriptors
/// (/dev/null, /dev/stdout) are written directly, from the first full buffer on. Writers of one path do not disturb
/// each other: the last one to commit stays. Every failure of the operating system (disk full, permission) is a
/// SystemError that names the path.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path, Links links = Links::followed);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  /// Whether a file appears: false for a device, a pipe or a descriptor.
  bool makes_file() const { return !target_.direct; }
  /// The path of the file that appears: `path`, or the end of the link at `path`.
  const std::string& end_of_links() const { return target_.path; }
  /// Flushes to the disk, renames, and flushes the folder. Without `durable` it only renames. Returns the mark of the
  /// file after that; an empty mark when the path is no file.
  FileMark commit(bool durable = true);

 private:
  void flush();
  [[noreturn]] void fail(const char* action) const;

  std::string path_;
  OutputTarget target_;
  std::optional<UnfinishedFile> unfinished_;
  int file_ = -1;  // the descriptor of `unfinished_`, or of a target that is written directly
  std::vector<char> buffer_;
};

}  // namespace strobe
