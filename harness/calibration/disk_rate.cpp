// Returns the rate of one pass over a file that is not in the page cache. If too much of it stays in the cache, there
// is no rate, because a memory rate must not pass for a disk rate. Invariant: no file is left on the disk. Cost: the
// file, written and read once.
#include "harness/calibration/disk_rate.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{1} << 20;
constexpr double most_held = 0.02;  // share of pages that may still be in memory

[[noreturn]] void fail_disk(const std::string& what) {
  throw SystemError(fmt::format("{}: {}", what, std::strerror(errno)));
}

/// A file with a unique name, removed by the destructor.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder) : path_(folder + "/strobe-disk-XXXXXX") {
    descriptor_ = ::mkostemp(path_.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail_disk("no file could be made in " + folder);
  }
  ~ScratchFile() {
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  int get() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Writes content that no file system can compress.
void write_disk_file(int file, std::int64_t bytes) {
  std::vector<std::uint64_t> block(static_cast<std::size_t>(block_bytes) / sizeof(std::uint64_t));
  std::uint64_t state = 1;
  for (std::int64_t at = 0; at < bytes; at += block_bytes) {
    for (std::uint64_t& word : block) word = state = state * 6364136223846793005u + 1442695040888963407u;
    const std::size_t length = std::min(block_bytes, bytes - at);
    if (::pwrite(file, block.data(), length, at) != static_cast<ssize_t>(length)) fail_disk("the file was not written");
  }
  if (::fsync(file) != 0) fail_disk("the file was not flushed");
}

/// The share of the file's pages that are in memory.
double held_share(int file, std::int64_t bytes) {
  const std::size_t length = bytes;
  void* const map = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file, 0);
  if (map == MAP_FAILED) fail_disk("the file could not be mapped");
  const std::size_t page = ::sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> held((length + page - 1) / page);
  const int status = ::mincore(map, length, held.data());
  ::munmap(map, length);
  if (status != 0) fail_disk("what memory holds of the file is not known");
  const auto count = std::count_if(held.begin(), held.end(), [](unsigned char of_page) { return (of_page & 1) != 0; });
  return static_cast<double>(count) / static_cast<double>(held.size());
}

void drop_from_cache(int file, std::int64_t bytes) {
  if (const int error = ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED); error != 0) {
    errno = error;
    fail_disk("the page cache was not emptied");
  }
  const double share = held_share(file, bytes);
  if (share <= most_held) return;
  throw SystemError(
      fmt::format("{:.0f} % of the file stayed in memory, as on a file system that lies there", 100 * share));
}

HostWork reading(int file, std::int64_t bytes) {
  HostWork work;
  work.name = "read_in_order";
  work.work = {0, 0, static_cast<double>(bytes)};
  work.disk_bytes = static_cast<double>(bytes);
  work.body = [file, bytes](Workers&) {
    std::vector<char> block(block_bytes);
    for (std::int64_t at = 0; at < bytes;) {
      const ssize_t got = ::pread(file, block.data(), block.size(), at);
      if (got <= 0) fail_disk("the file was not read");
      at += got;
    }
  };
  return work;
}

}  // namespace

DiskRate disk_rate(const std::string& folder, std::int64_t bytes, const std::function<double(HostWork)>& seconds_of) {
  try {
    const ScratchFile file(folder);
    write_disk_file(file.get(), bytes);
    drop_from_cache(file.get(), bytes);
    const double seconds = seconds_of(reading(file.get(), bytes));
    if (!(seconds > 0)) return {0, "the clock stood still"};
    return {static_cast<double>(bytes) / seconds, ""};
  } catch (const SystemError& error) {
    return {0, error.what()};
  }
}

}  // namespace strobe
