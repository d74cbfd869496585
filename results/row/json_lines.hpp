// Files of one JSON object a line, each with its digest, appended to while a run is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/fields.hpp"

namespace strobe {

/// The object, which has keys and no digest yet, as a line with its digest and a newline.
std::string json_line(const Json& object);

/// Receives a complete line, its object without the digest, and its number from 1 on.
using UseJsonLine = std::function<void(std::string_view line, Json& object, std::uint64_t number)>;

/// Calls `use` for each complete line of the file; a last line that was cut off by a crash (no newline at its end) is
/// left out. Throws InvalidInput with the line's number where it is no JSON, where its digest is wrong, and for errors
/// of the JSON library in `use`: "not a WHAT: why". SystemError when the file cannot be read. Returns the number of
/// lines without a digest.
std::size_t for_each_json_line(const std::string& path, const std::string& what, const UseJsonLine& use);

}  // namespace strobe
