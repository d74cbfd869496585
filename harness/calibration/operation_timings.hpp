// Samples of operations: the work and the time of each operation of a measured case.
#pragma once

#include <string>
#include <vector>

#include "backends/span.hpp"
#include "backends/tensor.hpp"

namespace strobe {

/// One kind of call of one operation in one case: all calls of the same work.
struct OperationTiming {
  std::string operation;
  std::string configuration;  // the case; samples of one case are not independent
  std::string workload;       // of that case, as text
  int ranks = 1;              // computing at the same time
  ElementType precision = ElementType::f32;
  Work work;
  double seconds = 0;  // of a call: median over ranks and measured epochs of the mean in the epoch
  int calls = 0;       // the number of measured calls
};

/// The epochs whose spans were kept.
struct KeptEpochs {
  int warmup = 0, measured = 1;
};

/// Mean seconds per call in each measured epoch, and the number of calls.
struct EpochMeans {
  std::vector<double> seconds;
  int calls = 0;
};

/// From the times of one rank's equal calls, in order. If calls do not divide evenly into epochs, they count as one
/// epoch, and the first call is left out if there are others.
EpochMeans epoch_means(const std::vector<double>& seconds, const KeptEpochs& epochs);

/// Samples from the spans of all ranks of one case, [rank][span]. Calls of the same operation with the same work are
/// one sample. Within an epoch the mean counts, because it gives the epoch's total. Across epochs the median counts, as
/// in reports. Warm-up epochs are left out, because they pay for cold caches and fresh memory.
std::vector<OperationTiming> operation_timings(const std::vector<std::vector<Span>>& spans, const KeptEpochs& epochs,
                                               OperationTiming of_case);

}  // namespace strobe
