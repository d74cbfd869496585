// The SHA-256 of a file while something else is done with it.
#pragma once

#include <exception>
#include <string>
#include <thread>

namespace strobe {

/// Hashes a file on a separate thread, or on request where this process has one thread only. The destructor does not
/// wait for the rest of a large file.
class BackgroundDigest {
 public:
  explicit BackgroundDigest(const std::string& path);
  BackgroundDigest(const BackgroundDigest&) = delete;
  BackgroundDigest& operator=(const BackgroundDigest&) = delete;

  const std::string& path() const { return path_; }
  /// Waits for it. Throws SystemError when the file could not be read.
  std::string hex();

 private:
  void compute(const std::stop_token& stop);

  std::string path_, hex_;
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace strobe
