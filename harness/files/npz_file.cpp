#include "harness/files/npz_file.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr std::uint16_t zip64_version = 45, zip64_extra = 1, date_of_1980 = (1 << 5) | 1;
constexpr std::uint32_t in_extra = 0xffffffff;

/// Appends a whole number of `bytes` bytes, the lowest first.
void append_whole(std::string& text, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xff);
}

/// Appends the part that is the same in both headers of a member: version, flags, method, time, date, checksum and two
/// sizes. An extra field holds the sizes.
void append_common(std::string& text, std::uint32_t checksum, std::size_t name_bytes, std::size_t extra_bytes) {
  append_whole(text, zip64_version, 2), append_whole(text, 0, 2), append_whole(text, 0, 2);
  append_whole(text, 0, 2), append_whole(text, date_of_1980, 2), append_whole(text, checksum, 4);
  append_whole(text, in_extra, 4), append_whole(text, in_extra, 4);
  append_whole(text, name_bytes, 2), append_whole(text, extra_bytes, 2);
}

std::string npy_header(const std::vector<std::int64_t>& shape) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += fmt::format("{}, ", size);
  std::string header = fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}), }}", sizes);
  header.append((64 - (header.size() + 11) % 64) % 64, ' ');  // magic, version, length and newline take 11 bytes
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  append_whole(text, header.size(), 2);
  return text + header;
}

}  // namespace

void NpzFile::write(std::string_view bytes) {
  file_.write(bytes);
  written_ += bytes.size();
}

void NpzFile::add(const std::string& name, const std::vector<std::int64_t>& shape,
                  const std::function<void(const Sink&)>& pieces) {
  Member member{name + ".npy", 0, 0, written_};
  const std::string header = npy_header(shape);
  unsigned long checksum = crc32(0, nullptr, 0);
  const auto count = [&](std::string_view bytes) {
    checksum = crc32_z(checksum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    member.size += bytes.size();
  };
  count(header);
  pieces(count);
  member.checksum = static_cast<std::uint32_t>(checksum);
  std::string local = "PK\3\4";
  append_common(local, member.checksum, member.name.size(), 20);
  local += member.name;
  append_whole(local, zip64_extra, 2), append_whole(local, 16, 2);
  append_whole(local, member.size, 8), append_whole(local, member.size, 8);
  write(local);
  write(header);
  pieces([this](std::string_view bytes) { write(bytes); });
  if (written_ != member.offset + local.size() + member.size) throw Error("an array had two sizes");
  members_.push_back(member);
}

void NpzFile::commit() {
  const std::uint64_t begin = written_;
  for (const Member& member : members_) {
    std::string central = "PK\1\2";
    append_whole(central, zip64_version, 2);
    append_common(central, member.checksum, member.name.size(), 28);
    append_whole(central, 0, 2), append_whole(central, 0, 2), append_whole(central, 0, 2);  // comment, disk, attributes
    append_whole(central, 0, 4), append_whole(central, in_extra, 4);
    central += member.name;
    append_whole(central, zip64_extra, 2), append_whole(central, 24, 2);
    append_whole(central, member.size, 8), append_whole(central, member.size, 8);
    append_whole(central, member.offset, 8);
    write(central);
  }
  const std::uint64_t end = written_, count = members_.size();
  std::string last = "PK\6\6";  // the zip64 end of the central directory, then its locator, then the short end
  append_whole(last, 44, 8), append_whole(last, zip64_version, 2), append_whole(last, zip64_version, 2);
  append_whole(last, 0, 4), append_whole(last, 0, 4), append_whole(last, count, 8), append_whole(last, count, 8);
  append_whole(last, end - begin, 8), append_whole(last, begin, 8);
  last += "PK\6\7";
  append_whole(last, 0, 4), append_whole(last, end, 8), append_whole(last, 1, 4);
  last += "PK\5\6";
  append_whole(last, 0, 2), append_whole(last, 0, 2), append_whole(last, count, 2), append_whole(last, count, 2);
  append_whole(last, in_extra, 4), append_whole(last, in_extra, 4), append_whole(last, 0, 2);
  write(last);
  file_.commit();
}

}  // namespace strobe
