// Delivers the samples of a running case, epoch by epoch, once all ranks have finished an epoch.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/time_interval.hpp"
#include "results/row/sample.hpp"

namespace strobe {

/// Receives the samples of whole epochs, sorted by epoch and then by rank. Called between epochs, by one thread at a
/// time.
using KeepEpochs = std::function<void(const std::vector<EpochSample>&)>;

/// Each rank adds its samples from its own thread. The rank that completes an epoch calls `keep`.
/// The first epoch is delivered at once; later ones at most every `seconds`, together with those that waited. A call
/// after every epoch of a millisecond would evict the next epoch's data from the caches.
/// Waiting epochs are not lost on a failure: the ranks' outcomes still have them.
/// The rank that called `keep` gets its exceptions.
class FinishedEpochs {
 public:
  FinishedEpochs(std::size_t ranks, KeepEpochs keep, double seconds = 1);
  void add(const EpochSample& sample);

 private:
  std::size_t ranks_;
  KeepEpochs keep_;
  TimeInterval pause_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::vector<EpochSample>> begun_;  // by repetition and epoch
  std::vector<EpochSample> waiting_;                               // whole epochs, not delivered yet
};

}  // namespace strobe
