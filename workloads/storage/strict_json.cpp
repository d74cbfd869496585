#include "workloads/storage/strict_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.hpp"

namespace strobe {
namespace {

/// Refuses keys that occur twice in one object, which the parser would let pass. It knows the nesting of objects only,
/// so the pointer leaves out positions in lists.
class DuplicateKeys {
 public:
  explicit DuplicateKeys(std::string file) : file_(std::move(file)) {}

  bool operator()(int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) levels_.emplace_back();
    if (event == Json::parse_event_t::object_end) levels_.pop_back();
    if (event == Json::parse_event_t::key) {
      levels_.back().current = parsed.get<std::string>();
      if (!levels_.back().seen.insert(levels_.back().current).second) {
        std::string where = file_ + "#";
        for (const Level& level : levels_) where += "/" + level.current;
        throw InvalidRequest(where, "this key occurs twice");
      }
    }
    return true;
  }

 private:
  struct Level {
    std::set<std::string> seen;
    std::string current;
  };
  std::string file_;
  std::vector<Level> levels_;
};

const Json& member(const Json& object, const std::string& key, const std::string& where) {
  if (!object.contains(key)) throw InvalidRequest(where + "/" + key, "this key is missing");
  return object.at(key);
}

}  // namespace

Json read_strict_json(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || !std::filesystem::is_regular_file(path, ignored))
    throw InvalidInput(path, 0, 0, "cannot read this file");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    DuplicateKeys duplicates(path);
    return Json::parse(
        text, [&](int depth, Json::parse_event_t event, Json& parsed) { return duplicates(depth, event, parsed); });
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const auto line =
        static_cast<std::uint64_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
    const std::size_t start = text.rfind('\n', at == 0 ? 0 : at - 1);
    throw InvalidInput(path, line, start == std::string::npos ? at + 1 : at - start, "this is not JSON");
  }
}

void expect_keys(const Json& object, const std::vector<std::string>& required, const std::vector<std::string>& optional,
                 const std::string& where) {
  if (!object.is_object()) throw InvalidRequest(where, "expected a JSON object, found " + object.dump().substr(0, 60));
  std::vector<std::string> known = required;
  known.insert(known.end(), optional.begin(), optional.end());
  for (const auto& [key, value] : object.items()) {
    if (key == "$comment" || key == "$schema" || std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw InvalidRequest(where + "/" + key, unknown_name_message("key", key, known));
  }
  for (const std::string& key : required) member(object, key, where);
}

std::string text_at(const Json& object, const std::string& key, const std::string& where) {
  const Json& value = member(object, key, where);
  if (!value.is_string()) throw InvalidRequest(where + "/" + key, "expected text, found " + value.dump().substr(0, 60));
  return value.get<std::string>();
}

std::int64_t whole_number(const Json& value, const std::string& where, std::int64_t minimum) {
  if (!value.is_number_integer()) {
    throw InvalidRequest(where, "expected a whole number, found " + value.dump().substr(0, 60));
  }
  const bool too_large = value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{1} << 53;
  if (too_large || value.get<std::int64_t>() < minimum) {
    throw InvalidRequest(where, fmt::format("{} is not between {} and 2^53", value.dump(), minimum));
  }
  return value.get<std::int64_t>();
}

std::int64_t whole_at(const Json& object, const std::string& key, const std::string& where, std::int64_t minimum) {
  return whole_number(member(object, key, where), where + "/" + key, minimum);
}

double number_at(const Json& object, const std::string& key, const std::string& where, double minimum) {
  const Json& value = member(object, key, where);
  if (!value.is_number())
    throw InvalidRequest(where + "/" + key, "expected a number, found " + value.dump().substr(0, 60));
  if (!(value.get<double>() >= minimum))
    throw InvalidRequest(where + "/" + key, fmt::format("{} is below {}", value.dump(), minimum));
  return value.get<double>();
}

const Json& list_at(const Json& object, const std::string& key, const std::string& where) {
  const Json& value = member(object, key, where);
  if (!value.is_array())
    throw InvalidRequest(where + "/" + key, "expected a list, found " + value.dump().substr(0, 60));
  return value;
}

}  // namespace strobe
