// A file's room on the disk is taken before the file is mapped: a full disk is then an error with a message. Otherwise
// the system would end the process at some later write.
#include "workloads/storage/pages.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>

#include "core/errors.hpp"
#include "core/units.hpp"
#include "workloads/storage/unfinished_file.hpp"

namespace strobe {
namespace {

constexpr std::size_t least_in_file = std::size_t{1} << 16;

/// Null: memory. A pointer has no destructor, which a thread could not register without memory.
constinit thread_local const std::string* pages_folder = nullptr;

/// The mappings of files: address to size.
struct FileMappings {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> sizes;
};
FileMappings& file_mappings() {
  static FileMappings mappings;
  return mappings;
}

int open_nameless(const std::string& folder) {
  const int file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;  // not every file system makes files without a name
  const UnfinishedFile named((std::filesystem::path(folder) / "strobe-pages").string());
  return dup(named.descriptor());
}

void take_room(int file, std::size_t bytes, const std::string& folder) {
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0) return;
  close(file);
  std::error_code ignored;
  const std::filesystem::space_info space = std::filesystem::space(folder, ignored);
  throw SystemError(fmt::format("a temporary file in {} needs {}, and {} are free: {}", folder,
                                format_bytes(static_cast<double>(bytes)),
                                format_bytes(static_cast<double>(space.available)), std::strerror(error)));
}

std::byte* map_file(std::size_t bytes, const std::string& folder) {
  const int file = open_nameless(folder);
  if (file < 0) throw SystemError(fmt::format("cannot make a temporary file in {}: {}", folder, std::strerror(errno)));
  take_room(file, bytes, folder);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  close(file);
  if (memory == MAP_FAILED)
    throw SystemError(fmt::format("cannot map {} bytes of a temporary file: {}", bytes, std::strerror(error)));
  note_file_mapping(memory, bytes);
  return static_cast<std::byte*>(memory);
}

/// The pages of bytes that lie in a mapped file; none if they lie elsewhere.
std::span<std::byte> pages_of_file(const void* data, std::size_t bytes) {
  const std::uintptr_t page = sysconf(_SC_PAGESIZE), begin = reinterpret_cast<std::uintptr_t>(data);
  FileMappings& known = file_mappings();
  const std::lock_guard lock(known.mutex);
  auto at = known.sizes.upper_bound(begin);
  if (at == known.sizes.begin()) return {};
  --at;
  if (at->first + at->second <= begin) return {};
  const std::uintptr_t first = begin / page * page, last = std::min(begin + bytes, at->first + at->second);
  if (last <= first) return {};
  return {reinterpret_cast<std::byte*>(first), last - first};
}

}  // namespace

PagesInFiles::PagesInFiles(std::string folder)
    : folder_(std::move(folder)), outer_(std::exchange(pages_folder, folder_.empty() ? nullptr : &folder_)) {}
PagesInFiles::~PagesInFiles() { pages_folder = outer_; }

void note_file_mapping(const void* data, std::size_t bytes) {
  const std::lock_guard lock(file_mappings().mutex);
  file_mappings().sizes[reinterpret_cast<std::uintptr_t>(data)] = bytes;
}

void forget_file_mapping(const void* data) {
  const std::lock_guard lock(file_mappings().mutex);
  file_mappings().sizes.erase(reinterpret_cast<std::uintptr_t>(data));
}

void rest_pages(const void* data, std::size_t bytes) {
  const std::span<std::byte> pages = pages_of_file(data, bytes);
  if (!pages.empty()) madvise(pages.data(), pages.size(), MADV_DONTNEED);  // the file keeps what was written
}

void read_pages_ahead(const void* data, std::size_t bytes) {
  static constexpr std::size_t most = std::size_t{128} << 10;  // Linux leaves out what one call names beyond its window
  const std::span<std::byte> pages = pages_of_file(data, bytes);
  for (std::size_t done = 0; done < pages.size(); done += most)
    madvise(pages.data() + done, std::min(most, pages.size() - done), MADV_WILLNEED);
}

void bring_pages(const void* data, std::size_t bytes) {
  static constexpr std::size_t window = std::size_t{1} << 20;
  const std::span<std::byte> pages = pages_of_file(data, bytes);
  const std::size_t page = sysconf(_SC_PAGESIZE);
  for (std::size_t begin = 0; begin < pages.size(); begin += window) {
    const std::size_t end = std::min(begin + window, pages.size());
    if (begin == 0) read_pages_ahead(pages.data(), end);
    if (end < pages.size()) read_pages_ahead(pages.data() + end, std::min(window, pages.size() - end));
    for (std::size_t at = begin; at < end; at += page) *static_cast<const volatile std::byte*>(pages.data() + at);
  }
}

Pages::Pages(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  in_file_ = pages_folder != nullptr && bytes >= least_in_file;
  if (in_file_) {
    data_ = map_file(bytes, *pages_folder);
    return;
  }
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw SystemError(fmt::format("cannot get {} bytes of memory: {}", bytes, std::strerror(errno)));
  data_ = static_cast<std::byte*>(memory);
}

void Pages::prefer_large() {
  if (data_ != nullptr && !in_file_) madvise(data_, bytes_, MADV_HUGEPAGE);  // a hint; nothing depends on it
}

Pages::~Pages() {
  if (data_ == nullptr) return;
  if (in_file_) forget_file_mapping(data_);
  munmap(data_, bytes_);
}

}  // namespace strobe
