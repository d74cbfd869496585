// The options of a plug-in as a member of a key of DataCache.
#pragma once

#include <nlohmann/json.hpp>

#include "core/fields.hpp"

namespace strobe {

/// {"name", every parameter}. Equal when values and text are, because -0.0 and 0.0 are equal values, and 1 and 1.0
/// also.
struct KeyOptions {
  Json json;

  std::string name() const { return json.at("name").get<std::string>(); }
  bool operator==(const KeyOptions& other) const { return json == other.json && json.dump() == other.json.dump(); }
};

}  // namespace strobe
