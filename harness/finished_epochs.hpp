// Hands over every epoch of a case as soon as all of its ranks have finished it, while the case runs.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "results/sample.hpp"

namespace strobe {

/// What takes the samples of one epoch, one for each rank in order; called between epochs, by one thread at a time.
using KeepEpoch = std::function<void(const std::vector<EpochSample>&)>;

/// Ranks add their samples from threads of their own; the one that completes an epoch hands it over. What `keep` throws
/// goes to that rank.
class FinishedEpochs {
 public:
  FinishedEpochs(std::size_t ranks, KeepEpoch keep);
  void add(const EpochSample& sample);

 private:
  std::size_t ranks_;
  KeepEpoch keep_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::vector<EpochSample>> begun_;  // by repetition and epoch
};

}  // namespace strobe
