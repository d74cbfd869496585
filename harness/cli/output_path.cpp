#include "harness/cli/output_path.hpp"

#include <filesystem>

#include "core/errors.hpp"
#include "results/files.hpp"

namespace strobe {

void check_output_file(const std::string& flag, const std::string& path) {
  std::error_code ignored, problem;
  if (!std::filesystem::exists(std::filesystem::status(path, problem)) && problem &&
      problem != std::errc::no_such_file_or_directory)
    throw InvalidRequest(flag, "'" + path + "' cannot be written: " + problem.message());
  if (std::filesystem::is_directory(path, ignored) || std::filesystem::path(path).filename().empty())
    throw InvalidRequest(flag, "'" + path + "' is a folder; name a file to write");
  if (std::filesystem::is_character_file(path, ignored)) return;  // as /dev/null: nothing is made beside it
  const std::string folder = std::filesystem::path(path).parent_path().string();
  try {
    check_writable(folder.empty() ? "." : folder);
  } catch (const SystemError& error) {
    throw InvalidRequest(flag, "'" + path + "' cannot be written: " + error.what());
  }
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
