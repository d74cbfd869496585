// Cost: one copy of the files in memory. An entry of the board has a few megabytes.
#include "harness/cli/submission/archive.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <numeric>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr std::size_t tar_block = 512;

/// A number as tar has it: octal digits, then a zero byte.
void put_octal(std::string& header, std::size_t at, std::size_t size, std::size_t value) {
  header.replace(at, size - 1, fmt::format("{:0{}o}", value, size - 1));
}

/// The 512 bytes in front of a file. Fields and offsets: POSIX.1-1988, ustar.
std::string tar_header(const std::string& name, std::size_t bytes) {
  if (name.size() > 99) throw Error(fmt::format("the name {} is too long for a tar archive", name));
  std::string header(tar_block, '\0');
  header.replace(0, name.size(), name);
  put_octal(header, 100, 8, 0644);
  put_octal(header, 108, 8, 0);
  put_octal(header, 116, 8, 0);
  put_octal(header, 124, 12, bytes);
  put_octal(header, 136, 12, 0);
  header.replace(148, 8, 8, ' ');  // the checksum counts itself as blanks
  header[156] = '0';
  header.replace(257, 5, "ustar");
  header.replace(263, 2, "00");
  const std::size_t sum = std::accumulate(header.begin(), header.end(), std::size_t{0}, [](std::size_t so_far, char c) {
    return so_far + static_cast<unsigned char>(c);
  });
  header.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
  return header;
}

/// gzip with a header that names no file and no time.
std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  constexpr int with_gzip_header = 15 + 16;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, with_gzip_header, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("zlib could not start to compress");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) throw Error("zlib could not compress the entry");
  return out;
}

}  // namespace

std::string packed(const std::vector<PackedFile>& files) {
  std::string tar;
  for (const auto& [name, content] : files) {
    tar += tar_header(name, content.size()) + content;
    tar.append((tar_block - content.size() % tar_block) % tar_block, '\0');
  }
  tar.append(2 * tar_block, '\0');
  return gzipped(tar);
}

}  // namespace strobe
