// Groups compute spans by (operation, work) and takes the median of their times, which a disturbed call does not move.
// Invariant: every compute span of at least one call counts in exactly one sample. Cost O(spans log spans).
#include "harness/calibration/operation_samples.hpp"

#include <map>
#include <tuple>

#include "results/statistics.hpp"

namespace strobe {
namespace {

using Key = std::tuple<std::string_view, double, double, double, double, double>;

Key key_of(const Span& span) {
  const Work& work = span.work;
  return {
      span.name, work.flops, work.bytes_read, work.bytes_written, work.gather.accessed_bytes, work.gather.window_bytes};
}

struct Calls {
  Work work;
  std::vector<double> seconds;
};

/// Adds the calls of one rank, without its first of each kind where there are others.
void add_rank(const std::vector<Span>& spans, std::map<Key, Calls>& all) {
  std::map<Key, Calls> own;
  for (const Span& span : spans) {
    if (span.stream != Stream::compute || span.phase != Phase::compute) continue;
    Calls& calls = own[key_of(span)];
    calls.work = span.work;
    calls.seconds.push_back(span.end_seconds - span.begin_seconds);
  }
  for (auto& [key, calls] : own) {
    Calls& to = all[key];
    to.work = calls.work;
    const auto first = calls.seconds.begin() + (calls.seconds.size() > 1 ? 1 : 0);
    to.seconds.insert(to.seconds.end(), first, calls.seconds.end());
  }
}

}  // namespace

std::vector<OperationSample> operation_samples(const std::vector<std::vector<Span>>& spans, OperationSample of_case) {
  std::map<Key, Calls> all;
  for (const std::vector<Span>& rank : spans) add_rank(rank, all);
  std::vector<OperationSample> samples;
  for (const auto& [key, calls] : all) {
    OperationSample sample = of_case;
    sample.operation = std::string(std::get<0>(key));
    sample.work = calls.work;
    sample.seconds = median(calls.seconds);
    sample.calls = static_cast<int>(calls.seconds.size());
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace strobe
