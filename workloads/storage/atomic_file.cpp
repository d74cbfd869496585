// Temporary file in the target's folder, fsync, rename, fsync of the folder. A target that is no file is written
// directly.
#include "workloads/storage/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

}  // namespace

AtomicFile::AtomicFile(const std::string& path, Links links)
    : path_(path), target_(links == Links::followed ? output_target(path) : OutputTarget{path}) {
  if (target_.direct)
    return;  // opened only when there are bytes to write: closing it ends the input of a pipe's reader
  unfinished_.emplace(target_.path);
  file_ = unfinished_->descriptor();
  buffer_.reserve(buffer_bytes);
}

AtomicFile::~AtomicFile() {
  if (target_.direct && file_ >= 0) close(file_);
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

FileMark AtomicFile::commit(bool durable) {
  flush();
  if (target_.direct) return {};
  if (durable && fsync(file_) != 0) fail("write");
  unfinished_->move_to_path();
  struct stat status {};
  if (fstat(file_, &status) != 0) fail("look at");
  const FileMark mark = mark_of(status);  // now, as a file that is renamed has changed
  unfinished_.reset();
  file_ = -1;
  if (!durable) return mark;
  const std::filesystem::path folder = std::filesystem::absolute(target_.path).parent_path();
  const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return mark;  // the file is whole; a folder that cannot be opened cannot be flushed
  fsync(directory);
  close(directory);
  return mark;
}

void AtomicFile::fail(const char* action) const {
  throw SystemError(std::string("cannot ") + action + " " + path_ + ": " + std::strerror(errno));
}

}  // namespace strobe
