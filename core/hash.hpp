// SHA-256 of bytes and files, as lower-case hexadecimal (OpenSSL's libcrypto does the work).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace strobe {

/// SHA-256 of bytes that arrive in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(const void* bytes, std::size_t size);
  /// The digest of all bytes so far. Nothing can be added afterwards.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);

/// SHA-256 of a file's raw bytes. Throws SystemError when it cannot be read.
std::string sha256_file(const std::string& path);

}  // namespace strobe
