// Groups compute spans by (operation, work), rank by rank and epoch by epoch. A rank issues the same calls in every
// epoch, so its ordered calls divide evenly into epochs. Invariant: every kind of call of any rank is part of exactly
// one sample. Cost O(spans log spans).
#include "harness/calibration/operation_timings.hpp"

#include <map>
#include <numeric>
#include <tuple>

#include "results/row/statistics.hpp"

namespace strobe {
namespace {

using TimingKey = std::tuple<std::string_view, double, double, double, double, double, double>;

TimingKey key_of(const Span& span) {
  const Work& work = span.work;
  return {
      span.name,  work.flops, work.bytes_read, work.bytes_written, work.gather.accessed_bytes, work.gather.window_bytes,
      work.rounds};
}

struct Calls {
  Work work;
  std::vector<double> seconds;  // of one rank's calls in order; or, for all ranks, means of epochs
  int count = 0;
};

void add_rank(const std::vector<Span>& spans, const KeptEpochs& epochs, std::map<TimingKey, Calls>& all) {
  std::map<TimingKey, Calls> own;
  for (const Span& span : spans) {
    if (span.stream != Stream::compute || span.phase != Phase::compute) continue;
    Calls& calls = own[key_of(span)];
    calls.work = span.work;
    calls.seconds.push_back(span.end_seconds - span.begin_seconds);
  }
  for (const auto& [key, calls] : own) {
    Calls& to = all[key];
    to.work = calls.work;
    const EpochMeans of_rank = epoch_means(calls.seconds, epochs);
    to.seconds.insert(to.seconds.end(), of_rank.seconds.begin(), of_rank.seconds.end());
    to.count += of_rank.calls;
  }
}

}  // namespace

EpochMeans epoch_means(const std::vector<double>& seconds, const KeptEpochs& epochs) {
  const std::size_t calls = seconds.size(),
                    kept = static_cast<std::size_t>(epochs.warmup) + static_cast<std::size_t>(epochs.measured);
  std::size_t per_epoch = calls / kept, first = static_cast<std::size_t>(epochs.warmup) * per_epoch;
  if (per_epoch * kept != calls) {
    first = calls > 1 ? 1 : 0;
    per_epoch = calls - first;
  }
  EpochMeans means;
  means.calls = static_cast<int>(calls - first);
  for (; first < calls; first += per_epoch) {
    const double* const begin = seconds.data() + first;
    means.seconds.push_back(std::accumulate(begin, begin + per_epoch, 0.0) / static_cast<double>(per_epoch));
  }
  return means;
}

std::vector<OperationTiming> operation_timings(const std::vector<std::vector<Span>>& spans, const KeptEpochs& epochs,
                                               OperationTiming of_case) {
  std::map<TimingKey, Calls> all;
  for (const std::vector<Span>& rank : spans) add_rank(rank, epochs, all);
  std::vector<OperationTiming> samples;
  for (const auto& [key, calls] : all) {
    OperationTiming sample = of_case;
    sample.operation = std::string(std::get<0>(key));
    sample.work = calls.work;
    sample.seconds = median(calls.seconds);
    sample.calls = calls.count;
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace strobe
