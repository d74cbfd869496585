// Reads JSON from outside: files, the command line, other programs. Every reader of the program uses it. So deep
// nesting, a device under a file's name or a value of another type cannot crash any of them, and errors are in Strobe's
// words, not in the library's.
#pragma once

#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/errors.hpp"
#include "core/fields.hpp"

namespace strobe {

/// The nesting depth that is accepted. Files of Strobe and its users have fewer than ten levels.
inline constexpr std::size_t deepest_json = 64;

/// Throws the error that a repeated key means to a reader. Gets the key's JSON pointer and the key.
using RepeatedKey = std::function<void(const std::string& pointer, const std::string& key)>;

/// The value of `text`. Throws InvalidInput(source, line, column, ...) for text that is no JSON (NaN, comments and
/// trailing commas included) or nested too deep, and calls `repeated`, or throws InvalidInput without one, for a key
/// that occurs twice in one object.
Json parse_json(std::string_view text, const std::string& source, const RepeatedKey& repeated = {});

/// The same, but returns a discarded value where `parse_json` throws.
Json parse_json_or_discard(std::string_view text);

/// The bytes of a regular file. Throws SystemError when it cannot be read. Throws InvalidInput for a folder, a device
/// or a pipe, because these may have no end.
std::string read_regular_file(const std::string& path);

/// The JSON value, or the JSON object, in a regular file. Throws the same as the functions above, and InvalidInput when
/// the value is not an object.
Json read_json_value(const std::string& path);
Json read_json_object(const std::string& path);

/// The JSON library's message about a value, without its class and number.
std::string json_complaint(const nlohmann::json::exception& error);

/// Returns what `read` makes of values of the file `source`. Throws InvalidInput for a value of another type or a
/// missing key.
template <class Read>
auto read_json_values(const std::string& source, const Read& read) {
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput(source, 0, 0, json_complaint(error));
  }
}

}  // namespace strobe
