// Links are followed one by one, each relative to its own folder, since the end may not exist. The entries of this
// process's descriptor folder are not followed. Their targets need not be paths, and opening them again would begin at
// the file's first byte instead of the descriptor's position.
#include "workloads/storage/output_target.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "core/errors.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // the limit of Linux itself

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw SystemError(fmt::format("cannot write {}: {}", path, reason));
}

/// The descriptor that `path` names as an entry of this process's folder of them; -1 when it names none.
int named_descriptor(const fs::path& path) {
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return -1;
  std::error_code ignored;
  const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : fs::path("."), ignored);
  return folder == fmt::format("/proc/{}/fd", getpid()) ? number : -1;
}

void check_descriptor(const std::string& path, int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) fail(path, std::strerror(errno));
  if ((flags & O_ACCMODE) == O_RDONLY) fail(path, fmt::format("descriptor {} is open for reading only", descriptor));
}

}  // namespace

OutputTarget output_target(const std::string& path) {
  fs::path at = path;
  std::error_code problem;
  for (int links = 0; true; ++links) {
    if (const int descriptor = named_descriptor(at); descriptor >= 0) {
      check_descriptor(path, descriptor);
      return {at.string(), descriptor, true};
    }
    if (!fs::is_symlink(fs::symlink_status(at, problem))) break;
    if (links == most_links) fail(path, std::strerror(ELOOP));
    const fs::path next = fs::read_symlink(at, problem);
    if (problem) fail(path, problem.message());
    at = at.parent_path() / next;  // an absolute link takes the folder's place
  }
  struct stat status {};
  if (stat(at.c_str(), &status) != 0) return {at.string()};  // is made, or cannot be, which its writer will say
  if (S_ISBLK(status.st_mode)) fail(path, "it is a block device, whose content would be lost");
  if (S_ISSOCK(status.st_mode)) fail(path, "it is a socket");
  return {at.string(), -1, S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)};
}

int open_direct(const OutputTarget& target) {
  if (target.descriptor >= 0) {
    const int file = fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0);
    if (file < 0) fail(target.path, std::strerror(errno));
    return file;
  }
  const int file = open(target.path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0)
    fail(target.path, errno == ENXIO ? "no program reads this pipe; start its reader first" : std::strerror(errno));
  const int flags = fcntl(file, F_GETFL);
  if (flags < 0 || fcntl(file, F_SETFL, flags & ~O_NONBLOCK) != 0) {
    const int error = errno;
    close(file);
    fail(target.path, std::strerror(error));
  }
  return file;
}

}  // namespace strobe
