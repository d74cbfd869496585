// The files that reading a graph looks at, so that a cache of the graph knows when it is stale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace strobe {

/// A file as it was when it was looked at.
struct InputFile {
  std::string path;  // absolute
  bool exists = false;
  std::uint64_t bytes = 0, inode = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  friend bool operator==(const InputFile&, const InputFile&) = default;
};

/// The file `path` now.
InputFile look_at_file(const std::string& path);

/// Collects what this thread notes while the object lives; the innermost log gets it.
class InputLog {
 public:
  InputLog();
  ~InputLog();
  InputLog(const InputLog&) = delete;
  InputLog& operator=(const InputLog&) = delete;
  const std::vector<InputFile>& files() const { return files_; }

 private:
  friend void note_input(const std::string& path);
  std::vector<InputFile> files_;
  InputLog* outer_;
};

/// States that the graph depends on `path`. ByteSource does this for every file that it opens.
void note_input(const std::string& path);

/// Whether a companion file exists. Either answer is noted, so formats must look for companions with this.
bool input_exists(const std::string& path);

}  // namespace strobe
