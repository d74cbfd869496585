// Values of options and suites as users type them: NAME:key=value, key=value, lists and numbers.
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

/// Reads "NAME:key=value,key=value", where NAME is a known name or an existing file. Any other text is a name as a
/// whole, because a path may contain a colon. Throws InvalidRequest(where, ...) for a part that is not key=value.
NamedParameters split_named_parameters(const std::string& text, const std::vector<std::string>& known,
                                       const std::string& where);

/// Parses the given parameters with a plug-in's table, without adding defaults. Throws InvalidRequest for an unknown
/// parameter or an invalid value.
Json typed_parameters(const FieldTable& table, const std::vector<std::pair<std::string, std::string>>& texts);

/// Splits "key=value" at the first '='. Throws InvalidRequest(where, ...) when there is none.
std::pair<std::string, std::string> split_assignment(const std::string& text, const std::string& where);

/// The parts of `text` between separators; an empty text has none.
std::vector<std::string> split_text(const std::string& text, char separator);

/// The number in `text`. Throws InvalidRequest(where, ...) when it is not one.
double number_from_text(const std::string& text, const std::string& where);

/// The share in "3%" or "0.03", above 0 and below 1, or 1 where the whole makes sense. Throws InvalidRequest(where,
/// ...).
double share_from_text(const std::string& text, const std::string& where, bool may_be_whole = false);

}  // namespace strobe
