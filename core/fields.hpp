// Parameter field tables: one table per plain struct drives JSON parsing, --set, --help, the JSON Schema and the docs.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace strobe {

using Json = nlohmann::ordered_json;

/// The value of one parameter. Plug-ins use this type so that they need not compile the JSON library.
using FieldValue = std::variant<std::int64_t, double, bool, std::string>;

enum class FieldType { integer, real, text, boolean, choice };

/// One parameter of a struct: its name, unit, range, help and how to read and write it in an object of that struct.
struct Field {
  std::string name;
  FieldType type = FieldType::text;
  std::string unit;  // "s", "bytes", "" for a pure number or text
  std::string help;  // one sentence
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;  // allowed values when type is choice
  std::function<FieldValue(const void*)> get;
  std::function<void(void*, const FieldValue&)> set;  // value already checked
  std::string default_text;                           // the default, as JSON text
  /// Values that a search over configurations tries when the user leaves the field open; empty = only the default.
  /// `strobe plan` tries those of strategies and cases, --tune those of models and optimizers. For --tune, one text
  /// LOW..HIGH is a range (core/searched_values.hpp).
  /// `sizes_only` applies to workloads known by their sizes alone; there several values may cost the same.
  std::function<std::vector<std::string>(bool sizes_only)> searched;
};

/// Values that one name stands for, such as the sizes of a paper.
struct Preset {
  std::string name;
  std::string source;  // who published the values
  std::vector<std::pair<std::string, FieldValue>> values;
};

/// The key that chooses a preset, next to the names of fields.
inline constexpr const char* preset_key = "preset";

/// The fields of one parameter struct, in declaration order. An empty table belongs to a plug-in without parameters.
class FieldTable {
 public:
  const std::vector<Field>& fields() const { return fields_; }
  bool empty() const { return fields_.empty(); }
  /// Appends a field; `defaults` is an object that holds its default.
  void add(Field field, const void* defaults);
  /// Sets Field::searched of the field appended last.
  void search_last(std::function<std::vector<std::string>(bool)> values) {
    fields_.back().searched = std::move(values);
  }
  std::vector<std::string> names() const;
  const std::vector<Preset>& presets() const { return presets_; }
  void add_preset(Preset preset) { presets_.push_back(std::move(preset)); }
  /// The preset of that name, or null.
  const Preset* preset(const std::string& name) const;

  /// Sets the fields of `object` named in `values` (a JSON object). The key "preset" sets the values of a preset;
  /// fields that `values` names win over them. Unknown keys, wrong types and values out of range throw InvalidRequest
  /// with the JSON pointer `pointer + "/" + key` and the nearest match. The keys "name", "description" and "$comment"
  /// are ignored. A text value is converted when the field is a number or boolean (`from_text`); --set and key=value
  /// lists pass text.
  void apply(void* object, const Json& values, const std::string& pointer, bool from_text = false) const;

  /// Every field of `object` as a JSON object, in table order.
  Json to_json(const void* object) const;

  /// Completes `values` with the defaults and checks them. Returns the canonical parameter object, as `to_json` prints
  /// it.
  Json complete(const Json& values, const std::string& pointer) const;

  /// The table as JSON Schema properties (draft 2020-12).
  Json schema() const;

  /// Makes a default object of the struct; set by `make_fields`.
  std::function<std::shared_ptr<void>()> make_default;

 private:
  void apply_preset(void* object, const Json& name, const std::string& where) const;
  void apply_value(void* object, const std::string& key, const Json& raw, const std::string& where,
                   bool from_text) const;

  std::vector<Field> fields_;
  std::vector<Preset> presets_;
};

/// Builds the field table of struct `S` (default constructible): `make_fields<S>().integer("window", &S::window, ...)`.
template <class S>
class FieldTableBuilder;

template <class S>
FieldTableBuilder<S> make_fields();

/// Reads an `S` from JSON with its table: defaults, then `values`.
template <class S>
S from_json(const FieldTable& table, const Json& values, const std::string& pointer) {
  S object{};
  table.apply(&object, values, pointer);
  return object;
}

}  // namespace strobe

#include "core/fields_inl.hpp"
