#include "workloads/reading/text/inputs.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace strobe {
namespace {

thread_local InputLog* innermost = nullptr;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

InputFile look_at_file(const std::string& path) {
  std::error_code ignored;
  InputFile file{std::filesystem::absolute(path, ignored).lexically_normal().string()};
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return file;
  file.exists = true;
  file.bytes = static_cast<std::uint64_t>(status.st_size);
  file.inode = status.st_ino;
  file.modified_ns = nanoseconds(status.st_mtim);
  file.changed_ns = nanoseconds(status.st_ctim);
  return file;
}

InputLog::InputLog() : outer_(innermost) { innermost = this; }
InputLog::~InputLog() { innermost = outer_; }

void note_input(const std::string& path) {
  if (innermost == nullptr) return;
  InputFile file = look_at_file(path);
  std::vector<InputFile>& files = innermost->files_;
  const bool known = std::any_of(files.begin(), files.end(), [&](const InputFile& f) { return f.path == file.path; });
  if (!known) files.push_back(std::move(file));
}

bool input_exists(const std::string& path) {
  note_input(path);
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace strobe
