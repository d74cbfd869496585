#include "workloads/storage/growing_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr std::uint64_t page = 4096, beginning = 4 * page;  // of the file, with room for the description

}  // namespace

GrowingFile::GrowingFile(const BinaryKind& kind, const std::string& path, std::vector<GrowingSection> sections)
    : kind_(kind), path_(path), sections_(std::move(sections)), file_(path), bytes_(beginning) {
  for (GrowingSection& section : sections_) {
    section.begin = bytes_;
    const std::uint64_t most = static_cast<std::uint64_t>(section.most) * section.width;
    bytes_ += (most + page - 1) / page * page;
  }
  if (ftruncate(file_.descriptor(), static_cast<off_t>(bytes_)) != 0)
    throw SystemError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

void GrowingFile::append_bytes(GrowingSection& section, const void* values, std::int64_t count) {
  if (count > section.most - section.count)
    throw Error(fmt::format("the section {} of {} has more than {} numbers", section.name, path_, section.most));
  write_at(section.begin + static_cast<std::uint64_t>(section.count) * section.width, static_cast<const char*>(values),
           static_cast<std::uint64_t>(count) * section.width);
  section.count += count;
}

void GrowingFile::write_at(std::uint64_t place, const char* bytes, std::uint64_t size) {
  for (std::uint64_t done = 0; done < size;) {
    const ssize_t written = pwrite(file_.descriptor(), bytes + done, size - done, static_cast<off_t>(place + done));
    if (written < 0 && errno != EINTR)
      throw SystemError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
    if (written > 0) done += static_cast<std::uint64_t>(written);
  }
}

void GrowingFile::commit(Json description) {
  Json table = Json::array();
  for (const GrowingSection& section : sections_) {
    if (section.count == 0) continue;
    table.push_back({{"name", section.name},
                     {"type", section.type},
                     {"count", section.count},
                     {"offset", section.begin - beginning},
                     {"sha256", ""}});
  }
  description["sections"] = std::move(table);
  const std::string text = binary_beginning(kind_, description, beginning, bytes_);
  write_at(0, text.data(), text.size());
  file_.move_to_path();
}

}  // namespace strobe
