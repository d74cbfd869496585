// Returns the contents of a cluster file, checked key by key; nothing is filled in. Cost: the object's size.
#include "backends/sim/cluster/cluster_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/sim/cluster/cluster_file.hpp"
#include "core/errors.hpp"
#include "core/json_reader.hpp"

namespace strobe::sim {
namespace {

// A changed number (a what-if) has no date: nobody has measured it.
constexpr Key quantity_keys[] = {
    {"value", Form::not_negative}, {"low", Form::not_negative, Need::never}, {"high", Form::not_negative, Need::never},
    {"source", Form::text},        {"date", Form::text, Need::never},        {"what_if", Form::flag, Need::never}};
constexpr Key unknown_keys[] = {{"value", Form::not_negative}, {"reason", Form::text}};

void check_value(const Json& json, const Key& key, const std::string& pointer) {
  if (!json.is_number()) throw InvalidRequest(pointer, "expected a number, found " + json.dump());
  const double value = json.get<double>();
  const bool whole = key.form == Form::count || key.form == Form::bytes;
  if (!std::isfinite(value) || (whole && (std::floor(value) != value || value > 9007199254740992.0)) ||
      (key.form == Form::count && value > 1000000)) {
    throw InvalidRequest(pointer,
                         fmt::format("{} is not a {} number", json.dump(), whole ? "sensible whole" : "finite"));
  }
  if (value < 0) throw InvalidRequest(pointer, fmt::format("{} is negative", json.dump()));
  const bool needs_some = key.form == Form::count || key.form == Form::positive;
  if (value == 0 && needs_some) throw InvalidRequest(pointer, fmt::format("{} must be above 0", key.name));
  if (value < 1 && key.form == Form::factor)
    throw InvalidRequest(pointer, fmt::format("{} must be 1 or more", key.name));
}

bool says_unknown(const Json& quantity) {
  return quantity.is_object() && quantity.contains("value") && quantity.at("value").is_null();
}

/// A quantity that nobody has published says why it is not there.
void check_unknown(const Json& quantity, const Key& key, const std::string& pointer) {
  if (!key.may_be_unknown) {
    throw InvalidRequest(pointer + "/value", "expected a number, found null");
  }
  check_keys(quantity, unknown_keys, pointer);
  text_at(quantity, "reason", pointer);
}

/// A value that was chosen has the interval that it was chosen from.
void check_interval(const Json& quantity, const Key& key, const std::string& pointer) {
  for (const char* bound : {"low", "high"}) {
    if (!quantity.contains(bound)) continue;
    check_value(quantity.at(bound), key, pointer + "/" + bound);
    const double difference = quantity.at("value").get<double>() - quantity.at(bound).get<double>();
    if (bound == std::string_view("low") ? difference < 0 : difference > 0)
      throw InvalidRequest(pointer + "/" + bound,
                           fmt::format("the value {} lies outside", quantity.at("value").dump()));
  }
}

}  // namespace

const Key* find_key(Keys keys, const std::string& name) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& key) { return name == key.name; });
  return found == keys.end() ? nullptr : &*found;
}

[[noreturn]] void refuse_key(Keys keys, const std::string& name, const std::string& pointer) {
  std::vector<std::string> known;
  for (const Key& key : keys) known.emplace_back(key.name);
  for (const std::string& candidate : known) {
    if (candidate.rfind(name + "_", 0) != 0) continue;
    throw InvalidRequest(pointer + "/" + name, fmt::format("'{}' names no unit; did you mean '{}'?", name, candidate));
  }
  throw InvalidRequest(pointer + "/" + name, unknown_name_message("key", name, known));
}

void check_keys(const Json& object, Keys keys, const std::string& pointer) {
  if (!object.is_object()) throw InvalidRequest(pointer, "expected a JSON object, found " + object.dump());
  Complaints complaints;
  for (const auto& item : object.items()) {
    if (find_key(keys, item.key()) == nullptr) complaints.hear([&] { refuse_key(keys, item.key(), pointer); });
  }
  for (const Key& key : keys) {
    if (key.need != Need::always || object.contains(key.name)) continue;
    complaints.hear([&] { throw InvalidRequest(pointer + "/" + key.name, "this key is missing"); });
  }
  complaints.raise();
}

void hear_values(const Json& object, Keys keys, const std::string& pointer, Complaints& complaints) {
  complaints.hear([&] { check_keys(object, keys, pointer); });
  const Numbers numbers(object, keys, pointer);
  for (const Key& key : keys) {
    if (!object.is_object() || !object.contains(key.name) || key.name[0] == '$') continue;
    if (key.form == Form::text) {
      complaints.hear([&] { text_at(object, key.name, pointer); });
    } else if (key.form == Form::flag) {
      complaints.hear([&] { flag_at(object, key.name, pointer); });
    } else if (key.form != Form::object && key.form != Form::price) {
      complaints.hear([&] { numbers.at(key.name, 0); });
    }
  }
}

std::string text_at(const Json& object, const char* key, const std::string& pointer) {
  const Json& value = object.at(key);
  if (!value.is_string() || value.get<std::string>().empty()) {
    throw InvalidRequest(pointer + "/" + key, "expected text, found " + value.dump());
  }
  return value.get<std::string>();
}

std::string choice_at(const Json& object, const char* key, const std::string& pointer,
                      const std::vector<std::string>& allowed, const std::string& otherwise) {
  if (!object.contains(key)) return otherwise;
  std::string text = text_at(object, key, pointer);
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    throw InvalidRequest(pointer + "/" + key, unknown_name_message(key, text, allowed));
  }
  return text;
}

bool flag_at(const Json& object, const char* key, const std::string& pointer) {
  if (!object.at(key).is_boolean()) throw InvalidRequest(pointer + "/" + key, "expected true or false");
  return object.at(key).get<bool>();
}

bool is_what_if(const Json& quantity) { return quantity.value("what_if", Json(false)) == Json(true); }

void check_provenance(const Json& quantity, const std::string& pointer) {
  text_at(quantity, "source", pointer);
  if (is_what_if(quantity)) return;
  if (!quantity.contains("date")) throw InvalidRequest(pointer + "/date", "this key is missing");
  const std::string date = text_at(quantity, "date", pointer);
  if (!is_date(date)) throw InvalidRequest(pointer + "/date", "expected a date as YYYY-MM-DD, found '" + date + "'");
}

bool Numbers::has(const char* name) const {
  if (!object_.contains(name)) return false;
  if (!says_unknown(object_.at(name))) return true;
  check_unknown(object_.at(name), *find_key(keys_, name), pointer_ + "/" + name);
  return false;
}

double Numbers::at(const char* name) const {
  const std::string here = pointer_ + "/" + name;
  const Json& quantity = object_.at(name);
  const Key& key = *find_key(keys_, name);
  if (says_unknown(quantity)) check_unknown(quantity, key, here);
  check_keys(quantity, quantity_keys, here);
  check_provenance(quantity, here);
  check_value(quantity.at("value"), key, here + "/value");
  check_interval(quantity, key, here);
  return quantity.at("value").get<double>();
}

Json value_from_text(const Key& key, const std::string& text, const std::string& pointer) {
  if (key.form == Form::text) return text;
  if (key.form == Form::flag && (text == "true" || text == "false")) return text == "true";
  if (key.form == Form::flag) throw InvalidRequest(pointer, "expected true or false, found '" + text + "'");
  if (key.form == Form::object) throw InvalidRequest(pointer, "name one number inside it");
  const Json number = parse_json_or_discard(text);
  if (!number.is_number()) throw InvalidRequest(pointer, "expected a number, found '" + text + "'");
  return number;
}

}  // namespace strobe::sim
