#include "harness/request/varied_values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/json_reader.hpp"
#include "harness/request/case_slots.hpp"
#include "harness/request/option_text.hpp"

namespace strobe {
namespace {

bool opens_json(const std::string& text) { return !text.empty() && (text.front() == '{' || text.front() == '['); }

/// Tracks whether the current character lies inside JSON brackets or quotes, where commas do not separate values.
class Nesting {
 public:
  void read(char c, bool first) {
    if (escaped_) {
      escaped_ = false;
    } else if (quoted_) {
      escaped_ = c == '\\';
      quoted_ = c != '"';
    } else if (c == '"' && (first || depth_ > 0)) {  // elsewhere a quote is part of a name
      quoted_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && depth_ > 0) {
      --depth_;
    }
  }
  bool open() const { return quoted_ || depth_ > 0; }

 private:
  int depth_ = 0;
  bool quoted_ = false, escaped_ = false;
};

std::vector<std::string> split_outside_json(const std::string& text) {
  std::vector<std::string> parts{""};
  Nesting nesting;
  for (const char c : text) {
    if (c == ',' && !nesting.open()) {
      parts.emplace_back();
      continue;
    }
    nesting.read(c, parts.back().empty());
    parts.back() += c;
  }
  if (nesting.open())
    throw InvalidRequest("--vary", fmt::format("'{}' opens a brace, a bracket or a quote that nothing closes", text));
  std::erase(parts, "");
  return parts;
}

/// Joins "vertex:partitioner=metis" and "stale=static" into one plug-in with two parameters.
std::vector<std::string> with_parameters(const std::vector<std::string>& parts) {
  std::vector<std::string> values;
  bool takes_parameters = false;  // the name before has a colon, so key=value belongs to it
  for (const std::string& part : parts) {
    const bool colon = part.find(':') != std::string::npos;
    if (takes_parameters && !opens_json(part) && !colon && part.find('=') != std::string::npos) {
      values.back() += "," + part;
      continue;
    }
    values.push_back(part);
    takes_parameters = colon && !opens_json(part);
  }
  return values;
}

std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The numbers of a range "1..5" or "1-5"; empty when the text is not a range.
std::vector<std::string> numbers_of_range(const std::string& text) {
  const std::size_t dots = text.find(".."), dash = text.find('-', 1);
  const std::size_t mark = dots != std::string::npos ? dots : dash, width = dots != std::string::npos ? 2 : 1;
  if (mark == std::string::npos) return {};
  const auto first = whole_number(text.substr(0, mark)), last = whole_number(text.substr(mark + width));
  if (!first || !last) return {};
  if (*last < *first) throw InvalidRequest("--vary", fmt::format("the range {} ends before it begins", text));
  if (static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first) >= most_cases)
    throw InvalidRequest("--vary", fmt::format("the range {} has more than {} values", text, most_cases));
  std::vector<std::string> numbers;
  for (std::int64_t number = *first; number <= *last; ++number) numbers.push_back(std::to_string(number));
  return numbers;
}

Json parsed(const std::string& path, const std::string& text) {
  try {
    return parse_json(text, "--vary " + path);
  } catch (const Error& error) {
    throw InvalidRequest("--vary " + path, fmt::format("'{}' is not JSON: {}", text, error.what()));
  }
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void add_object(const std::string& path, const Json& object, const std::string& origin,
                std::vector<Setting>& settings) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object())
      add_object(path + "." + key, value, origin, settings);
    else
      settings.push_back({key == "name" ? path : path + "." + key, text_of(value), origin});
  }
}

}  // namespace

std::vector<std::string> varied_values(const std::string& path, const std::string& text) {
  const bool plugin = find_case_slot(path) != nullptr;
  std::vector<std::string> parts = split_outside_json(text);
  if (plugin) parts = with_parameters(parts);
  std::vector<std::string> values;
  for (const std::string& part : parts) {
    std::vector<std::string> several;
    if (part.front() == '[') {
      for (const Json& element : parsed(path, part)) several.push_back(text_of(element));
    } else if (!plugin) {
      several = numbers_of_range(part);
    }
    if (several.empty()) several = {part};
    values.insert(values.end(), several.begin(), several.end());
  }
  return values;
}

std::vector<Setting> settings_of_value(const std::string& path, const std::string& value) {
  const std::string origin = "--vary " + path;
  const CaseSlot* slot = find_case_slot(path);
  std::vector<Setting> settings;
  if (value.front() == '{') {
    add_object(path, parsed(path, value), origin, settings);
    return settings;
  }
  if (value.front() == '"') return {{path, text_of(parsed(path, value)), origin}};
  if (slot == nullptr) return {{path, value, origin}};
  const NamedParameters named = split_named_parameters(value, slot->names(), origin);
  settings.push_back({path, named.name, origin});
  for (const auto& [key, text] : named.parameters) settings.push_back({path + "." + key, text, origin});
  return settings;
}

}  // namespace strobe
