// A task's samples as a file that the processes of a node map.
#pragma once

#include <memory>
#include <string>

#include "models/tasks/task.hpp"

namespace strobe {

/// Writes the data of a task. The file has no checksums and is not flushed to the disk, because it only lives as long
/// as the processes that share it. Throws SystemError when it cannot be written.
void write_samples_file(const TaskData& data, const std::string& path);

/// Maps a file of `write_samples_file`; `keeper` lives as long as the mapping.
TaskData read_samples_file(const std::string& path, std::shared_ptr<const void> keeper);

}  // namespace strobe
