// Samples of operations: what each operation of a measured case moved and how long it took.
#pragma once

#include <string>
#include <vector>

#include "backends/span.hpp"
#include "backends/tensor.hpp"

namespace strobe {

/// One kind of call of one operation in one case: all calls of the same work.
struct OperationSample {
  std::string operation;
  std::string configuration;  // of which case; samples of one case are not independent of each other
  std::string workload;       // of that case, as text
  int ranks = 1;              // that computed at the same time
  ElementType precision = ElementType::f32;
  Work work;
  double seconds = 0;  // median over the calls
  int calls = 0;
};

/// Samples from the spans of all ranks of one case, [rank][span]: calls of the same operation with the same work are
/// one sample. The first call of each rank is left out where there are others: it pays for cold caches and fresh
/// memory.
std::vector<OperationSample> operation_samples(const std::vector<std::vector<Span>>& spans, OperationSample of_case);

}  // namespace strobe
