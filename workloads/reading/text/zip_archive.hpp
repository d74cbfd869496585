// Members of a zip archive, as NumPy's .npz files are.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/storage/column.hpp"
#include "workloads/storage/mapped_file.hpp"

namespace strobe {

/// An archive below 4 GiB, of members that are stored or deflated.
class ZipArchive {
 public:
  /// Throws InvalidInput for a file that is none or is damaged, encrypted or too large.
  explicit ZipArchive(const std::string& path);

  /// Names of the members, in the archive's order.
  const std::vector<std::string>& names() const { return names_; }
  /// The bytes of a member, whose checksum is compared: a view of the archive, or what a deflated one unpacks to, which
  /// lies in a temporary file when it is large and memory is bounded. Throws InvalidInput.
  Column<char> read(const std::string& name) const;

 private:
  struct Member {
    std::uint16_t method = 0;
    std::uint32_t checksum = 0, offset = 0;
    std::uint64_t packed = 0, size = 0;
  };
  [[noreturn]] void fail(const std::string& message) const;
  void add_member(std::string_view record, std::size_t name_size);
  Column<char> inflated(std::string_view packed, const Member& member, const std::string& name) const;

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::vector<std::string> names_;
  std::vector<Member> members_;
};

}  // namespace strobe
