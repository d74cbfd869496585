#include "harness/request/bundled_suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/system/program_files.hpp"
#include "harness/request/json_text.hpp"

namespace strobe {
namespace {

namespace fs = std::filesystem;

fs::path suite_folder() { return program_folder(STROBE_SUITE_DIR); }

/// The name of a suite, when the user typed its path in the source tree: without "suites/" and ".json".
std::string bare_name(const std::string& typed) {
  const fs::path path(typed);
  const bool json = path.extension() == ".json";
  const std::string name = (json ? fs::path(path).replace_extension() : path).generic_string();
  return name.rfind("suites/", 0) == 0 ? name.substr(7) : name;
}

}  // namespace

std::vector<std::string> bundled_suite_names() {
  std::vector<std::string> names;
  std::error_code ignored;  // a folder that cannot be read holds no suites
  for (fs::recursive_directory_iterator entry(suite_folder(), ignored), end; entry != end; entry.increment(ignored)) {
    if (entry->path().extension() != ".json") continue;
    names.push_back(entry->path().lexically_relative(suite_folder()).replace_extension().generic_string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string bundled_suite(const std::string& name) { return (suite_folder() / (name + ".json")).string(); }

std::string suite_path(const std::string& typed) {
  std::error_code ignored;
  if (fs::exists(typed, ignored) && !fs::is_directory(typed, ignored)) return typed;
  const std::vector<std::string> names = bundled_suite_names();
  if (std::binary_search(names.begin(), names.end(), typed)) return bundled_suite(typed);
  const std::string nearest = nearest_name(bare_name(typed), names);
  throw InvalidRequest("SUITE", fmt::format("there is no file '{}', and no suite of that name comes with Strobe{}; "
                                            "`strobe list suites` prints those that do",
                                            typed, nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

Json describe_bundled_suites() {
  Json list = Json::array();
  for (const std::string& name : bundled_suite_names()) {
    list.push_back({{"name", name},
                    {"description", read_json_file(bundled_suite(name)).value("description", "")},
                    {"citation", ""},
                    {"file", "suites/" + name + ".json"},
                    {"parameters", Json::array()}});
  }
  return list;
}

}  // namespace strobe
