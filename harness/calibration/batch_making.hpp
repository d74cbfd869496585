// Measures the time that a host takes to make hybrid batches, where programs issue it. Making a batch draws its
// targets, walks over the cells that they read, and encodes the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/data_cache.hpp"
#include "harness/calibration/operation_timings.hpp"
#include "harness/request/case.hpp"

namespace strobe {

/// A generated graph for making batches.
struct BatchGround {
  std::string generator;
  std::int64_t vertices = 0, steps = 0, edges_of_step = 0;
};

/// Graphs from cache size to far larger; with `quick` only the smaller ones.
std::vector<BatchGround> batch_grounds(bool quick);

/// Cases that train on batches of the graph, for models with different frontiers. Batch sizes are random.
std::vector<Case> batch_making_cases(const BatchGround& ground);

/// Runs a case of one rank and returns the host's times for its batches. Each size that was made more than once gives
/// one sample of operation `make_batch`: the median of its calls except the first. Throws Error when the case fails,
/// and Interrupted on a stop signal.
std::vector<OperationTiming> measure_batch_making(const Case& c, const DataCache& cache = {});

/// The samples in the spans of one rank. `configuration` names the case.
std::vector<OperationTiming> batch_making_timings(const std::vector<Span>& spans, const std::string& configuration);

}  // namespace strobe
