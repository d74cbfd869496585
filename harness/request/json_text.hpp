// Strict reading of JSON from users: suites and settings.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/errors.hpp"
#include "core/fields.hpp"

namespace strobe {

/// The JSON value of `text`. A duplicate key in an object throws InvalidRequest with its JSON pointer. Text that is not
/// JSON (including NaN, comments, trailing commas) throws InvalidInput(source, line, column, ...).
Json parse_json_text(const std::string& text, const std::string& source);

/// The same for a file. Throws InvalidRequest("", ...) when it does not exist or cannot be read. Throws InvalidInput
/// for a device or a pipe.
Json read_json_file(const std::string& path);

/// The text of a refusal of content in `file`: "FILE#/POINTER: message", or the message alone if it names no place in a
/// file.
std::string words_of_place(const InvalidRequest& error, const std::string& file);

}  // namespace strobe
