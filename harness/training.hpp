// Training: what one rank does. It walks the schedule of a planned case: move in, then per layer spatial stage, exchange,
// temporal stage, exchange; loss; backward along the tape; gradient all-reduce; optimiser. It knows neither the
// equations nor the links.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/communicator.hpp"
#include "harness/planned_case.hpp"

namespace strobe {

/// What one rank hands back. Losses and metrics are the same on every rank; they are empty without values.
struct RankOutcome {
  std::vector<EpochSample> samples;                    // every repetition and epoch, warm-up included
  std::vector<double> loss;                            // first repetition, summed over ranks, warm-up included
  std::map<std::string, std::vector<double>> metrics;  // likewise, of the test samples, before each epoch's update
  std::vector<Span> last_spans;                        // of the last repetition
};

/// Trains `plan` on this rank. `keep_spans` fills last_spans.
RankOutcome train_rank(const PlannedCase& plan, Device& device, Communicator& communicator, bool keep_spans);

}  // namespace strobe
