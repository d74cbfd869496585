// Reading JSON files of known form: every surprise is an error that names the file and the JSON pointer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// The JSON value in the file. Throws InvalidInput when it cannot be read or is not JSON,
/// InvalidRequest("FILE#POINTER") when a key occurs twice in one object.
Json read_strict_json(const std::string& path);

/// Checks that `object` is an object with every key of `required` and none beyond those and `optional`; `where` is
/// "FILE#POINTER". Throws all missing and unknown keys at once. "$comment" and "$schema" may always be there.
void expect_keys(const Json& object, const std::vector<std::string>& required, const std::vector<std::string>& optional,
                 const std::string& where);

/// The text, whole number >= minimum, number >= minimum, or list under `key`; InvalidRequest names `where` + "/" + key.
std::string text_at(const Json& object, const std::string& key, const std::string& where);
std::int64_t whole_at(const Json& object, const std::string& key, const std::string& where, std::int64_t minimum = 0);
double number_at(const Json& object, const std::string& key, const std::string& where, double minimum = 0);
const Json& list_at(const Json& object, const std::string& key, const std::string& where);

/// `value` itself as a whole number >= minimum; `where` is its own place.
std::int64_t whole_number(const Json& value, const std::string& where, std::int64_t minimum = 0);

}  // namespace strobe
