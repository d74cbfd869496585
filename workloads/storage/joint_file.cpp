#include "workloads/storage/joint_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/errors.hpp"

namespace strobe {
namespace {

constexpr std::uint64_t page_bytes = 4096, head_bytes = 4 * page_bytes;  // of the file, with room for the description

std::string joint_path(const std::string& path) { return path + ".joint"; }

}  // namespace

JointFile::JointFile(const BinaryKind& kind, const std::string& path, std::vector<JointSection> sections)
    : kind_(kind), path_(path), sections_(std::move(sections)), bytes_(head_bytes) {
  for (JointSection& section : sections_) {
    section.begin = bytes_;
    const std::uint64_t most = static_cast<std::uint64_t>(section.most) * section.width;
    bytes_ += (most + page_bytes - 1) / page_bytes * page_bytes;
  }
  file_ = open(joint_path(path_).c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file_ < 0) cannot_write();
  try {
    struct stat status {};
    if (fstat(file_, &status) != 0) cannot_write();
    if (status.st_size != 0 && status.st_size != static_cast<off_t>(bytes_))
      throw SystemError(fmt::format("another process makes other data at {}", path_));
    if (ftruncate(file_, static_cast<off_t>(bytes_)) != 0) cannot_write();
  } catch (...) {
    close(file_);
    throw;
  }
}

JointFile::~JointFile() { close(file_); }

void JointFile::cannot_write() const {
  throw SystemError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

void JointFile::write_bytes(const JointSection& section, std::int64_t first, const void* values,
                            std::int64_t count) const {
  if (count == 0) return;
  if (count > section.most - first)
    throw Error(fmt::format("the section {} of {} has more than {} numbers", section.name, path_, section.most));
  write_at(section.begin + static_cast<std::uint64_t>(first) * section.width, static_cast<const char*>(values),
           static_cast<std::uint64_t>(count) * section.width);
}

void JointFile::write_at(std::uint64_t place, const char* bytes, std::uint64_t size) const {
  for (std::uint64_t done = 0; done < size;) {
    const ssize_t written = pwrite(file_, bytes + done, size - done, static_cast<off_t>(place + done));
    if (written < 0 && errno != EINTR) cannot_write();
    if (written > 0) done += static_cast<std::uint64_t>(written);
  }
}

void JointFile::make(std::int64_t parts, const MakePart& part,
                     const std::function<Json(std::int64_t, std::vector<std::int64_t>&)>& describe, int threads,
                     const BeginWait& begin_wait) const {
  const SharedParts shared(path_ + ".parts", parts, begin_wait);
  shared.make_all(part, threads);
  shared.one_at_a_time([&] {
    if (std::filesystem::exists(path_)) return;  // another process was first
    std::vector<std::int64_t> lengths;
    for (const JointSection& section : sections_) lengths.push_back(section.most);
    Json description = describe(shared.total(), lengths);
    commit(std::move(description), lengths);
  });
}

void JointFile::commit(Json description, const std::vector<std::int64_t>& lengths) const {
  Json table = Json::array();
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (lengths[i] == 0) continue;
    table.push_back({{"name", sections_[i].name},
                     {"type", sections_[i].type},
                     {"count", lengths[i]},
                     {"offset", sections_[i].begin - head_bytes},
                     {"sha256", ""}});
  }
  description["sections"] = std::move(table);
  const std::string text = binary_beginning(kind_, description, head_bytes, bytes_);
  write_at(0, text.data(), text.size());
  if (std::rename(joint_path(path_).c_str(), path_.c_str()) != 0) cannot_write();
}

}  // namespace strobe
