// Values of options from field tables, for tests that try every pair of them. New options are tried without an edit
// here. Sizes are limited to those of small cases.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/fields.hpp"
#include "harness/placement/strategy.hpp"
#include "harness/request/case.hpp"
#include "workloads/partitioners/partitioner.hpp"

namespace strobe::test {

/// One option of a case at one value; `slot` is "model", "strategy", ..., or "" for a setting of the case itself.
struct OptionValue {
  std::string slot, name;
  Json value;

  std::string text() const { return (slot.empty() ? "" : slot + ".") + name + "=" + value.dump(); }
  void set(Json& request) const { (slot.empty() ? request[name] : request[slot][name]) = value; }
  bool same_option(const OptionValue& other) const { return slot == other.slot && name == other.name; }
};

using OptionPair = std::pair<OptionValue, OptionValue>;

/// The value in small cases: the default; whole numbers are limited to twelve.
inline Json small_value(const Field& field) {
  const Json value = Json::parse(field.default_text);
  if (field.type != FieldType::integer || value.get<double>() <= 12) return value;
  return std::max<std::int64_t>(12, std::isfinite(field.minimum) ? static_cast<std::int64_t>(field.minimum) : 12);
}

/// Values of text options, which no table lists. Options that need a file have none.
inline std::vector<std::string> text_values(const Field& field) {
  if (field.searched) return field.searched(false);
  static const std::map<std::string, std::vector<std::string>> known = {
      {"partitioner", PartitionerRegistry::instance().names()},
      {"vertices", {"50%", "3"}},
      {"snapshots", {"50%", "2"}},
      {"vertex_sizes", {"20%/60%"}},
      {"snapshot_sizes", {"30%/60%"}},
      {"interval", {"1", "3"}},
      {"rates", {"p4d-a100"}},
      {"nb", {"2", "3"}},
      {"workloads", {}},
      {"path", {}},
      {"negatives_file", {}},
  };
  const auto values = known.find(field.name);
  EXPECT_NE(values, known.end()) << "no values are known of the text " << field.name;
  return values == known.end() ? std::vector<std::string>{} : values->second;
}

/// Values of a field other than its small one.
inline std::vector<Json> other_values(const Field& field) {
  std::vector<Json> values;
  const Json base = small_value(field);
  switch (field.type) {
    case FieldType::choice:
      values.assign(field.choices.begin(), field.choices.end());
      break;
    case FieldType::boolean:
      values = {true, false};
      break;
    case FieldType::text:
      for (const std::string& text : text_values(field)) values.push_back(text);
      break;
    case FieldType::integer:
      for (std::int64_t more = 0; more < 3; ++more) {
        const double value = (std::isfinite(field.minimum) ? field.minimum : 0) + static_cast<double>(more);
        if (value <= field.maximum) values.push_back(static_cast<std::int64_t>(value));
      }
      break;
    case FieldType::real: {
      const double usual = base.get<double>();
      const bool narrow = std::isfinite(field.minimum) && field.maximum <= 10 * std::max(1.0, std::abs(usual));
      if (std::isfinite(field.minimum)) values.push_back(field.minimum);
      values.push_back(narrow ? (field.minimum + field.maximum) / 2 : usual == 0 ? 0.5 : 2 * usual);
      if (narrow) values.push_back(field.maximum);
      break;
    }
  }
  std::erase_if(values, [&](const Json& value) { return value == base; });
  return values;
}

/// Adds the small value of every field of `table` to `plugin` where it has none yet.
inline void make_small(const FieldTable& table, Json& plugin) {
  for (const Field& field : table.fields()) {
    if (!plugin.contains(field.name) && small_value(field) != Json::parse(field.default_text))
      plugin[field.name] = small_value(field);
  }
}

/// Adds the other values of the fields of `table`, except fields that `fixed` sets.
inline void add_values(const FieldTable& table, const std::string& slot, const Json& fixed,
                       std::vector<OptionValue>& values) {
  for (const Field& field : table.fields()) {
    if (fixed.contains(field.name)) continue;
    for (const Json& value : other_values(field)) values.push_back({slot, field.name, value});
  }
}

/// All pairs of values of different options.
inline std::vector<OptionPair> all_pairs(const std::vector<OptionValue>& values) {
  std::vector<OptionPair> pairs;
  for (std::size_t a = 0; a < values.size(); ++a) {
    for (std::size_t b = a + 1; b < values.size(); ++b) {
      if (!values[a].same_option(values[b])) pairs.emplace_back(values[a], values[b]);
    }
  }
  return pairs;
}

/// Whether a refusal names its option, by the option's name or by its value.
inline bool names_option(const std::string& refusal, const OptionValue& option) {
  if (refusal.find(option.name) != std::string::npos) return true;
  return option.value.is_string() && refusal.find(option.value.get<std::string>()) != std::string::npos;
}

}  // namespace strobe::test
