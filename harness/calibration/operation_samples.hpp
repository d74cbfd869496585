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
  double seconds = 0;  // of a call: median over ranks and measured epochs of the mean in the epoch
  int calls = 0;       // that it stands on
};

/// Epochs that spans were kept of.
struct KeptEpochs {
  int warmup = 0, measured = 1;
};

/// What the measured epochs spent on a call, on average in each, and the number of calls behind it.
struct EpochMeans {
  std::vector<double> seconds;
  int calls = 0;
};

/// Of one rank's like calls in their order. Calls that do not divide evenly into epochs are one epoch, without the
/// first where there are others.
EpochMeans epoch_means(const std::vector<double>& seconds, const KeptEpochs& epochs);

/// Samples from the spans of all ranks of one case, [rank][span]: calls of the same operation with the same work are
/// one sample. What an epoch spends on them is their mean, not their median; which epoch counts is decided by a median,
/// as in every epoch that is reported. Warm-up epochs are left out: they pay for cold caches and fresh memory.
std::vector<OperationSample> operation_samples(const std::vector<std::vector<Span>>& spans, const KeptEpochs& epochs,
                                               OperationSample of_case);

}  // namespace strobe
