// Makes .npz archives.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace strobe::test {

inline std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

inline std::string deflated(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// An archive in the form of numpy.savez and savez_compressed: local headers with a 64-bit field, then the directory.
inline std::string archive(const std::vector<std::pair<std::string, std::string>>& arrays, bool packed) {
  std::string file, directory;
  for (const auto& [name, bytes] : arrays) {
    const std::string member = name + ".npy", data = packed ? deflated(bytes) : bytes;
    const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
    const std::string about = little(packed ? 8 : 0, 2) + little(0, 4) + little(sum, 4);
    directory += "PK\1\2" + little(20, 2) + little(20, 2) + little(0, 2) + about + little(data.size(), 4) +
                 little(bytes.size(), 4) + little(member.size(), 2) + little(0, 12) + little(file.size(), 4) + member;
    file += "PK\3\4" + little(45, 2) + little(0, 2) + about + little(0xFFFFFFFF, 4) + little(0xFFFFFFFF, 4) +
            little(member.size(), 2) + little(20, 2) + member + little(1, 2) + little(16, 2) + little(bytes.size(), 8) +
            little(data.size(), 8) + data;
  }
  return file + directory + "PK\5\6" + little(0, 4) + little(arrays.size(), 2) + little(arrays.size(), 2) +
         little(directory.size(), 4) + little(file.size(), 4) + little(0, 2);
}

}  // namespace strobe::test
