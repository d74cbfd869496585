// The form of all of Strobe's binary files, little-endian:
//   header (128 bytes) | description as JSON | sections, each from a multiple of 64 bytes on, zeros between them
// The description holds counts, provenance, and the name, type, count, offset and SHA-256 of every section. The header
// holds sizes and the SHA-256 of itself and the description. Reading maps the file; columns are views on it, so that
// loading is page faults only. Strobe replaces such a file by renaming a new one, so that mapped columns stay whole.
// Always checked, in time that does not depend on the file's size: exact file size, the checksum of the beginning,
// every section inside the file with the type and count that it must have. Checksums of the sections are checked unless
// the file is sealed: the writer notes inode and times in a small file next to it, FILE.seal. One of these, the time of
// change, is the system's own and cannot be set back. So a file that still has all of them is the one that was written.
// A seal saves the checksums and nothing else. Every index of a reader is always checked, because a disk can lose a bit
// without changing any time. A seal counts only where file and seal belong to the reader: another user could have
// written any seal. A copy, a download or an edited file is checked in full at every opening (convert it to seal it).
// The file itself does not record when it was written, so that equal graphs are equal files. Older files record it in
// their header, which is ignored.
// Cost: O(sections) when sealed, else one pass on all threads. A kind's version is raised by any change of its layout.
#include "workloads/storage/binary_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/hash.hpp"
#include "core/json_reader.hpp"
#include "workloads/storage/atomic_file.hpp"
#include "workloads/storage/pages.hpp"
#include "workloads/storage/parallel.hpp"

namespace strobe {

static_assert(std::endian::native == std::endian::little, "binary files are written in memory order");

namespace {

constexpr std::uint64_t alignment = 64, digest_bytes = 64, most_description = std::uint64_t{1} << 24;

std::uint64_t padded(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// Visits bytes in parts, and keeps no part of a file in memory.
template <class Visit>
void in_parts(std::string_view bytes, const Visit& visit) {
  constexpr std::size_t most = std::size_t{1} << 23;
  for (std::size_t begin = 0; begin < bytes.size(); begin += most) {
    const std::string_view part = bytes.substr(begin, most);
    visit(part);
    rest_pages(part.data(), part.size());
  }
}

std::string digest_of(const std::vector<std::string_view>& pieces) {
  Sha256 hash;
  for (const std::string_view text : pieces)
    in_parts(text, [&](std::string_view part) { hash.update(part.data(), part.size()); });
  return hash.hex();
}

/// The SHA-256 of every section.
std::vector<std::string> digests_of(const std::vector<std::vector<std::string_view>>& sections) {
  std::vector<std::string> digests(sections.size());
  parallel_tasks(static_cast<std::int64_t>(sections.size()),
                 [&](std::int64_t i) { digests[i] = digest_of(sections[i]); });
  return digests;
}

/// The table of sections; offsets count from the end of the description, as its length depends on them.
Json table_of(const std::vector<BinarySection>& sections, Keeping keeping) {
  std::vector<std::vector<std::string_view>> bytes;
  for (const BinarySection& section : sections) bytes.push_back(section.pieces);
  const std::vector<std::string> digests =
      keeping == Keeping::kept ? digests_of(bytes) : std::vector<std::string>(sections.size());
  Json table = Json::array();
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    table.push_back({{"name", sections[i].name},
                     {"type", sections[i].type},
                     {"count", sections[i].count},
                     {"offset", offset},
                     {"sha256", digests[i]}});
    offset += padded(sections[i].bytes());
  }
  return table;
}

/// Where the seal of the file at `path` lies, with the file at the end of a link.
std::string seal_path(const std::string& path) {
  std::error_code ignored;
  const std::string file = std::filesystem::canonical(path, ignored).string();
  return (file.empty() ? path : file) + ".seal";
}

std::string seal_text(const FileMark& mark, std::string_view digest) {
  return fmt::format("strobe seal 2\n{} {} {} {}\n", mark.inode, mark.modified_ns, mark.changed_ns, digest);
}

/// A seal only saves time, so one that cannot be written is none.
void write_seal(const std::string& path, const FileMark& mark, std::string_view digest) {
  try {
    AtomicFile seal(seal_path(path), Links::replaced);
    seal.write(seal_text(mark, digest));
    seal.commit();
  } catch (const SystemError&) {
  }
}

}  // namespace

struct BinaryFile::Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t description_bytes, file_bytes;
  std::uint64_t old_seal[2];  // zero, but in files of before
  char digest[digest_bytes];  // of the header with zeros here, then the description
  std::uint64_t reserved[2];

  static Header of(const BinaryKind& kind, std::string_view description, std::uint64_t file_bytes) {
    Header header{};
    std::copy(kind.magic.begin(), kind.magic.end(), header.magic);
    header.version = kind.version;
    header.header_bytes = sizeof(header);
    header.description_bytes = description.size();
    header.file_bytes = file_bytes;
    std::memcpy(header.digest, header.digest_with(description).data(), digest_bytes);
    return header;
  }

  std::string digest_with(std::string_view description) const {
    Header header = *this;
    std::fill_n(header.digest, digest_bytes, '\0');
    return digest_of({{reinterpret_cast<const char*>(&header), sizeof(header)}, description});
  }
};

std::int64_t whole_number(const Json& number) {
  if (number.is_number_unsigned()) return static_cast<std::int64_t>(number.get<std::uint64_t>());
  return number.get_ref<const Json::number_integer_t&>();
}

std::uint64_t BinarySection::bytes() const {
  std::uint64_t bytes = 0;
  for (const std::string_view piece : pieces) bytes += piece.size();
  return bytes;
}

BinaryFile::BinaryFile(const BinaryKind& kind, const std::string& path, std::shared_ptr<const void> keeper)
    : kind_(kind), path_(path) {
  const auto mapping = std::make_shared<std::pair<std::shared_ptr<const void>, MappedFile>>(
      std::piecewise_construct, std::forward_as_tuple(std::move(keeper)), std::forward_as_tuple(path));
  mapping_ = {mapping, &mapping->second};
  const std::string_view bytes = mapping_->bytes();
  if (bytes.size() < kind.magic.size() || std::memcmp(bytes.data(), kind.magic.data(), kind.magic.size()) != 0)
    refuse(fmt::format("is not a Strobe {}", kind.name));
  if (bytes.size() < sizeof(Header)) refuse(fmt::format("the {} is truncated in its header", kind.name));
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  check_header(header);
  description_bytes_ = header.description_bytes;
  digest_ = std::string(header.digest, digest_bytes);
  const std::string_view text = bytes.substr(sizeof(Header), description_bytes_);
  if (header.digest_with(text) != digest_)
    refuse(fmt::format("the checksum of the {}'s beginning is wrong; it is damaged", kind.name));
  description_ = parse_json_or_discard(text);
  if (!description_.is_object()) refuse(fmt::format("the description of the {} is not readable", kind.name));
}

void BinaryFile::check_header(const Header& header) {
  const std::uint64_t bytes = mapping_->bytes().size();
  if (header.version != kind_.version) {
    refuse(fmt::format("the {} has version {}, this program reads {}; convert its source again", kind_.name,
                       header.version, kind_.version));
  }
  const std::string damaged = fmt::format("the header of the {} is damaged", kind_.name);
  if (header.header_bytes != sizeof(Header) || header.description_bytes > most_description) refuse(damaged);
  if (bytes != header.file_bytes) {
    refuse(fmt::format("the {} has {} bytes, its header asks for {}; it is {}", kind_.name, bytes, header.file_bytes,
                       bytes < header.file_bytes ? "truncated" : "followed by foreign bytes"));
  }
  if (sizeof(Header) + header.description_bytes > bytes) refuse(damaged);
}

bool BinaryFile::sealed() const {
  const std::string path = seal_path(path_), expected = seal_text(mapping_->mark(), digest_);
  if (mapping_->mark().owner != geteuid()) return false;
  const int seal = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (seal < 0) return false;
  struct stat status {};
  const bool own = fstat(seal, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
  std::string found(expected.size() + 1, '\0');
  const ssize_t bytes = own ? ::read(seal, found.data(), found.size()) : -1;
  ::close(seal);
  return bytes >= 0 && std::string_view(found).substr(0, bytes) == expected;
}

void BinaryFile::refuse(const std::string& message) const { throw InvalidInput(path_, 0, 0, message); }

std::int64_t BinaryFile::count(const char* name, std::int64_t most) const {
  const std::int64_t count = whole_number(description_.at(name));
  if (count < 0 || count > most) refuse(fmt::format("the number of {} in the {} is impossible", name, kind_.name));
  return count;
}

void BinaryFile::verify(const std::vector<std::string>& names) const {
  std::vector<std::vector<std::string_view>> sections;
  std::vector<const Json*> expected;
  const Json& table = description_.at("sections");
  const std::string_view all = mapping_->bytes();
  std::uint64_t end = data_begin();
  for (const Json& section : table) {
    const std::string_view bytes = bytes_of(section, size_of(section.at("type").get<std::string>()));
    const std::uint64_t begin = bytes.data() - all.data();
    if (begin != padded(end)) refuse(fmt::format("the sections of the {} are out of place", kind_.name));
    check_zeros(end, begin);
    end = begin + bytes.size();
    const auto& name = section.at("name").get_ref<const std::string&>();
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) continue;
    sections.push_back({bytes});
    expected.push_back(&section);
  }
  check_zeros(end, all.size());
  const std::vector<std::string> digests = digests_of(sections);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (expected[i]->at("sha256") != digests[i]) {
      refuse(fmt::format("the checksum of the section {} of the {} is wrong; it is damaged",
                         expected[i]->at("name").get<std::string>(), kind_.name));
    }
  }
}

const Json* BinaryFile::find(const char* name) const {
  for (const Json& section : description_.at("sections")) {
    if (section.at("name") == name) return &section;
  }
  return nullptr;
}

std::uint64_t BinaryFile::data_begin() const { return sizeof(Header) + description_bytes_; }

std::size_t BinaryFile::size_of(const std::string& type) const {
  for (const auto& [name, size] : {std::pair{"f64", 8}, {"i64", 8}, {"u64", 8}, {"f32", 4}, {"i32", 4}, {"i8", 1}}) {
    if (type == name) return static_cast<std::size_t>(size);
  }
  refuse(fmt::format("a section of the {} has the unknown type {}", kind_.name, type));
}

std::string_view BinaryFile::bytes_of(const Json& section, std::size_t width) const {
  const auto count = static_cast<std::uint64_t>(whole_number(section.at("count")));
  const auto offset = static_cast<std::uint64_t>(whole_number(section.at("offset")));
  const std::uint64_t size = mapping_->bytes().size(), begin = padded(data_begin());
  const bool inside =
      begin <= size && offset % alignment == 0 && offset <= size - begin && count <= (size - begin - offset) / width;
  if (!inside) refuse(fmt::format("a section of the {} lies outside of the file", kind_.name));
  return mapping_->bytes().substr(begin + offset, count * width);
}

void BinaryFile::check_zeros(std::uint64_t begin, std::uint64_t end) const {
  const std::string_view gap = mapping_->bytes().substr(begin, end - begin);
  if (gap.size() >= alignment || gap.find_first_not_of('\0') != std::string_view::npos)
    refuse(fmt::format("there are foreign bytes between the sections of the {}", kind_.name));
}

std::string binary_beginning(const BinaryKind& kind, const Json& description, std::uint64_t bytes,
                             std::uint64_t file_bytes) {
  std::string text = description.dump();
  if (sizeof(BinaryFile::Header) + text.size() > bytes)
    throw Error(fmt::format("the description of the {} is too long", kind.name));
  text.resize(bytes - sizeof(BinaryFile::Header), ' ');  // what JSON allows after an object
  const BinaryFile::Header header = BinaryFile::Header::of(kind, text, file_bytes);
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + text;
}

void write_binary_file(const BinaryKind& kind, Json description, const std::vector<BinarySection>& sections,
                       const std::string& path, Keeping keeping) {
  AtomicFile file(path);
  description["sections"] = table_of(sections, keeping);
  const std::string text = description.dump();
  if (text.size() > most_description) throw InvalidInput(path, 0, 0, "the graph's provenance is above 16 MiB");
  std::uint64_t bytes = sizeof(BinaryFile::Header) + text.size();
  for (const BinarySection& section : sections) bytes = padded(bytes) + section.bytes();
  const BinaryFile::Header header = BinaryFile::Header::of(kind, text, bytes);
  file.write({reinterpret_cast<const char*>(&header), sizeof(header)});
  file.write(text);
  std::uint64_t written = sizeof(header) + text.size();
  for (const BinarySection& section : sections) {
    file.write(std::string(padded(written) - written, '\0'));
    for (const std::string_view piece : section.pieces)
      in_parts(piece, [&](std::string_view part) { file.write(part); });
    written = padded(written) + section.bytes();
  }
  const FileMark mark = file.commit(keeping == Keeping::kept);
  if (file.makes_file() && keeping == Keeping::kept)
    write_seal(file.end_of_links(), mark, std::string_view(header.digest, digest_bytes));
}

}  // namespace strobe
