// The samples of link prediction: pairs of every step, candidates, baselines. models/tasks/link_prediction.cpp defines
// them; models/tasks/pair_samples.hpp describes how pairs are drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/tasks/task.hpp"
#include "models/tasks/task_split.hpp"

namespace strobe {

struct LinkPredictionParameters {
  double theta = 0.1;
  std::string positives = "auto";
  std::string negatives = "auto";
  std::string ties = "average";
  int ranking_negatives = 49;
  int ranked = 1000;
  std::string split;
};

/// Values of Samples::memory: when a pair was an edge before the step of its sample.
struct LinkMemory {
  static constexpr double never = 0, in_earlier_step = 1, in_last_step = 2;
};

/// Names of the metrics of ranked edges.
std::vector<std::string> ranking_metrics();

/// How many candidates each edge has that has any, in the order of the edges.
std::vector<std::int64_t> candidate_counts(const Samples& samples);

/// Training pairs of the first steps of `split`, and validation and test pairs with candidates of the later steps.
/// Throws InvalidRequest where no training pair is drawn, a step has no non-edge, or the graph does not have the
/// requested sides.
TaskData draw_link_samples(const SnapshotGraph& graph, const LinkPredictionParameters& parameters,
                           const StepSplit& split, std::uint64_t seed);

}  // namespace strobe
