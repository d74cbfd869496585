// Reads the central directory at the end of the archive; it alone gives places and lengths of members. A member with a
// false length cannot make the reader allocate more than its bytes unpack to.
// Source: PKWARE, .ZIP File Format Specification 6.3, without archives in parts, encryption and 64-bit directories.
#include "workloads/reading/text/zip_archive.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"
#include "workloads/reading/text/inputs.hpp"
#include "workloads/reading/text/text_reader.hpp"
#include "workloads/storage/growing_column.hpp"

namespace strobe {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t end_bytes = 22, entry_bytes = 46, local_bytes = 30, longest_comment = 65535;
constexpr std::size_t inflated_piece = std::size_t{1} << 20;
constexpr std::uint32_t in_64_bits = 0xFFFFFFFF;

/// A little-endian number of 2 or 4 bytes.
std::uint32_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, size);
  return value;
}

}  // namespace

void ZipArchive::fail(const std::string& message) const { throw InvalidInput(path_, 0, 0, "zip archive: " + message); }

ZipArchive::ZipArchive(const std::string& path) : path_(path), file_(std::make_shared<const MappedFile>(path)) {
  note_input(path);
  const std::string_view bytes = file_->bytes();
  const std::size_t near_end = bytes.size() - std::min(bytes.size(), end_bytes + longest_comment);
  const std::size_t end = bytes.rfind("PK\5\6"sv);
  if (end == std::string_view::npos || end < near_end || bytes.size() - end < end_bytes)
    fail("its directory is missing; is it whole?");
  const std::size_t count = number(bytes, end + 10, 2), size = number(bytes, end + 12, 4);
  std::size_t at = number(bytes, end + 16, 4);
  if (at == in_64_bits || count == 0xFFFF) fail("archives with a 64-bit directory are not read");
  if (at > end || size > end - at) fail("its directory lies outside of it");
  for (std::size_t i = 0; i < count; ++i) {
    if (end - at < entry_bytes || bytes.substr(at, 4) != "PK\1\2"sv) fail("its directory is damaged");
    const std::size_t name = number(bytes, at + 28, 2), extra = number(bytes, at + 30, 2),
                      comment = number(bytes, at + 32, 2);
    if (end - at - entry_bytes < name + extra + comment) fail("its directory is damaged");
    add_member(bytes.substr(at, entry_bytes + name), name);
    at += entry_bytes + name + extra + comment;
  }
}

void ZipArchive::add_member(std::string_view record, std::size_t name_size) {
  const Member member{static_cast<std::uint16_t>(number(record, 10, 2)), number(record, 16, 4), number(record, 42, 4),
                      number(record, 20, 4), number(record, 24, 4)};
  const std::string name(record.substr(entry_bytes, name_size));
  if ((number(record, 8, 2) & 1) != 0) fail("the member '" + printable(name) + "' is encrypted");
  if (std::find(names_.begin(), names_.end(), name) != names_.end())
    fail("the member '" + printable(name) + "' is there twice");
  names_.push_back(name);
  members_.push_back(member);
}

Column<char> ZipArchive::inflated(std::string_view packed, const Member& member, const std::string& name) const {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw SystemError("cannot begin to inflate " + path_);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> closer(&stream, inflateEnd);
  GrowingColumn<char> out;
  int state = Z_OK;
  while (state == Z_OK && out.size() <= member.size) {
    const std::size_t before = out.size();
    out.resize(before + inflated_piece);
    if (stream.avail_in == 0) {
      const std::size_t part = std::min(packed.size(), std::size_t{1} << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      stream.avail_in = static_cast<uInt>(part);
      packed.remove_prefix(part);
    }
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = static_cast<uInt>(inflated_piece);
    state = inflate(&stream, Z_NO_FLUSH);
    out.shrink(out.size() - stream.avail_out);
  }
  if (state != Z_STREAM_END || stream.avail_in != 0 || !packed.empty())
    fail("the member '" + printable(name) + "' is damaged");
  return out.finish();
}

Column<char> ZipArchive::read(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) fail("there is no member '" + printable(name) + "'");
  const Member& member = members_[found - names_.begin()];
  const std::string_view bytes = file_->bytes();
  const std::size_t at = member.offset;
  if (member.packed == in_64_bits || member.size == in_64_bits || at == in_64_bits)
    fail("the member '" + printable(name) + "' is larger than 4 GiB, which is not read");
  if (bytes.size() < local_bytes || at > bytes.size() - local_bytes || bytes.substr(at, 4) != "PK\3\4"sv)
    fail("the member '" + printable(name) + "' is not where the directory says");
  const std::size_t begin = at + local_bytes + number(bytes, at + 26, 2) + number(bytes, at + 28, 2);
  if (begin > bytes.size() || member.packed > bytes.size() - begin)
    fail("the member '" + printable(name) + "' reaches beyond the end; is the archive whole?");
  if (member.method != 0 && member.method != 8)
    fail(fmt::format("the member '{}' is packed by method {}; stored and deflated ones are read", printable(name),
                     member.method));
  const std::string_view packed = bytes.substr(begin, member.packed);
  const Column<char> content =
      member.method == 0 ? Column<char>(file_, packed.data(), packed.size()) : inflated(packed, member, name);
  const uLong sum = crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (content.size() != member.size || sum != member.checksum)
    fail("the member '" + printable(name) + "' is damaged: its length or checksum is another");
  rest_pages(content.data(), content.size());
  return content;
}

}  // namespace strobe
