// Files under temporary names, in the folder of the files that they will become.
#pragma once

#include <string>

namespace strobe {

/// A new, empty file PATH.tmp.PID.NUMBER, which nobody else has opened and which is no link. If it cannot be made, the
/// next number is tried. While the value lives it holds a lock, which shows others that its writer is alive. Files of
/// PATH whose writers are gone are removed first. The destructor removes the file, unless it was moved.
class UnfinishedFile {
 public:
  /// `path` is where the file will go, its links followed. Throws SystemError that names it.
  explicit UnfinishedFile(const std::string& path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  int descriptor() const { return descriptor_; }
  /// Puts the file in the place of `path`, in one step; the descriptor stays open. Throws SystemError.
  void move_to_path();

 private:
  bool make(const std::string& name);

  std::string path_;
  std::string name_;  // "" once it was moved
  int descriptor_ = -1;
  int slot_ = -1;  // where a signal's handler finds the name
};

/// Whether a file can be made in a folder and filled: makes one that has no name, or none for longer than a moment.
/// Throws SystemError that names the folder.
void probe_folder(const std::string& folder);

/// Removes the temporary files of this process. May be called in a signal's handler, and only when the process ends
/// after it.
void remove_unfinished_files() noexcept;

}  // namespace strobe
