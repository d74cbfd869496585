// Finds the files that a suite names, next to the suite or in the working folder.
#pragma once

#include <string>

#include "harness/request/suite_tree.hpp"

namespace strobe {

/// Prepends `folder`, the suite's, to relative paths in the case, if the suite set them and the file exists there. This
/// covers workload, features, cluster, model and the strategy's files. Other paths stay relative to the working folder.
void take_files_of_suite(CaseTree& tree, const std::string& folder);

}  // namespace strobe
