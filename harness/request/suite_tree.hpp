// Edits the JSON of one case by dotted paths and records the place that set each value.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// The JSON of a case under construction. `origin` maps the JSON pointer of a value inside the case ("/strategy/kind")
/// to the place that set it ("/cases/0/matrix/strategy.partitioner", "--set strategy.partitioner").
struct CaseTree {
  Json json;
  std::map<std::string, std::string> origin;
};

/// The keys of "a.b" as {"a", "b"}. Throws InvalidRequest(where, ...) for empty parts and more than two.
std::vector<std::string> split_path(const std::string& path, const std::string& where);

/// Sets the value at `path`. A plug-in's name alone counts as {"name": ...}. If `replaces` is set and the value names
/// another plug-in, the parameters of the earlier one are dropped.
void set_path(CaseTree& tree, const std::string& path, const Json& value, const std::string& where, bool replaces);

/// Merges an object of case keys into the tree, key by key.
void lay_over(CaseTree& tree, const Json& object, const std::string& where);

/// Whether the case has `value` at `path`. Defaults of scalar settings and plug-in choices count.
bool holds(const CaseTree& tree, const std::string& path, const Json& value, const std::string& where);

}  // namespace strobe
