// The time of a run's epochs by phase and operation, to compare the two runs of a pair.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/row/sample.hpp"

namespace strobe {

/// One operation's or collective's share of an epoch, averaged over ranks and epochs.
struct SpanPart {
  double seconds = 0;  // blocking only, so that parts add up
  double count = 0;    // spans
};

/// Keys are "compute spmm", "communicate all_to_all_v redistribute", "wait all_reduce", and so on. "other" is the time
/// that no blocking span covers.
using SpanParts = std::map<std::string, SpanPart>;

/// The parts of the measured epochs. `spans` [rank][span] and `samples` are from the same run; spans are of its last
/// repetition. Cost O(spans log epochs).
SpanParts span_parts(const std::vector<EpochSample>& samples, const std::vector<std::vector<Span>>& spans);

/// The spans of the last measured epoch of each rank: [rank][span].
std::vector<std::vector<Span>> last_epoch_spans(const std::vector<EpochSample>& samples,
                                                const std::vector<std::vector<Span>>& spans);

/// Adds the run `more` to `parts`, the mean of `runs` runs.
void average_in(SpanParts& parts, const SpanParts& more, int runs);

/// The contribution of one part to the difference of two runs.
struct PartDifference {
  std::string part;
  double predicted_seconds = 0;
  double measured_seconds = 0;
  double difference() const { return predicted_seconds - measured_seconds; }
};

/// The `most` parts with the largest differences, largest first.
std::vector<PartDifference> largest_differences(const SpanParts& predicted, const SpanParts& measured,
                                                std::size_t most);

}  // namespace strobe
