#include "results/run/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/errors.hpp"
#include "workloads/storage/unfinished_file.hpp"

namespace strobe {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw SystemError(fmt::format("cannot {} {}: {}", what, path, std::strerror(error)));
}

/// An open file descriptor, closed on every way out.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) fail("open", path, errno);
  }
  ~Descriptor() { ::close(descriptor_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return descriptor_; }

  void write_all(std::string_view content) const {
    while (!content.empty()) {
      const ssize_t written = ::write(descriptor_, content.data(), content.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write", path_, errno);
      content.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void flush() const {
    // Pipes and devices cannot be synchronised and say so with EINVAL or ENOTSUP; there is nothing to lose there.
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != ENOTSUP) fail("flush", path_, errno);
  }

 private:
  std::string path_;
  int descriptor_;
};

/// A link in a place of ours is no file of ours: opening it fails.
int flags_of(Links links) { return links == Links::followed ? 0 : O_NOFOLLOW; }

void append_to(const std::string& path, std::string_view content, bool flush, Links links) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_APPEND | flags_of(links));
  struct stat before {};
  if (::fstat(file.get(), &before) != 0) fail("examine", path, errno);
  try {
    file.write_all(content);
    if (flush) file.flush();
  } catch (const SystemError&) {
    if (S_ISREG(before.st_mode) && ::ftruncate(file.get(), before.st_size) != 0) {
      fail("cut back after a failed write", path, errno);
    }
    throw;
  }
}

}  // namespace

std::string read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("read", path, errno);
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad()) fail("read", path, errno);
  return content.str();
}

void write_file_atomically(const std::string& path, std::string_view content, Links links) {
  AtomicFile file(path, links);
  file.write(content);
  file.commit();
}

void append(const std::string& path, std::string_view content, Links links) { append_to(path, content, false, links); }

void append_durably(const std::string& path, std::string_view content, Links links) {
  append_to(path, content, true, links);
}

HeldFile::HeldFile(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) fail("open", path, errno);
  descriptor_ = std::shared_ptr<const int>(new int(descriptor), [](const int* held) {
    ::close(*held);
    delete held;
  });
}

bool HeldFile::is_at(const std::string& path) const {
  struct stat own {
  }, there{};
  return descriptor_ != nullptr && ::fstat(*descriptor_, &own) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail("make the folder", path, error.value());
  if (!std::filesystem::is_directory(path, error)) fail("make the folder", path, ENOTDIR);
}

std::shared_ptr<void> lock_file(const std::string& path) {
  auto file = std::make_shared<Descriptor>(path, O_RDWR | O_CREAT | O_NOFOLLOW);
  while (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return nullptr;
    break;
  }
  return file;
}

void check_writable(const std::string& folder) { probe_folder(folder); }

}  // namespace strobe
