// Packs files into a .tar.gz whose bytes depend on the files alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace strobe {

/// A file of an archive: its name, with at most 99 bytes, and its content.
using PackedFile = std::pair<std::string, std::string>;

/// The bytes of a gzip-compressed tar archive (POSIX.1-1988 ustar, RFC 1952). Times, owners and the name of the archive
/// are left out, so equal files in equal order give equal bytes. Throws Error for a name that is too long and when zlib
/// fails.
std::string packed(const std::vector<PackedFile>& files);

}  // namespace strobe
