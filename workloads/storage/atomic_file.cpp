// Temporary file in the target's folder, fsync, rename, fsync of the folder; what is no file is written as it comes.
#include "workloads/storage/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(output_target(path)) {
  if (target_.direct)
    return;  // opened when there is something to write: closing it is the end of what a pipe's reader reads
  static std::atomic<std::uint64_t> number{0};
  do {  // the name is new for every writer of this process; one of another machine may have it on a shared disk
    temporary_ = fmt::format("{}.tmp.{}.{}", target_.path, getpid(), number.fetch_add(1));
    file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) fail("create");
  buffer_.reserve(buffer_bytes);
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  close(file_);
  if (!target_.direct) unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), buffer_bytes - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(part));
    bytes.remove_prefix(part);
    if (buffer_.size() == buffer_bytes) flush();
  }
}

void AtomicFile::flush() {
  if (buffer_.empty()) return;
  if (file_ < 0) file_ = open_direct(target_);
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t written = ::write(file_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno != EINTR) fail("write");
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  buffer_.clear();
}

FileMark AtomicFile::mark() {
  flush();
  struct stat status {};
  if (fstat(file_, &status) != 0) fail("look at");
  return {status.st_ino, status.st_mtim.tv_sec * nanoseconds_per_second + status.st_mtim.tv_nsec};
}

void AtomicFile::commit() {
  flush();
  if (target_.direct) return;
  if (fsync(file_) != 0) fail("write");
  if (std::rename(temporary_.c_str(), target_.path.c_str()) != 0) fail("rename a temporary file to");
  close(file_);
  file_ = -1;
  const std::filesystem::path folder = std::filesystem::absolute(target_.path).parent_path();
  const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;  // the file is whole; a folder that cannot be opened cannot be flushed
  fsync(directory);
  close(directory);
}

void AtomicFile::fail(const char* action) const {
  throw SystemError(std::string("cannot ") + action + " " + path_ + ": " + std::strerror(errno));
}

}  // namespace strobe
