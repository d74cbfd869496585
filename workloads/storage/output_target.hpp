// The target of output that a user requests: a file, the end of a link, a device, a pipe or an open descriptor.
#pragma once

#include <string>

namespace strobe {

/// The target of a path to write to.
struct OutputTarget {
  std::string path;     // with links followed to their end, which need not be there yet
  int descriptor = -1;  // of this process, which the path names (/dev/stdout, /dev/fd/3); else -1
  bool direct =
      false;  // a device, a pipe or a descriptor: written directly, because renaming a file over it would replace it
};

/// Follows `path`. Throws SystemError for links that lead to each other, and for targets that cannot be written (a
/// block device, a socket, a descriptor that is not open for writing).
OutputTarget output_target(const std::string& path);

/// Opens a direct target for writing; the caller closes it. Throws SystemError, also for a pipe that nobody reads,
/// where waiting might have no end.
int open_direct(const OutputTarget& target);

}  // namespace strobe
