// Fields are named as --vary and --set name them.
#include "results/answer/case_difference.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/errors.hpp"

namespace strobe {
namespace {

std::string typed(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().empty() ? "\"\"" : value.get<std::string>();
  return value.dump();
}

bool is_plugin(const Json& value) { return value.is_object() && value.contains("name"); }

void differences_of_plugins(const std::string& slot, const Json& a, const Json& b,
                            std::vector<FieldDifference>& found) {
  if (a.at("name") != b.at("name")) {
    found.push_back({slot, typed(a.at("name")), typed(b.at("name"))});
    return;
  }
  for (const auto& [key, value] : a.items()) {
    const Json other = b.value(key, Json());
    if (value != other) found.push_back({slot + "." + key, typed(value), other.is_null() ? "-" : typed(other)});
  }
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) found.push_back({slot + "." + key, "-", typed(value)});
}

std::pair<std::string, std::string> split_field(const std::string& field) {
  const std::size_t dot = field.find('.');
  return {field.substr(0, dot), dot == std::string::npos ? "" : field.substr(dot + 1)};
}

std::vector<std::string> fields_of(const Json& case_json) {
  std::vector<std::string> fields;
  for (const auto& [key, value] : case_json.items()) {
    fields.push_back(key);
    if (!is_plugin(value)) continue;
    for (const auto& [inner, ignored] : value.items())
      if (inner != "name") fields.push_back(key + "." + inner);
  }
  return fields;
}

/// The strategy `external` is known by the name of the program that it runs.
std::string plugin_text(const Json& plugin, bool parameters) {
  if (const std::string program = plugin.value("program", ""); !parameters && !program.empty()) return program;
  std::string text = typed(plugin.at("name")), given;
  for (const auto& [key, value] : plugin.items())
    if (key != "name") given += fmt::format("{}{}={}", given.empty() ? ":" : ",", key, typed(value));
  return parameters ? text + given : text;
}

}  // namespace

std::vector<FieldDifference> differences_of(const Json& a, const Json& b) {
  std::vector<FieldDifference> found;
  for (const auto& [key, value] : a.items()) {
    const Json other = b.value(key, Json());
    if (value == other) continue;
    if (is_plugin(value) && is_plugin(other))
      differences_of_plugins(key, value, other, found);
    else
      found.push_back({key, typed(value), other.is_null() ? "-" : typed(other)});
  }
  for (const auto& [key, value] : b.items())
    if (!a.contains(key)) found.push_back({key, "-", typed(value)});
  return found;
}

Json tuned_settings(const Row& row) {
  const auto tuning = row.facts.find("tuning");
  if (tuning == row.facts.end() || !tuning->second.contains("value")) return Json::object();  // only a choice has one
  return tuning->second.value("settings", Json::object());
}

Json untuned_case_of(const Row& row) {
  Json json = case_json_of(row);
  const Json tuned = tuned_settings(row);
  for (const auto& [path, value] : tuned.items()) json = without_field(std::move(json), path);
  return json;
}

std::vector<CaseOfRow> cases_of(const std::vector<Row>& rows) {
  std::vector<CaseOfRow> cases;
  for (const Row& row : rows) cases.push_back({&row, case_json_of(row)});
  return cases;
}

std::string nearest_text(const Row& row, const std::vector<CaseOfRow>& cases) {
  const Row* nearest = nullptr;
  std::vector<FieldDifference> found;
  const Json here = case_json_of(row);
  for (const CaseOfRow& other : cases) {
    std::vector<FieldDifference> differences = differences_of(here, other.json);
    if (nearest != nullptr && differences.size() >= found.size()) continue;
    nearest = other.row;
    found = std::move(differences);
  }
  if (nearest == nullptr) return "";
  std::string text = fmt::format("the nearest case, {}, has", nearest->case_id);
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i)
    text += fmt::format("{} {} {} instead of {}", i == 0 ? "" : ",", found[i].field, found[i].b, found[i].a);
  if (found.size() > most) text += fmt::format(", and {} more fields differ", found.size() - most);
  return text;
}

std::string value_at(const Json& case_json, const std::string& field, bool parameters) {
  const auto [slot, key] = split_field(field);
  if (case_json.contains(slot)) {
    const Json& value = case_json.at(slot);
    if (key.empty()) return is_plugin(value) ? plugin_text(value, parameters) : typed(value);
    // Another plug-in of the slot need not have the parameter.
    if (is_plugin(value)) return value.contains(key) ? typed(value.at(key)) : "-";
  }
  throw InvalidRequest("--by", unknown_name_message("field", field, fields_of(case_json)));
}

Json without_field(Json case_json, const std::string& field) {
  const auto [slot, key] = split_field(field);
  if (key.empty())
    case_json.erase(slot);
  else if (case_json.contains(slot) && case_json.at(slot).is_object())
    case_json.at(slot).erase(key);
  return case_json;
}

}  // namespace strobe
