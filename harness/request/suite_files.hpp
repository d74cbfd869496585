// Files that a suite names: they lie beside it, or where the program was started.
#pragma once

#include <string>

#include "harness/request/suite_tree.hpp"

namespace strobe {

/// Puts `folder`, the suite's, in front of every relative path in the case that the suite itself set and that is there:
/// its workload, features, cluster, model and the files of its strategy. Others stay: they are looked for in the
/// working folder.
void take_files_of_suite(CaseTree& tree, const std::string& folder);

}  // namespace strobe
