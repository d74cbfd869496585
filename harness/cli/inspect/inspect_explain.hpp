// `strobe inspect FILE --explain`: explains how a file would be read.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// The format that reads the file at `path` with `parameters` (FileOptions), or the reason why none does. For a text
/// table also its form, a likely role for each column with the reason, and commands that read it. As text or JSON.
/// Throws InvalidRequest if there is no such file, InvalidInput for a file that cannot be read at all.
std::string explain_file(const std::string& path, const Json& parameters, bool json);

}  // namespace strobe
