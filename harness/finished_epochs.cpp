#include "harness/finished_epochs.hpp"

#include <algorithm>

namespace strobe {

FinishedEpochs::FinishedEpochs(std::size_t ranks, KeepEpoch keep) : ranks_(ranks), keep_(std::move(keep)) {}

void FinishedEpochs::add(const EpochSample& sample) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto begun = begun_.try_emplace({sample.repetition, sample.epoch}).first;
  begun->second.push_back(sample);
  if (begun->second.size() < ranks_) return;
  std::vector<EpochSample> epoch = std::move(begun->second);
  begun_.erase(begun);
  std::sort(epoch.begin(), epoch.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  keep_(epoch);
}

}  // namespace strobe
