// Hands epochs of a case over once all of its ranks have finished them, while the case runs.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/time_interval.hpp"
#include "results/row/sample.hpp"

namespace strobe {

/// What takes the samples of whole epochs, in their order and within an epoch by rank; called between epochs, by one
/// thread at a time.
using KeepEpochs = std::function<void(const std::vector<EpochSample>&)>;

/// Ranks add their samples from threads of their own. The one that completes an epoch hands it over, with those that
/// wait for it: the first epoch at once, then at most every `seconds`, because what is done with them between two
/// epochs of a millisecond takes the second one's data out of the caches. What is not handed over yet is no more than
/// the ranks have themselves. What `keep` throws goes to the rank that called it.
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
  std::vector<EpochSample> waiting_;                               // of whole epochs
};

}  // namespace strobe
