// A task's samples placed on ranks: each goes to the owner of its first vertex's cell; the cells of its other vertices
// are a halo like any other.
#pragma once

#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "models/tasks/task.hpp"

namespace strobe {

/// The samples of one rank: rows of its (own + halo) embeddings, one list per vertex of a sample, and what they should
/// come out as.
struct LocalSamples {
  std::vector<std::vector<std::int64_t>> rows;  // [arity][n]
  std::vector<std::int32_t> label;              // [n]
  std::vector<double> value, weight;            // [n], or empty as in the task's list
  std::vector<std::int64_t> index;              // [n] position in the task's list
  std::int64_t counted = -1;                    // their number when only that is known, and nothing above
  bool counted_values = false;                  // and then: whether each has a value
  std::int64_t count() const { return counted >= 0 ? counted : static_cast<std::int64_t>(index.size()); }
};

/// All ranks' samples, in the order of the task's list, and the exchange that brings what they read.
struct PlacedSamples {
  ExchangePlan halo;
  std::vector<LocalSamples> ranks;  // [P]
  double total_weight = 0;          // of all ranks' samples
  SharedPeers gathered;             // rows of what each rank makes of its samples, one rank's behind the other's

  /// Sets what follows from the ranks' samples.
  void complete();
};

/// Places those samples that read one of `steps` (ascending) under the placement of these steps' embeddings: step i of
/// `placement` is steps[i]. Cost O(samples log samples + T P).
PlacedSamples place_samples(const Samples& samples, const Placement& placement, const std::vector<Step>& steps,
                            const ListScope& scope);

/// The steps that samples read, ascending.
std::vector<Step> steps_of(const Samples& samples);

}  // namespace strobe
