#include "workloads/storage/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/errors.hpp"
#include "workloads/storage/pages.hpp"

namespace strobe {

FileMark mark_of(const struct stat& status) {
  const auto nanoseconds = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
  return {status.st_ino, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim), status.st_uid};
}

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not block here
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) throw InvalidInput(path, 0, 0, "no such file");
    throw InvalidInput(path, 0, 0, std::string("cannot be opened: ") + std::strerror(errno));
  }
  struct stat status {};
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  size_ = regular ? static_cast<std::size_t>(status.st_size) : 0;
  mark_ = mark_of(status);
  if (size_ > 0) data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  close(file);
  if (!regular)
    throw InvalidInput(path, 0, 0, S_ISDIR(status.st_mode) ? "is a directory, not a file" : "is not a regular file");
  if (data_ == MAP_FAILED) throw SystemError("cannot map " + path + ": " + std::strerror(error));
  if (data_ == nullptr) return;
  watch_.emplace(path, data_, size_);
  note_file_mapping(data_, size_);
}

MappedFile::~MappedFile() {
  watch_.reset();
  if (data_ == nullptr) return;
  forget_file_mapping(data_);
  munmap(data_, size_);
}

}  // namespace strobe
