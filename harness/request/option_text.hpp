// Values of options and suites as people type them: NAME:key=value, key=value, lists and numbers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// A plug-in's name with parameters for it.
struct NamedParameters {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;
};

/// Reads "NAME:key=value,key=value", where NAME is a known name or a file that is there. Other text is a name as a
/// whole (a path may contain a colon). Throws InvalidRequest(where, ...) for a part that is not key=value.
NamedParameters split_named_parameters(const std::string& text, const std::vector<std::string>& known,
                                       const std::string& where);

/// Typed parameters as a plug-in's table reads them: only those that were given. Throws InvalidRequest for one that the
/// table does not have or that is no value of its field.
Json typed_parameters(const FieldTable& table, const std::vector<std::pair<std::string, std::string>>& texts);

/// "key=value" split at the first '='; throws InvalidRequest(where, ...) when there is none.
std::pair<std::string, std::string> split_assignment(const std::string& text, const std::string& where);

/// The parts of `text` between separators; none of an empty text.
std::vector<std::string> split_text(const std::string& text, char separator);

/// The number in `text`; throws InvalidRequest(where, ...) when it is not one.
double number_from_text(const std::string& text, const std::string& where);

}  // namespace strobe
