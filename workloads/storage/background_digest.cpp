// One pass over the file in pieces that stay in the cache; between two pieces it checks whether the result is still
// needed.
#include "workloads/storage/background_digest.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <system_error>
#include <vector>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {
namespace {

/// The facts that change when a file is written, cut or replaced. Zeros for a missing file, which the opening reports.
struct FileState {
  std::uint64_t inode = 0;
  std::int64_t bytes = 0, seconds = 0, nanoseconds = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};

FileState state_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  return {status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

}  // namespace

BackgroundDigest::BackgroundDigest(const std::string& path) : path_(path) {
  if (workload_threads() <= 1) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { compute(stop); });
  } catch (const std::system_error&) {  // no thread is available: `hex` computes it
  }
}

void BackgroundDigest::compute(const std::stop_token& stop) {
  try {
    const FileState begun = state_of(path_);
    std::ifstream file(path_, std::ios::binary);
    if (!file) throw SystemError("cannot read " + path_ + ": " + std::strerror(errno));
    Sha256 hash;
    std::vector<char> piece(1 << 18);
    while (!stop.stop_requested() &&
           (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0))
      hash.update(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (file.bad()) throw SystemError("cannot read " + path_ + ": " + std::strerror(errno));
    if (!stop.stop_requested() && state_of(path_) != begun)
      throw InvalidInput(path_, 0, 0, "was changed while Strobe read it; run again when no program writes to it");
    hex_ = hash.hex();
  } catch (...) {
    error_ = std::current_exception();
  }
}

std::string BackgroundDigest::hex() {
  if (thread_.joinable()) thread_.join();
  if (hex_.empty() && !error_) compute({});
  if (error_) std::rethrow_exception(error_);
  return hex_;
}

}  // namespace strobe
