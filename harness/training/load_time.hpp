// The time that a process takes to read and to prepare a graph of steps, from the rates of a host.
#pragma once

#include <optional>

#include "backends/cluster.hpp"
#include "harness/full_batch/plan/data_plan.hpp"

namespace strobe {

/// The amounts that are read, made and prepared before training.
struct LoadWork {
  double text_bytes = 0;    // of text files
  double binary_bytes = 0;  // of Strobe's own files
  double made_entries = 0;  // of a generated graph
  double prepared_entries = 0, prepared_features = 0;
};

/// The work of a case's data. Nothing for a shape, because nobody knows the files of its graph.
std::optional<LoadWork> load_work(const Case& c, const DataPlan& data);

/// Seconds of one process. The disk reads ahead while the process parses, so the slower of both counts. Nothing when
/// the host lacks a rate that the work needs.
std::optional<double> load_seconds(const LoadWork& work, const HostModel& host);

}  // namespace strobe
