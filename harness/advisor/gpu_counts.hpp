// The numbers of GPUs that `strobe plan --gpus` names.
#pragma once

#include <string>
#include <vector>

namespace strobe {

/// The counts in "8,16,32", "8..128" or "1-4", ascending. A range gives its counts that are whole nodes, or a part of
/// one node. `clusters` are those that the user names, and all must have a count. Empty means all built-in ones; then
/// one must have it. Throws InvalidRequest("--gpus", ...) for a count that does not divide into nodes, naming the
/// nearest that do, and for one that a cluster cannot have.
std::vector<int> gpu_counts(const std::string& text, const std::vector<std::string>& clusters);

}  // namespace strobe
