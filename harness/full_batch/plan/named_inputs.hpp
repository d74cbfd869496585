// What the parameters of a case's strategy name: files of learned workloads, clusters.
#pragma once

#include <string>

#include "harness/full_batch/plan/full_batch_case.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {

/// Where the learned workloads of a model lie unless a case says it: NAME-chunks-MODEL.json, with NAME the cluster file
/// without its ending, and beside it; of a cluster that comes with the program its name, of a real device
/// "this-machine", both in the folder of the process.
std::string workload_file(const std::string& cluster, const std::string& model);

/// The readers of what the case's strategy names. They look at `c`, which must outlive them.
NamedInputs named_inputs(const FullBatchCase& c);

}  // namespace strobe
