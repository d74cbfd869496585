// `strobe inspect FILE --explain`: how a file would be read, and why.
#pragma once

#include <string>

#include "core/fields.hpp"

namespace strobe {

/// The format that reads the file at `path` under `parameters` (FileOptions), or why none does; and of a text table its
/// form, a likely role for each column with the reason, and the commands that read it. As text, or as JSON. Throws
/// InvalidRequest for what is no file, InvalidInput for a file that cannot be read at all.
std::string explain_file(const std::string& path, const Json& parameters, bool json);

}  // namespace strobe
