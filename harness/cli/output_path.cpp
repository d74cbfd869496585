#include "harness/cli/output_path.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/errors.hpp"
#include "results/files.hpp"
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

/// A pipe stays open until the program ends: its reader would take a first closing for the end of everything.
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
  if (target.direct) return check_direct(flag, path, target);  // nothing is made beside it
  const std::string folder = std::filesystem::path(target.path).parent_path().string();
  try {
    check_writable(folder.empty() ? "." : folder);
  } catch (const SystemError& error) {
    throw InvalidRequest(flag, "'" + path + "' cannot be written: " + error.what());
  }
}

void check_replaced_file(const std::string& flag, const std::string& path) {
  if (!target_of(flag, path).direct) return check_output_file(flag, path);
  throw InvalidRequest(flag, fmt::format("'{}' is a device or a pipe, and this file is written more than once; name a "
                                         "file",
                                         path));
}

void make_output_folder(const std::string& flag, const std::string& path) {
  try {
    make_folder(path);
    check_writable(path);
  } catch (const SystemError& error) {
    throw InvalidRequest(flag, error.what());
  }
}

}  // namespace strobe
