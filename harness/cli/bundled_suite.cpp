#include "harness/cli/bundled_suite.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/errors.hpp"
#include "core/program_files.hpp"

namespace strobe {

std::string suite_path(const std::string& typed) {
  namespace fs = std::filesystem;
  std::error_code ignored;  // a folder that cannot be read holds no suites
  if (fs::exists(typed, ignored)) return typed;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(program_folder(STROBE_SUITE_DIR), ignored)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  if (std::find(names.begin(), names.end(), typed) != names.end()) {
    return (fs::path(program_folder(STROBE_SUITE_DIR)) / (typed + ".json")).string();
  }
  throw InvalidRequest("SUITE", "there is no such file, and " + unknown_name_message("suite", typed, names));
}

}  // namespace strobe
