// The files that a suite or a case names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "harness/request/suite_tree.hpp"

namespace strobe {

/// Prepends `folder`, the suite's, to relative paths in the case, if the suite set them and the file exists there. This
/// covers workload, features, cluster, model and the strategy's files. Other paths stay relative to the working folder.
void take_files_of_suite(CaseTree& tree, const std::string& folder);

/// SHA-256 of the file of owners that a case's `strategy` reads, by path; empty where it reads none. Throws SystemError
/// when the file cannot be read.
Json owners_digests(const Json& strategy);

/// SHA-256 of the files of a case's `model`, by path; empty where the model reads none. Throws SystemError when a file
/// cannot be read.
Json model_digests(const Json& model);

}  // namespace strobe
