// Keys of a row that only some kinds of training state. A kind registers the table of its keys; rows, their schema,
// summary.csv and the report take them from there and know no kind.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/registry.hpp"

namespace strobe {

/// One key of the table.
struct FactField {
  std::string key;
  std::string unit;         // "s", "bytes", "1" for a pure number, "" for text
  std::string help;         // one or two sentences
  Json schema;              // JSON Schema of the value; every fact may also be null
  std::string absent = "";  // why the key is null in rows whose plan does not state it
};

struct FactsTag {
  static constexpr const char* kind = "facts";
  struct Value {
    std::vector<FactField> fields;
    std::string title;  // of a section of the report that shows the keys; "" = none
  };
};
using FactsRegistry = Registry<FactsTag>;

/// Values of registered keys for one case.
struct Facts {
  std::map<std::string, Json> values;         // by key
  std::map<std::string, std::string> absent;  // by key, why this case has no value; goes before FactField::absent
  std::vector<std::string> notes;             // sentences for the row, known when training is over
  std::vector<std::string> approximations;    // also known then: how it differed from exact training

  /// The value of a key as a T. Throws Error when the case has none.
  template <class T>
  T get(const std::string& key) const {
    const auto found = values.find(key);
    if (found == values.end()) throw Error("the case does not state " + key);
    return found->second.get<T>();
  }
  /// Sets a number; one that is not finite counts as absent.
  void set(const std::string& key, double value);
  bool has(const std::string& key) const { return values.count(key) != 0; }
};

/// The tables that ask for a section of the report: [{"title", "fields": [{"key", "unit", "help"}]}].
Json fact_sections();

}  // namespace strobe
