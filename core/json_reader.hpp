// Reading JSON that comes from outside: from files, from the command line, from other programs. Every reader of the
// program goes through here, so that none of them is brought down by depth, by a device under a file's name or by a
// value of another type, and none answers in a library's words.
#pragma once

#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/errors.hpp"
#include "core/fields.hpp"

namespace strobe {

/// Levels of nesting that are read; what Strobe and its users write has less than ten.
inline constexpr std::size_t deepest_json = 64;

/// Throws what a key that occurs twice in one object means to a reader. Gets the key's JSON pointer and the key.
using RepeatedKey = std::function<void(const std::string& pointer, const std::string& key)>;

/// The value of `text`. Throws InvalidInput(source, line, column, ...) for text that is no JSON (NaN, comments and
/// trailing commas included) or nested too deep, and calls `repeated`, or throws InvalidInput without one, for a key
/// that occurs twice in one object.
Json parse_json(std::string_view text, const std::string& source, const RepeatedKey& repeated = {});

/// The same, where what `parse_json` refuses is a discarded value.
Json parse_json_or_discard(std::string_view text);

/// The bytes of a regular file. Throws SystemError when it cannot be read, InvalidInput when it is a folder, a device
/// or a pipe, which may have no end.
std::string read_regular_file(const std::string& path);

/// The JSON value, or the object, in a regular file. Throws as the functions above, and InvalidInput for no object.
Json read_json_value(const std::string& path);
Json read_json_object(const std::string& path);

/// What the JSON library's exception says of a value, without its class and number.
std::string json_complaint(const nlohmann::json::exception& error);

/// What `read` makes of values of the file `source`. A value of another type or a missing key is InvalidInput.
template <class Read>
auto read_json_values(const std::string& source, const Read& read) {
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput(source, 0, 0, json_complaint(error));
  }
}

}  // namespace strobe
