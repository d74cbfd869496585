#include "core/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/json_reader.hpp"

namespace strobe {
namespace {

const char* type_name(FieldType type) {
  switch (type) {
    case FieldType::integer:
      return "an integer";
    case FieldType::real:
      return "a number";
    case FieldType::boolean:
      return "true or false";
    case FieldType::text:
    case FieldType::choice:
      break;
  }
  return "text";
}

Json parse_text(const Field& field, const std::string& text) {
  if (field.type == FieldType::text || field.type == FieldType::choice) return text;
  if (field.type == FieldType::boolean) {
    if (text == "true" || text == "1" || text == "on") return true;
    if (text == "false" || text == "0" || text == "off") return false;
    return text;
  }
  const Json parsed = parse_json_or_discard(text);
  return parsed.is_discarded() ? Json(text) : parsed;
}

bool has_type(const Field& field, const Json& value) {
  switch (field.type) {
    case FieldType::integer:
      return value.is_number_integer() ||
             (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>() &&
              std::abs(value.get<double>()) < 9007199254740992.0);
    case FieldType::real:
      return value.is_number();
    case FieldType::boolean:
      return value.is_boolean();
    case FieldType::text:
    case FieldType::choice:
      return value.is_string();
  }
  return false;
}

/// Checks a JSON value and converts it to the type that the field holds.
FieldValue stored(const Field& field, const Json& value) {
  switch (field.type) {
    case FieldType::integer:
      return value.get<std::int64_t>();
    case FieldType::real:
      return value.get<double>();
    case FieldType::boolean:
      return value.get<bool>();
    case FieldType::text:
    case FieldType::choice:
      break;
  }
  return value.get<std::string>();
}

Json json_of(const FieldValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

void check_range(const Field& field, const Json& value, const std::string& pointer) {
  const double number = value.get<double>();
  if (std::isnan(number) || number < field.minimum || number > field.maximum) {
    throw InvalidRequest(pointer,
                         fmt::format("{} is out of range; {} must be between {} and {}{}{}", value.dump(), field.name,
                                     field.minimum, field.maximum, field.unit.empty() ? "" : " ", field.unit));
  }
}

void check_choice(const Field& field, const std::string& value, const std::string& pointer) {
  for (const std::string& choice : field.choices) {
    if (choice == value) return;
  }
  throw InvalidRequest(pointer, unknown_name_message("value of " + field.name, value, field.choices));
}

}  // namespace

void FieldTable::add(Field field, const void* defaults) {
  field.default_text = json_of(field.get(defaults)).dump();
  fields_.push_back(std::move(field));
}

std::vector<std::string> FieldTable::names() const {
  std::vector<std::string> result;
  for (const Field& field : fields_) result.push_back(field.name);
  return result;
}

const Preset* FieldTable::preset(const std::string& name) const {
  for (const Preset& one : presets_) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

void FieldTable::apply_preset(void* object, const Json& name, const std::string& where) const {
  if (!name.is_string()) throw InvalidRequest(where, "expected the name of a preset, found " + name.dump());
  const Preset* found = preset(name.get<std::string>());
  std::vector<std::string> known;
  for (const Preset& one : presets_) known.push_back(one.name);
  if (found == nullptr) throw InvalidRequest(where, unknown_name_message(preset_key, name.get<std::string>(), known));
  for (const auto& [key, value] : found->values) apply_value(object, key, json_of(value), where, false);
}

void FieldTable::apply_value(void* object, const std::string& key, const Json& raw, const std::string& where,
                             bool from_text) const {
  const auto field =
      std::find_if(fields_.begin(), fields_.end(), [&key](const Field& candidate) { return candidate.name == key; });
  if (field == fields_.end()) throw InvalidRequest(where, unknown_name_message("parameter", key, names()));
  const Json value = from_text && raw.is_string() ? parse_text(*field, raw.get<std::string>()) : raw;
  if (!has_type(*field, value)) {
    throw InvalidRequest(where, fmt::format("{} must be {}, found {}", key, type_name(field->type), value.dump()));
  }
  if (field->type == FieldType::integer || field->type == FieldType::real) check_range(*field, value, where);
  if (field->type == FieldType::choice) check_choice(*field, value.get<std::string>(), where);
  field->set(object, stored(*field, value));
}

void FieldTable::apply(void* object, const Json& values, const std::string& pointer, bool from_text) const {
  if (values.is_null()) return;
  if (!values.is_object()) throw InvalidRequest(pointer, "expected a JSON object, found " + values.dump());
  Complaints complaints;
  const bool chosen = !presets_.empty() && values.contains(preset_key);
  if (chosen)
    complaints.hear([&] { apply_preset(object, values.at(preset_key), fmt::format("{}/{}", pointer, preset_key)); });
  for (const auto& [key, raw] : values.items()) {
    if (key == "name" || key == "description" || key == "$comment" || (chosen && key == preset_key)) continue;
    complaints.hear([&, &key = key, &raw = raw] { apply_value(object, key, raw, pointer + "/" + key, from_text); });
  }
  complaints.raise();
}

Json FieldTable::to_json(const void* object) const {
  Json result = Json::object();
  for (const Field& field : fields_) result[field.name] = json_of(field.get(object));
  return result;
}

Json FieldTable::complete(const Json& values, const std::string& pointer) const {
  if (!make_default) {
    FieldTable().apply(nullptr, values, pointer);
    return Json::object();
  }
  const std::shared_ptr<void> object = make_default();
  apply(object.get(), values, pointer);
  return to_json(object.get());
}

Json FieldTable::schema() const {
  Json properties = Json::object();
  for (const Field& field : fields_) {
    Json property = Json::object();
    property["description"] = field.unit.empty() ? field.help : field.help + " [" + field.unit + "]";
    switch (field.type) {
      case FieldType::integer:
        property["type"] = "integer";
        break;
      case FieldType::real:
        property["type"] = "number";
        break;
      case FieldType::boolean:
        property["type"] = "boolean";
        break;
      case FieldType::text:
        property["type"] = "string";
        break;
      case FieldType::choice:
        property["enum"] = field.choices;
        break;
    }
    const bool number = field.type == FieldType::integer || field.type == FieldType::real;
    if (number && std::isfinite(field.minimum)) property["minimum"] = field.minimum;
    if (number && std::isfinite(field.maximum)) property["maximum"] = field.maximum;
    property["default"] = Json::parse(field.default_text);
    properties[field.name] = property;
  }
  return properties;
}

}  // namespace strobe
