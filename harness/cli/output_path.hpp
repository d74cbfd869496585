// Where a command will write, looked at before it works for hours. Both throw InvalidRequest(flag, ...).
#pragma once

#include <string>

namespace strobe {

/// The folder of the file must be there and writable, and the path must not be a folder.
void check_output_file(const std::string& flag, const std::string& path);

/// Makes the folder; it must be writable.
void make_output_folder(const std::string& flag, const std::string& path);

}  // namespace strobe
