// Files that survive a crash: atomic replacement and durable appending. Every failure is a SystemError with the path
// and the system's reason.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "workloads/storage/atomic_file.hpp"

namespace strobe {

/// The whole content of a file. Throws SystemError when it cannot be read.
std::string read_text_file(const std::string& path);

/// Replaces `path` by `content` in one step: temporary file in the same folder, fsync, rename, fsync of the folder. On
/// failure (full disk, permission) the previous file is unchanged and the temporary one is removed; throws SystemError.
/// A link that is followed stays a link, and the file at its end is replaced. A device, a pipe or a descriptor is
/// written directly.
void write_file_atomically(const std::string& path, std::string_view content, Links links = Links::followed);

/// Appends `content`, which survives any end of this process, but not yet a loss of power. On failure the file is cut
/// back to its former length; throws SystemError, also for a link that is not to be followed.
void append(const std::string& path, std::string_view content, Links links = Links::followed);

/// Appends `content` and flushes the file to the disk. On failure the file is cut back to its former length; throws
/// SystemError, also for a link that is not to be followed.
void append_durably(const std::string& path, std::string_view content, Links links = Links::followed);

/// A file that is held open, so that another one of its name can be recognised: while it is open, no other file has its
/// identity.
class HeldFile {
 public:
  HeldFile() = default;
  /// Throws SystemError when it cannot be opened, or is a link.
  explicit HeldFile(const std::string& path);
  /// Whether `path` names it now.
  bool is_at(const std::string& path) const;

 private:
  std::shared_ptr<const int> descriptor_;
};

/// Makes `path` and its parents. Throws SystemError when that cannot be done or `path` is not a folder.
void make_folder(const std::string& path);

/// A lock on the file `path` while the value lives; null when another process holds it. The file is made when it is
/// missing. The lock ends with the process, however that ends. Where the file system has no locks there is none, and
/// the value means nothing. Throws SystemError when the file cannot be opened, or is a link.
std::shared_ptr<void> lock_file(const std::string& path);

/// Writes and flushes a small file without a name in `folder`. Throws SystemError when the folder cannot be written to.
void check_writable(const std::string& folder);

}  // namespace strobe
