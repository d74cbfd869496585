// SHA-256 of bytes and files, as lower-case hexadecimal (OpenSSL's libcrypto does the work).
#pragma once

#include <string>
#include <string_view>

namespace strobe {

std::string sha256_hex(std::string_view bytes);

/// SHA-256 of a file's raw bytes. Throws SystemError when it cannot be read.
std::string sha256_file(const std::string& path);

}  // namespace strobe
