// Cost: O(samples log epochs).
#include "results/row/epoch_ranks.hpp"

#include <algorithm>

namespace strobe {
namespace {

using RankSamples = std::vector<const EpochSample*>;

bool less_busy(const EpochSample* a, const EpochSample* b) {
  if (a->busy_seconds != b->busy_seconds) return a->busy_seconds < b->busy_seconds;
  return a->rank > b->rank;
}

const EpochSample* slowest(const RankSamples& epoch) {
  return *std::max_element(epoch.begin(), epoch.end(), [](const EpochSample* a, const EpochSample* b) {
    return a->epoch_seconds == b->epoch_seconds ? less_busy(a, b) : a->epoch_seconds < b->epoch_seconds;
  });
}

const EpochSample* busiest_at_end(const RankSamples& epoch) {
  const EpochSample* busiest = slowest(epoch);
  const double least = (1 - ends_together) * busiest->epoch_seconds;
  for (const EpochSample* sample : epoch) {
    if (sample->epoch_seconds >= least && less_busy(busiest, sample)) busiest = sample;
  }
  return busiest;
}

RankSamples of_each_epoch(const std::vector<EpochSample>& samples, std::int64_t ranks,
                          const EpochSample* (*choose)(const RankSamples&)) {
  RankSamples result;
  for (const auto& [key, epoch] : complete_epochs(samples, ranks)) result.push_back(choose(epoch));
  return result;
}

}  // namespace

Epochs complete_epochs(const std::vector<EpochSample>& samples, std::int64_t ranks) {
  Epochs epochs;
  for (const EpochSample& sample : samples) {
    if (!sample.warmup) epochs[{sample.repetition, sample.epoch}].push_back(&sample);
  }
  std::erase_if(epochs, [&](const auto& item) { return static_cast<std::int64_t>(item.second.size()) != ranks; });
  return epochs;
}

std::vector<const EpochSample*> slowest_of_each_epoch(const std::vector<EpochSample>& samples, std::int64_t ranks) {
  return of_each_epoch(samples, ranks, slowest);
}

std::vector<const EpochSample*> busiest_of_each_epoch(const std::vector<EpochSample>& samples, std::int64_t ranks) {
  return of_each_epoch(samples, ranks, busiest_at_end);
}

}  // namespace strobe
