// First bytes as the formats' own specifications give them. A word of letters alone could also begin a text, so one of
// the bytes after it must be a byte that no text has.
#include "workloads/reading/text/foreign_files.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace strobe {
namespace {

struct Magic {
  std::string_view bytes;
  const char* message;
};

using namespace std::string_view_literals;

constexpr const char* as_utf8 = "the file is UTF-16; write it as UTF-8 (iconv -f UTF-16 -t UTF-8 FILE > NEW)";
constexpr const char* as_csv = ", which holds tables in columns; write its edges as csv (source,target,time[,weight])";

const Magic magics[] = {
    {"\xFF\xFE\0\0"sv, "the file is UTF-32; write it as UTF-8 (iconv -f UTF-32 -t UTF-8 FILE > NEW)"},
    {"\xFF\xFE"sv, as_utf8},
    {"\xFE\xFF"sv, as_utf8},
    {"\x28\xB5\x2F\xFD"sv,
     "the file is compressed with zstd; unpack it (zstd -d FILE) or use gzip, which is read as it is"},
    {"\xFD\x37zXZ\0"sv, "the file is compressed with xz; unpack it (xz -d FILE) or use gzip, which is read as it is"},
    {"BZh"sv, "the file is compressed with bzip2; unpack it (bzip2 -d FILE) or use gzip, which is read as it is"},
    {"\x04\x22\x4D\x18"sv,
     "the file is compressed with lz4; unpack it (lz4 -d FILE) or use gzip, which is read as it is"},
    {"7z\xBC\xAF\x27\x1C"sv, "the file is a 7-Zip archive; unpack it and give the file in it"},
    {"PK\x03\x04"sv,
     "the file is a zip archive (or a spreadsheet, which is one); unpack it and give the file in it, or "
     "save the spreadsheet as csv"},
    {"Rar!\x1A\x07"sv, "the file is a RAR archive; unpack it and give the file in it"},
    {"PAR1"sv, "the file is a Parquet file"},
    {"ARROW1"sv, "the file is an Arrow or Feather file"},
    {"FEA1"sv, "the file is a Feather file"},
    {"\x89HDF\r\n\x1A\n"sv, "the file is an HDF5 file"},
    {"SQLite format 3\0"sv, "the file is an SQLite database"},
    {"\x93NUMPY"sv, "the file is a NumPy array"},
    {"\x80\x02"sv, "the file is a Python pickle"},
    {"\x80\x03"sv, "the file is a Python pickle"},
    {"\x80\x04"sv, "the file is a Python pickle"},
    {"\x80\x05"sv, "the file is a Python pickle"},
};

bool has_no_text(std::string_view head) {
  return std::any_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\t' && c != '\n' && c != '\r';
  });
}

/// ASCII letters with a zero byte before or after each.
bool is_unmarked_utf16(std::string_view head) {
  if (head.size() < 4) return false;
  const auto zero = [&](std::size_t i) { return head[i] == '\0'; };
  return zero(0) == zero(2) && zero(1) == zero(3) && zero(0) != zero(1);
}

}  // namespace

std::string describe_foreign_file(std::string_view head) {
  constexpr std::size_t tar_word = 257;
  if (head.size() > tar_word + 5 && head.substr(tar_word, 5) == "ustar")
    return "the file is a tar archive; unpack it (tar -xf FILE) and give the file in it";
  if (head.empty() || (static_cast<unsigned char>(head.front()) < 0x80 && !has_no_text(head))) return {};
  for (const auto& [bytes, message] : magics) {
    if (!head.starts_with(bytes)) continue;
    const std::string text = message;
    return text.find(';') == std::string::npos ? text + as_csv : text;
  }
  return is_unmarked_utf16(head) ? as_utf8 : "";
}

void refuse_foreign_file(const std::string& path, std::string_view head) {
  const std::string message = describe_foreign_file(head);
  if (!message.empty()) throw InvalidInput(path, 0, 0, message);
}

}  // namespace strobe
