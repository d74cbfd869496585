// Where a command will write, looked at before it works for hours. All throw InvalidRequest(flag, ...), or
// SystemError where the system refuses (a full disk, a limit of the process).
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// The folder of the file (of a link: of the file at its end) must be there and writable, and the path must not be a
/// folder. Devices, descriptors and pipes that have a reader pass, when they can be written to; a pipe is kept open.
void check_output_file(const std::string& flag, const std::string& path);

/// The same for a file that is written more than once, as no device and no pipe can be.
void check_replaced_file(const std::string& flag, const std::string& path);

/// Throws InvalidRequest(flag, ...) for a folder of a run's outputs in which files lie that no run made and that are
/// not of this process: its own streams and `outputs`. A folder that is not there, or empty, or holds a run is fine.
void refuse_foreign_folder(const std::string& flag, const std::string& path, const std::vector<std::string>& outputs);

/// Makes the folder; it must be writable.
void make_output_folder(const std::string& flag, const std::string& path);

}  // namespace strobe
