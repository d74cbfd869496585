// The container of Strobe's binary files: a description and named sections of numbers, versioned, checksummed, mapped.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/fields.hpp"
#include "workloads/storage/column.hpp"
#include "workloads/storage/mapped_file.hpp"

namespace strobe {

/// The identity of a kind of binary file.
struct BinaryKind {
  std::array<char, 8> magic;
  std::uint32_t version;
  const char* name;  // in messages: "binary graph"
};

/// Numbers of one type in memory, in the sequence in which a file has them.
struct BinarySection {
  const char* name;
  const char* type;
  std::vector<std::string_view> pieces;
  std::int64_t count = 0;

  std::uint64_t bytes() const;
};

/// The name of a type in descriptions.
template <class T>
constexpr const char* binary_type() {
  if constexpr (std::is_same_v<T, double>) return "f64";
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, std::int64_t>) return "i64";
  if constexpr (std::is_same_v<T, std::uint64_t>) return "u64";
  if constexpr (std::is_same_v<T, std::int32_t>) return "i32";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "u32";
  if constexpr (std::is_same_v<T, std::int8_t>) return "i8";
}

/// Appends numbers to a section; the array must live until the file is written.
template <class Array>
void add_piece(BinarySection& section, const Array& array) {
  using T = typename std::decay_t<Array>::value_type;
  section.pieces.emplace_back(reinterpret_cast<const char*>(array.data()), array.size() * sizeof(T));
  section.count += static_cast<std::int64_t>(array.size());
}

/// Adds a section of one array, unless it is empty.
template <class Array>
void add_section(std::vector<BinarySection>& sections, const char* name, const Array& array) {
  if (array.empty()) return;
  sections.push_back({name, binary_type<typename std::decay_t<Array>::value_type>(), {}, 0});
  add_piece(sections.back(), array);
}

/// A whole number of a description; converting another number could overflow. Throws Json::exception.
std::int64_t whole_number(const Json& number);

/// Whether a binary file is for keeping. passing: it serves processes that run now, so it gets no checksums of its
/// sections, is not flushed to the disk, and has no seal. A reader that verifies it finds it damaged.
enum class Keeping : std::uint8_t { kept, passing };

/// Writes a file of `kind` atomically, and its seal next to it. `description` is an object; the table of sections is
/// added to it. Equal arguments give equal bytes.
void write_binary_file(const BinaryKind& kind, Json description, const std::vector<BinarySection>& sections,
                       const std::string& path, Keeping keeping = Keeping::kept);

/// The header and the description, padded to exactly `bytes`, of a file of `file_bytes` bytes. Throws Error when they
/// are longer.
std::string binary_beginning(const BinaryKind& kind, const Json& description, std::uint64_t bytes,
                             std::uint64_t file_bytes);

/// A mapped file whose beginning was checked. Throws InvalidInput when it is foreign, of another version, truncated or
/// damaged. A missing entry of the description throws Json::exception where it is read.
class BinaryFile {
 public:
  /// `keeper` lives as long as this and its columns.
  BinaryFile(const BinaryKind& kind, const std::string& path, std::shared_ptr<const void> keeper = nullptr);

  const Json& description() const { return description_; }
  /// Whether the file is the one that was written, unchanged since, and by this user: its seal says so. Its checksums
  /// hold then. Indices must be checked all the same.
  bool sealed() const;
  [[noreturn]] void refuse(const std::string& message) const;

  /// The section `name` of `count` values; nothing when it is missing and may be absent.
  template <class T>
  Column<T> column(const char* name, std::int64_t count, bool required) const {
    const Json* const section = find(name);
    if (section == nullptr && required && count > 0) refuse(fmt::format("the {} has no section {}", kind_.name, name));
    if (section == nullptr) return {};
    if (section->at("type") != binary_type<T>() || section->at("count") != count)
      refuse(fmt::format("the section {} of the {} has the wrong size", name, kind_.name));
    const std::string_view bytes = bytes_of(*section, sizeof(T));
    return Column<T>(mapping_, reinterpret_cast<const T*>(bytes.data()), static_cast<std::size_t>(count));
  }
  /// A number of the description, refused when it is negative or above `most`.
  std::int64_t count(const char* name, std::int64_t most) const;

  /// Compares all sections with their checksums, or only those that are named. Places are checked in any case.
  void verify(const std::vector<std::string>& names = {}) const;

 private:
  friend void write_binary_file(const BinaryKind& kind, Json description, const std::vector<BinarySection>& sections,
                                const std::string& path, Keeping keeping);
  friend std::string binary_beginning(const BinaryKind& kind, const Json& description, std::uint64_t bytes,
                                      std::uint64_t file_bytes);
  struct Header;

  void check_header(const Header& header);
  const Json* find(const char* name) const;
  std::uint64_t data_begin() const;
  std::size_t size_of(const std::string& type) const;
  std::string_view bytes_of(const Json& section, std::size_t width) const;
  void check_zeros(std::uint64_t begin, std::uint64_t end) const;

  BinaryKind kind_;
  std::string path_;
  std::shared_ptr<const MappedFile> mapping_;
  std::uint64_t description_bytes_ = 0;
  std::string digest_;  // of the header and the description
  Json description_;
};

/// Most rows, steps times vertices and the like that a binary file can have; products of two below are below 2^63.
constexpr std::int64_t most_binary_rows = std::int64_t{1} << 40;
constexpr std::int64_t most_binary_features = std::int64_t{1} << 20;

}  // namespace strobe
