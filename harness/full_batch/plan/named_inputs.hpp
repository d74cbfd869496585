// Readers of the inputs that a strategy's parameters name: files of learned workloads and of owners, and clusters.
#pragma once

#include <string>

#include "harness/full_batch/plan/full_batch_case.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {

/// The default file of a model's learned workloads, NAME-chunks-MODEL.json. For a cluster file, NAME is its name
/// without the ending, and the file lies next to it. For a cluster of the program, NAME is the cluster's name; for a
/// real device it is "this-machine". Both lie in the process's folder.
std::string workload_file(const std::string& cluster, const std::string& model);

/// The readers of the inputs that the case's strategy names. They keep a reference to `c`, which must outlive them.
NamedInputs named_inputs(const FullBatchCase& c);

}  // namespace strobe
