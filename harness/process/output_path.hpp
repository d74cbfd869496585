// Checks the paths that a command will write before it works for hours. All functions throw InvalidRequest(flag, ...),
// or SystemError when the system refuses (a full disk, a limit of the process).
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// Checks that the file can be written. Its folder must exist and be writable (for a link, the folder of its target).
/// The path must not be a folder. Devices, descriptors and pipes with a reader pass when they can be written; a pipe is
/// kept open.
void check_output_file(const std::string& flag, const std::string& path);

/// The same for a file that is written more than once. Devices and pipes are refused.
void check_replaced_file(const std::string& flag, const std::string& path);

/// Throws InvalidRequest(flag, ...) for an output folder with foreign files: files that no run made and that this
/// process does not write itself (its own streams and `outputs`). The folder may be missing, be empty, or hold a run.
void refuse_foreign_folder(const std::string& flag, const std::string& path, const std::vector<std::string>& outputs);

/// Makes the folder, with those above it; it must be writable. Folders made in vain are removed again.
void make_output_folder(const std::string& flag, const std::string& path);

}  // namespace strobe
