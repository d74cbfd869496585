#include "results/row/value_types.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace strobe {
namespace {

constexpr std::size_t most_shown = 60;

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer")
    return value.is_number_integer() || (value.is_number() && std::floor(value.get<double>()) == value.get<double>());
  return type == value.type_name();
}

std::string complain(const std::string& pointer, const Json& value, const std::vector<std::string>& expected) {
  return fmt::format("{}{} {}, expected {}", pointer, pointer.empty() ? "it is" : " is",
                     value.dump().substr(0, most_shown), fmt::join(expected, " or "));
}

std::vector<std::string> texts_of(const Json& json) {
  if (json.is_string()) return {json.get<std::string>()};
  return json.get<std::vector<std::string>>();
}

std::string complaint_inside(const Json& value, const Json& schema, const std::string& pointer) {
  if (value.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      std::string inner = type_complaint(value[i], schema["items"], fmt::format("{}/{}", pointer, i));
      if (!inner.empty()) return inner;
    }
  }
  if (!value.is_object()) return "";
  for (const auto& [key, item] : value.items()) {
    const bool named = schema.contains("properties") && schema["properties"].contains(key);
    if (!named && !(schema.contains("additionalProperties") && schema["additionalProperties"].is_object())) continue;
    const Json& own = named ? schema["properties"][key] : schema["additionalProperties"];
    std::string inner = type_complaint(item, own, pointer + "/" + key);
    if (!inner.empty()) return inner;
  }
  return "";
}

}  // namespace

std::string type_complaint(const Json& value, const Json& schema, const std::string& pointer) {
  if (schema.contains("enum")) {
    const std::vector<std::string> words = texts_of(schema["enum"]);
    const bool known = value.is_string() && std::count(words.begin(), words.end(), value.get<std::string>()) != 0;
    return known ? "" : complain(pointer, value, words);
  }
  if (schema.contains("type")) {
    const std::vector<std::string> types = texts_of(schema["type"]);
    const auto fits = [&](const std::string& type) { return has_type(value, type); };
    if (std::none_of(types.begin(), types.end(), fits)) return complain(pointer, value, types);
  }
  return complaint_inside(value, schema, pointer);
}

}  // namespace strobe
