// Where the epochs of a run went, by phase and operation: what the spans of both runs of a pair are compared by.
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

/// Parts by "compute spmm", "communicate all_to_all_v redistribute", "wait all_reduce", ...; "other" is what no
/// blocking span covers.
using SpanParts = std::map<std::string, SpanPart>;

/// The parts of the measured epochs. `spans` [rank][span] are of the run that left `samples` (last repetition). Cost
/// O(spans log epochs).
SpanParts span_parts(const std::vector<EpochSample>& samples, const std::vector<std::vector<Span>>& spans);

/// The spans of the last measured epoch of each rank: [rank][span].
std::vector<std::vector<Span>> last_epoch_spans(const std::vector<EpochSample>& samples,
                                                const std::vector<std::vector<Span>>& spans);

/// `more` averaged into `parts`, which is the mean of `runs` runs.
void average_in(SpanParts& parts, const SpanParts& more, int runs);

/// What one part contributes to the difference of two runs.
struct PartDifference {
  std::string part;
  double predicted_seconds = 0;
  double measured_seconds = 0;
  double difference() const { return predicted_seconds - measured_seconds; }
};

/// Parts of both runs by size of their difference, largest first, at most `most`.
std::vector<PartDifference> largest_differences(const SpanParts& predicted, const SpanParts& measured,
                                                std::size_t most);

}  // namespace strobe
