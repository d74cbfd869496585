#include "harness/run/finished_epochs.hpp"

#include <algorithm>

#include "harness/run/drawn_times.hpp"

namespace strobe {

FinishedEpochs::FinishedEpochs(std::size_t ranks, KeepEpochs keep, double seconds)
    : ranks_(ranks), keep_(std::move(keep)), pause_(seconds) {}

void FinishedEpochs::add(const EpochSample& sample) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto begun = begun_.try_emplace({sample.repetition, sample.epoch}).first;
  std::vector<EpochSample>& epoch = begun->second;
  epoch.push_back(sample);
  if (epoch.size() < ranks_) return;
  std::sort(epoch.begin(), epoch.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  for (std::size_t i = 1; i < epoch.size(); ++i) leave_draws(epoch[i], epoch.front());
  waiting_.insert(waiting_.end(), epoch.begin(), epoch.end());
  begun_.erase(begun);
  if (!pause_.over()) return;
  keep_(waiting_);
  waiting_.clear();
}

}  // namespace strobe
