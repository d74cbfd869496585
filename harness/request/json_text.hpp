// Strict reading of the JSON that users write: suites and settings.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/errors.hpp"
#include "core/fields.hpp"

namespace strobe {

/// The JSON value of `text`. A key that occurs twice in one object throws InvalidRequest with its JSON pointer; text
/// that is not JSON (NaN, comments, trailing commas included) throws InvalidInput(source, line, column, ...).
Json parse_json_text(const std::string& text, const std::string& source);

/// The same for a file. Throws InvalidRequest("", ...) when there is none or it cannot be read, InvalidInput
/// for a device or a pipe.
Json read_json_file(const std::string& path);

/// The words of a refusal of what stands in `file`: "FILE#/POINTER: message", or its message alone where it names no
/// place in a file.
std::string words_of_place(const InvalidRequest& error, const std::string& file);

}  // namespace strobe
