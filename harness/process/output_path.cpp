#include "harness/process/output_path.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/errors.hpp"
#include "results/run/files.hpp"
#include "workloads/storage/output_target.hpp"

namespace strobe {

namespace {

OutputTarget target_of(const std::string& flag, const std::string& path) {
  try {
    return output_target(path);
  } catch (const SystemError& error) {
    throw InvalidRequest(flag, error.what());
  }
}

/// A pipe stays open until the program ends, because its reader would take a first closing for the end of all output.
void check_direct(const std::string& flag, const std::string& path, const OutputTarget& target) {
  if (access(target.path.c_str(), W_OK) != 0)
    throw InvalidRequest(flag, fmt::format("'{}' cannot be written: {}", path, std::strerror(errno)));
  if (!std::filesystem::is_fifo(target.path)) return;
  try {
    open_direct(target);
  } catch (const SystemError& error) {
    throw InvalidRequest(flag, error.what());
  }
}

/// Throws the error of an attempt to write. If the disk is full or the process is at a limit, which the end of the
/// message says, the request is not to blame.
[[noreturn]] void tell_refusal(const std::string& flag, const std::string& message) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOMEM})
    if (message.ends_with(std::strerror(error))) throw SystemError(message);
  throw InvalidRequest(flag, message);
}

}  // namespace

void check_output_file(const std::string& flag, const std::string& path) {
  const OutputTarget target = target_of(flag, path);
  std::error_code ignored, problem;
  if (!std::filesystem::exists(std::filesystem::status(path, problem)) && problem &&
      problem != std::errc::no_such_file_or_directory)
    throw InvalidRequest(flag, "'" + path + "' cannot be written: " + problem.message());
  if (std::filesystem::is_directory(path, ignored) || std::filesystem::path(path).filename().empty())
    throw InvalidRequest(flag, "'" + path + "' is a folder; name a file to write");
  if (target.descriptor >= 0) return;
  if (target.direct) return check_direct(flag, path, target);  // no temporary file is made next to it
  const std::string folder = std::filesystem::path(target.path).parent_path().string();
  try {
    check_writable(folder.empty() ? "." : folder);
  } catch (const SystemError& error) {
    tell_refusal(flag, "'" + path + "' cannot be written: " + error.what());
  }
}

void check_replaced_file(const std::string& flag, const std::string& path) {
  if (!target_of(flag, path).direct) return check_output_file(flag, path);
  throw InvalidRequest(flag, fmt::format("'{}' is a device or a pipe, and this file is written more than once; name a "
                                         "file",
                                         path));
}

namespace {

/// Whether this process's own output goes into the file, which a shell made for it.
bool is_own_stream(const std::string& path) {
  struct stat there {};
  if (stat(path.c_str(), &there) != 0) return false;
  for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat stream {};
    if (fstat(number, &stream) == 0 && stream.st_dev == there.st_dev && stream.st_ino == there.st_ino) return true;
  }
  return false;
}

/// Whether a run may have left the file before it wrote its plan: a part of the run directory, or a temporary file of
/// one.
bool may_be_of_run(const std::string& name) {
  if (name.front() == '.') return true;
  for (const char* const own : {"plan.json", "env.json", "summary.json", "summary.csv", "samples.jsonl"})
    if (name == own || name.starts_with(std::string(own) + ".")) return true;
  return name == "logs" || name == "trace" || name == "trials";
}

}  // namespace

void refuse_foreign_folder(const std::string& flag, const std::string& path, const std::vector<std::string>& outputs) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // an unreadable path is left to the code that writes there
  for (const char* of_run : {"plan.json", "summary.json", "samples.jsonl"})
    if (fs::exists(fs::path(path) / of_run, ignored)) return;
  for (fs::directory_iterator item(path, ignored); !ignored && item != fs::directory_iterator();
       item.increment(ignored)) {
    const std::string file = item->path().string(), name = item->path().filename().string();
    const auto same = [&](const std::string& output) {
      std::error_code missing;
      return !output.empty() && fs::equivalent(output, file, missing);
    };
    if (may_be_of_run(name) || is_own_stream(file) || std::any_of(outputs.begin(), outputs.end(), same)) continue;
    throw InvalidRequest(
        flag, fmt::format("'{}' holds files that are not part of a run, such as {}; name an empty or a new folder",
                          path, name));
  }
}

void make_output_folder(const std::string& flag, const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<fs::path> made;  // deepest first
  for (fs::path folder = path; !folder.empty() && !fs::exists(folder, ignored); folder = folder.parent_path())
    made.push_back(folder);
  try {
    make_folder(path);
    check_writable(path);
  } catch (const SystemError& error) {
    for (const fs::path& folder : made) fs::remove(folder, ignored);  // an empty one; others stay
    tell_refusal(flag, error.what());
  }
}

}  // namespace strobe
