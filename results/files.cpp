#include "results/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/errors.hpp"
#include "workloads/storage/output_target.hpp"

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
  explicit Descriptor(const OutputTarget& direct) : path_(direct.path), descriptor_(open_direct(direct)) {}
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

std::string folder_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

void append_to(const std::string& path, std::string_view content, bool flush) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_APPEND);
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

void write_file_atomically(const std::string& path, std::string_view content) {
  const OutputTarget target = output_target(path);
  if (target.direct) {
    if (!content.empty()) Descriptor(target).write_all(content);
    return;
  }
  const std::string temporary = target.path + ".partial";
  try {
    const Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    file.write_all(content);
    file.flush();
  } catch (const SystemError&) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (std::rename(temporary.c_str(), target.path.c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    fail("replace", path, error);
  }
  Descriptor(folder_of(target.path), O_RDONLY | O_DIRECTORY).flush();
}

void append(const std::string& path, std::string_view content) { append_to(path, content, false); }

void append_durably(const std::string& path, std::string_view content) { append_to(path, content, true); }

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail("make the folder", path, error.value());
  if (!std::filesystem::is_directory(path, error)) fail("make the folder", path, ENOTDIR);
}

std::shared_ptr<void> lock_file(const std::string& path) {
  auto file = std::make_shared<Descriptor>(path, O_RDWR | O_CREAT);
  while (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return nullptr;
    break;
  }
  return file;
}

void check_writable(const std::string& folder) {
  const std::string probe = (std::filesystem::path(folder) / ".write_probe").string();
  try {
    const Descriptor file(probe, O_WRONLY | O_CREAT | O_TRUNC);
    file.write_all("probe\n");
    file.flush();
  } catch (const SystemError&) {
    ::unlink(probe.c_str());
    throw;
  }
  ::unlink(probe.c_str());
}

}  // namespace strobe
