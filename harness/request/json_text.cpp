#include "harness/request/json_text.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/json_reader.hpp"

namespace strobe {

Json parse_json_text(const std::string& text, const std::string& source) {
  return parse_json(text, source, [&source](const std::string& pointer, const std::string& key) {
    throw InvalidRequest(pointer, fmt::format("the key '{}' occurs twice in one object of {}", key, source));
  });
}

Json read_json_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw InvalidRequest("", fmt::format("there is no file '{}'", path));
  if (std::filesystem::is_directory(path, ignored))
    throw InvalidRequest("", fmt::format("'{}' is a folder, not a JSON file", path));
  std::string text;
  try {
    text = read_regular_file(path);
  } catch (const SystemError& error) {
    throw InvalidRequest("", error.what());
  }
  return parse_json_text(text, path);
}

std::string words_of_place(const InvalidRequest& error, const std::string& file) {
  if (error.where().rfind('/', 0) != 0) return error.message();
  return fmt::format("{}#{}: {}", file, error.where(), error.message());
}

}  // namespace strobe
