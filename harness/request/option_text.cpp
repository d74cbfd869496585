#include "harness/request/option_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/errors.hpp"

namespace strobe {
namespace {

/// Position of the colon between a name and its parameters; npos if there is none. The name is known or an existing
/// file.
std::size_t parameters_at(const std::string& text, const std::vector<std::string>& known) {
  const std::size_t first = text.find(':');
  if (first == std::string::npos) return first;
  if (std::find(known.begin(), known.end(), text.substr(0, first)) != known.end()) return first;
  std::error_code ignored;  // a path that cannot be examined is not a file
  if (std::filesystem::exists(text, ignored)) return std::string::npos;
  for (std::size_t colon = text.rfind(':'); colon != std::string::npos && colon > 0;
       colon = text.rfind(':', colon - 1)) {
    if (std::filesystem::is_regular_file(text.substr(0, colon), ignored)) return colon;
  }
  return std::string::npos;
}

}  // namespace

NamedParameters split_named_parameters(const std::string& text, const std::vector<std::string>& known,
                                       const std::string& where) {
  const std::size_t colon = parameters_at(text, known);
  if (colon == std::string::npos) return {text, {}};
  NamedParameters result{text.substr(0, colon), {}};
  std::string rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string word = rest.substr(0, comma);
    const bool goes_on = !result.parameters.empty() && result.parameters.back().first == "columns";
    if (word.find('=') == std::string::npos && goes_on && word.find(':') != std::string::npos) {
      result.parameters.back().second += "/" + word;  // columns=source:from,target:to
    } else if (word.find('=') == std::string::npos) {
      throw InvalidRequest(
          where, fmt::format("'{}:' takes parameters as key=value, but '{}' has no value; a value that is a list "
                             "is written with /, such as 0.1/0.9",
                             result.name, word));
    } else {
      result.parameters.push_back(split_assignment(word, where));
    }
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return result;
}

Json typed_parameters(const FieldTable& table, const std::vector<std::pair<std::string, std::string>>& texts) {
  Json parameters = Json::object();
  if (!table.make_default) return parameters;
  const auto object = table.make_default();
  Json typed = Json::object();
  for (const auto& [key, text] : texts) typed[key] = text;
  table.apply(object.get(), typed, "", true);
  const Json complete = table.to_json(object.get());
  for (const auto& [key, text] : texts) {
    if (complete.contains(key)) parameters[key] = complete.at(key);
    const Preset* preset = key == preset_key ? table.preset(text) : nullptr;
    if (preset == nullptr) continue;
    for (const auto& [name, value] : preset->values) parameters[name] = complete.at(name);
  }
  return parameters;
}

std::pair<std::string, std::string> split_assignment(const std::string& text, const std::string& where) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InvalidRequest(where, fmt::format("expected key=value, found '{}'", text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

double number_from_text(const std::string& text, const std::string& where) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') throw InvalidRequest(where, fmt::format("'{}' is not a number", text));
  return number;
}

double share_from_text(const std::string& text, const std::string& where, bool may_be_whole) {
  const bool has_sign = text.ends_with('%');
  const double number = number_from_text(text.substr(0, text.size() - (has_sign ? 1 : 0)), where);
  const double share = has_sign ? number / 100 : number;
  if (share > 0 && (share < 1 || (may_be_whole && share == 1))) return share;
  throw InvalidRequest(
      where, fmt::format("expected a share such as 3% or 0.03{}, found '{}'", may_be_whole ? ", up to 1" : "", text));
}

}  // namespace strobe
