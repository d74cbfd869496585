// Reads .npy: magic "\x93NUMPY", version, length of the header, a Python dictionary of literals, then the elements.
// Elements are read in pieces, so that a header that lies about its shape cannot make the reader allocate more than the
// file holds. Cost: one pass over the file. Source: numpy.lib.format, versions 1.0 and 2.0.
#include "workloads/reading/text/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <functional>
#include <limits>
#include <string_view>

#include "core/errors.hpp"
#include "workloads/reading/text/text_reader.hpp"
#include "workloads/storage/growing_column.hpp"
#include "workloads/storage/mapped_file.hpp"

namespace strobe {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are used in the file's order of bytes");

/// Fills the buffer with up to `size` bytes; fewer only at the end.
using ReadBytes = std::function<std::size_t(char* out, std::size_t size)>;

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_header = std::size_t{1} << 20, values_piece = std::size_t{1} << 22;

std::size_t element_bytes(const std::string& type) { return type.back() == '4' ? 4 : 8; }

/// The header's dictionary, e.g. {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }
class Dictionary {
 public:
  Dictionary(std::string_view text, const std::string& path) : rest_(text), path_(path) {}

  NpyArray parse() {
    NpyArray array;
    bool have_shape = false, have_order = false;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && array.type.empty())
        array.type = type();
      else if (key == "fortran_order" && !have_order)
        have_order = order(array.fortran);
      else if (key == "shape" && !have_shape)
        have_shape = shape(array.shape);
      else
        fail("the key '" + printable(key) + "' is unknown or given twice");
      if (!take(',') && !at('}')) fail("a comma is missing");
    }
    if (array.type.empty() || !have_shape || !have_order) fail("descr, fortran_order or shape is missing");
    skip();
    if (!rest_.empty()) fail("something follows the dictionary");
    return array;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw InvalidInput(path_, 0, 0, "the .npy header is not readable: " + message);
  }
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  bool at(char c) {
    skip();
    return !rest_.empty() && rest_.front() == c;
  }
  bool take(char c) {
    const bool there = at(c);
    if (there) rest_.remove_prefix(1);
    return there;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("'") + c + "' is missing");
  }
  std::string quoted() {
    expect('\'');
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) fail("a quote is not closed");
    const std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string type() {
    if (at('[')) throw InvalidInput(path_, 0, 0, "the .npy file holds records; only <f4, <f8, <i4 and <i8 are read");
    const std::string text = quoted();
    if (text != "<f4" && text != "<f8" && text != "<i4" && text != "<i8") {
      throw InvalidInput(
          path_, 0, 0,
          "the .npy file holds elements of type '" + printable(text) + "'; only <f4, <f8, <i4 and <i8 are read");
    }
    return text;
  }
  bool order(bool& fortran) {
    skip();
    fortran = rest_.starts_with("True");
    if (!fortran && !rest_.starts_with("False")) fail("fortran_order is neither True nor False");
    rest_.remove_prefix(fortran ? 4 : 5);
    return true;
  }
  bool shape(std::vector<std::int64_t>& extents) {
    expect('(');
    while (!take(')')) {
      skip();
      std::int64_t extent = 0;
      const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (error != std::errc() || extent < 0) fail("the shape is not a tuple of whole numbers");
      rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
      extents.push_back(extent);
      if (!take(',') && !at(')')) fail("the shape is not a tuple of whole numbers");
    }
    return true;
  }

  std::string_view rest_;
  const std::string& path_;
};

std::string take_bytes(const ReadBytes& read, std::size_t size, const std::string& path) {
  std::string bytes(size, '\0');
  if (read(bytes.data(), size) != size) throw InvalidInput(path, 0, 0, "the .npy file is truncated in its header");
  return bytes;
}

/// Refuses shapes whose bytes do not fit 63 bits.
void check_size(const NpyArray& array, const std::string& path) {
  auto room = std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(element_bytes(array.type));
  for (const std::int64_t extent : array.shape) {
    if (extent > room) throw InvalidInput(path, 0, 0, "the shape of the .npy file is absurd");
    room /= std::max<std::int64_t>(extent, 1);
  }
}

NpyArray parse_header(const ReadBytes& read, const std::string& path) {
  std::string start(magic.size() + 2, '\0');
  const std::size_t got = read(start.data(), start.size());
  if (got < start.size() || !start.starts_with(magic)) throw InvalidInput(path, 0, 0, "is not a .npy file");
  const int major = start[6], minor = start[7];
  if ((major != 1 && major != 2) || minor != 0)
    throw InvalidInput(path, 0, 0, fmt::format("the .npy file has version {}.{}; 1.0 and 2.0 are read", major, minor));
  const std::string length = take_bytes(read, major == 1 ? 2 : 4, path);
  std::uint32_t size = 0;
  std::memcpy(&size, length.data(), length.size());
  if (size > longest_header) throw InvalidInput(path, 0, 0, "the header of the .npy file is longer than 1 MiB");
  const std::string text = take_bytes(read, size, path);
  NpyArray array = Dictionary(text, path).parse();
  check_size(array, path);
  return array;
}

void refuse_fortran(const NpyArray& array, const std::string& path) {
  if (array.fortran)
    throw InvalidInput(path, 0, 0, "the .npy file is in Fortran order; save it with numpy.ascontiguousarray");
}

ReadBytes bytes_of(ByteSource& source) {
  return [&source](char* out, std::size_t size) { return source.read(out, size); };
}

[[noreturn]] void refuse_truncated(std::size_t expected, const std::string& path) {
  throw InvalidInput(path, 0, 0, fmt::format("the .npy file is truncated: its shape asks for {} bytes", expected));
}

[[noreturn]] void refuse_extra(const std::string& path) {
  throw InvalidInput(path, 0, 0, "there are bytes after the elements of the .npy file");
}

NpyArray parse_whole(const ReadBytes& read, const std::string& path) {
  NpyArray array = parse_header(read, path);
  refuse_fortran(array, path);
  const std::size_t expected = static_cast<std::size_t>(array.size()) * element_bytes(array.type);
  GrowingColumn<char> bytes;
  while (bytes.size() < expected) {
    const std::size_t done = bytes.size(), part = std::min(values_piece, expected - done);
    bytes.resize(done + part);
    if (read(bytes.data() + done, part) != part) refuse_truncated(expected, path);
  }
  char extra = 0;
  if (read(&extra, 1) != 0) refuse_extra(path);
  array.bytes = bytes.finish();
  return array;
}

/// Reads from the front of `rest` and takes away what was read.
ReadBytes bytes_of(std::string_view& rest) {
  return [&rest](char* out, std::size_t size) {
    const std::size_t got = rest.copy(out, size);
    rest.remove_prefix(got);
    return got;
  };
}

template <class T>
double element(const Column<char>& bytes, std::int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

}  // namespace

std::int64_t NpyArray::size() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

double NpyArray::at(std::int64_t i) const {
  if (type == "<f4") return element<float>(bytes, i);
  if (type == "<f8") return element<double>(bytes, i);
  return type == "<i4" ? element<std::int32_t>(bytes, i) : element<std::int64_t>(bytes, i);
}

NpyArray read_npy_header(const std::string& path) {
  ByteSource source(path);
  const NpyArray array = parse_header(bytes_of(source), path);
  refuse_fortran(array, path);
  return array;
}

NpyArray read_npy(const std::string& path) {
  ByteSource source(path);
  return parse_whole(bytes_of(source), path);
}

NpyArray map_npy(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  const std::string_view bytes = file->bytes();
  if (!bytes.starts_with(magic)) return read_npy(path);
  NpyArray array = parse_npy(Column<char>(file, bytes.data(), bytes.size()), path);
  refuse_fortran(array, path);
  return array;
}

NpyArray parse_npy(const Column<char>& bytes, const std::string& path) {
  std::string_view rest(bytes.data(), bytes.size());
  NpyArray array = parse_header(bytes_of(rest), path);
  const std::size_t expected = static_cast<std::size_t>(array.size()) * element_bytes(array.type);
  if (rest.size() < expected) refuse_truncated(expected, path);
  if (rest.size() > expected) refuse_extra(path);
  array.bytes = bytes.part(bytes.size() - expected, expected);
  return array;
}

}  // namespace strobe
