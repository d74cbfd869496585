// One pass over the file in pieces that stay in the cache; between two it looks whether anybody still wants the result.
#include "workloads/storage/background_digest.hpp"

#include <fstream>
#include <vector>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {

BackgroundDigest::BackgroundDigest(const std::string& path) : path_(path) {
  if (workload_threads() > 1) thread_ = std::jthread([this](const std::stop_token& stop) { compute(stop); });
}

void BackgroundDigest::compute(const std::stop_token& stop) {
  try {
    std::ifstream file(path_, std::ios::binary);
    if (!file) throw SystemError("cannot read " + path_);
    Sha256 hash;
    std::vector<char> piece(1 << 18);
    while (!stop.stop_requested() &&
           (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0))
      hash.update(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (file.bad()) throw SystemError("cannot read " + path_);
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
