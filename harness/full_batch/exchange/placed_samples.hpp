// A task's samples placed on ranks. Each goes to the owner of its first vertex's cell. The cells of its other vertices
// are a halo like any other.
#pragma once

#include <functional>
#include <vector>

#include "harness/full_batch/exchange/exchange_plan.hpp"
#include "models/tasks/task.hpp"

namespace strobe {

/// The samples of one rank: rows of its (own + halo) embeddings, one list per vertex of a sample, then a list of each
/// of the samples' codes; and the expected results.
struct LocalSamples {
  std::vector<std::vector<std::int64_t>> rows;  // [arity + coded][n]
  std::vector<std::int32_t> label;              // [n]
  std::vector<double> value, weight;            // [n], or empty as in the task's list
  std::vector<std::int64_t> index;              // [n] position in the task's list
  std::int64_t counted = -1;                    // the number of samples if only that is known; the lists are then empty
  bool counted_values = false;                  // whether counted samples have values
  std::int64_t count() const { return counted >= 0 ? counted : static_cast<std::int64_t>(index.size()); }
};

/// All ranks' samples, in the order of the task's list, and the exchange that brings the cells they read.
struct PlacedSamples {
  ExchangePlan halo;
  std::vector<LocalSamples> ranks;  // [P]
  double total_weight = 0;          // sum over all ranks' samples
  SharedPeers gathered;             // rows of the ranks' results, one rank after the other

  /// Computes `gathered` from the ranks' samples.
  void complete();
};

/// Places the samples that read one of `steps` (ascending), under the placement of these steps' embeddings. Step i of
/// `placement` is steps[i]. Samples of ranks out of the scope are counted if the scope has others as sums. Cost
/// O(samples log samples + T P). Memory: the lists, and then 12 bytes for each cell that other ranks read of each other
/// for samples, of one step at a time where samples ascend by step.
PlacedSamples place_samples(const Samples& samples, const Placement& placement, const std::vector<Step>& steps,
                            const ListScope& scope);

/// visit(position in the list, place in `steps`) of each sample that reads one of `steps` (ascending), in order.
void for_samples_of(const Samples& samples, const std::vector<Step>& steps,
                    const std::function<void(std::size_t sample, Step place)>& visit);

/// The steps that samples read, ascending.
std::vector<Step> steps_of(const Samples& samples);

}  // namespace strobe
