#include "workloads/storage/strict_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/json_reader.hpp"

namespace strobe {
namespace {

const Json& member(const Json& object, const std::string& key, const std::string& where) {
  if (!object.contains(key)) throw InvalidRequest(where + "/" + key, "this key is missing");
  return object.at(key);
}

[[noreturn]] void refuse_key(const std::string& key, const std::vector<std::string>& known, const std::string& where) {
  throw InvalidRequest(where + "/" + key, unknown_name_message("key", key, known));
}

}  // namespace

Json read_strict_json(const std::string& path) {
  std::string text;
  try {
    text = read_regular_file(path);
  } catch (const SystemError& error) {
    const std::string words = error.what();  // "cannot read PATH: why"
    throw InvalidInput(path, 0, 0, "cannot be read" + words.substr(words.rfind(": ")));
  }
  return parse_json(text, path, [&path](const std::string& pointer, const std::string&) {
    throw InvalidRequest(path + "#" + pointer, "this key occurs twice");
  });
}

void expect_keys(const Json& object, const std::vector<std::string>& required, const std::vector<std::string>& optional,
                 const std::string& where) {
  if (!object.is_object()) throw InvalidRequest(where, "expected a JSON object, found " + object.dump().substr(0, 60));
  std::vector<std::string> known = required;
  known.insert(known.end(), optional.begin(), optional.end());
  Complaints complaints;
  for (const auto& [key, value] : object.items()) {
    if (key == "$comment" || key == "$schema" || std::find(known.begin(), known.end(), key) != known.end()) continue;
    complaints.hear([&, &key = key] { refuse_key(key, known, where); });
  }
  for (const std::string& key : required) complaints.hear([&] { member(object, key, where); });
  complaints.raise();
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
