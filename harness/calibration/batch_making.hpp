// What making hybrid batches costs a host: the drawing of targets, the walk over what they read, and the encoding of
// it, timed where programs issue it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/data_cache.hpp"
#include "harness/calibration/operation_samples.hpp"
#include "harness/request/case.hpp"

namespace strobe {

/// A generated graph on which batches are made.
struct BatchGround {
  std::string generator;
  std::int64_t vertices = 0, steps = 0, edges_of_step = 0;
};

/// From caches to beyond them; with `quick` the smaller ones.
std::vector<BatchGround> batch_grounds(bool quick);

/// The cases that train on batches of a graph: of models of different frontiers, with sizes chosen at random.
std::vector<Case> batch_making_cases(const BatchGround& ground);

/// Runs a case of one rank and keeps what batches of each size took its host: one sample of operation `make_batch` for
/// each size that was made more than once, the median of its calls but the first. Throws Error when the case fails,
/// Interrupted on a stop signal.
std::vector<OperationSample> measure_batch_making(const Case& c, const DataCache& cache = {});

/// The samples in the spans of one rank; `configuration` names the case.
std::vector<OperationSample> batch_making_samples(const std::vector<Span>& spans, const std::string& configuration);

}  // namespace strobe
