// The options of a plug-in as part of a DataCache key.
#pragma once

#include <nlohmann/json.hpp>

#include "core/fields.hpp"

namespace strobe {

/// {"name", every parameter}. Two are equal when both values and text are equal. Values alone are not enough: -0.0
/// equals 0.0, and 1 equals 1.0.
struct KeyOptions {
  Json json;

  std::string name() const { return json.at("name").get<std::string>(); }
  bool operator==(const KeyOptions& other) const { return json == other.json && json.dump() == other.json.dump(); }
};

}  // namespace strobe
