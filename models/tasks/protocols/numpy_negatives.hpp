// The negatives of an evaluation in the programs of TGN and DyGLib, number for number. For each batch of events, both
// draw as many sources, which they drop, and then as many destinations from numpy.random.RandomState(seed).randint over
// the ascending distinct destinations. A draw may hit the true destination, and nothing is drawn again.
// Source: github.com/twitter-research/tgn, utils/utils.py, RandEdgeSampler and evaluation/evaluation.py;
// github.com/yule-BUAA/DyGLib, utils/utils.py, NegativeEdgeSampler.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "models/tasks/given_candidates.hpp"
#include "models/tasks/kept_out.hpp"

namespace strobe {

/// numpy.random.RandomState(seed).randint(0, below), one number after the other.
class NumpyDraws {
 public:
  explicit NumpyDraws(std::uint32_t seed) : bits_(seed) {}
  /// A number of [0, below), 1 <= below <= 2^32 - 1. For below = 1 nothing is drawn from the stream.
  std::int64_t next(std::uint32_t below);

 private:
  std::mt19937 bits_;
};

/// Candidates of the validation and test events, drawn in batches of `batch`. The first one is that of the pass over
/// all events of a part (seed 0 in validation, 2 in test). An event with a vertex of `new_vertices` has a second one,
/// that of the pass over such events alone, drawn among their destinations (seeds 1 and 3).
std::shared_ptr<const GivenCandidates> numpy_negatives(const EventGraph& graph, const TimeSplit& split,
                                                       const VertexFlags& new_vertices, std::int64_t batch);

}  // namespace strobe
