// Makes hybrid batches on the host: draws targets, finds the frontier, re-encodes, gathers features and samples.
#pragma once

#include <memory>

#include "harness/hybrid_batches/encoding/batch_features.hpp"
#include "harness/hybrid_batches/encoding/layered_batch.hpp"
#include "harness/hybrid_batches/hybrid_plan.hpp"

namespace strobe {

/// A batch on the host, made once and never changed.
struct HybridBatch {
  std::size_t action = 0;  // the action that sets its size
  LayeredBatch layers;
  BatchFeatures features;
  LocalSamples samples;                         // as rows of the last layer's cells
  double total_weight = 0;                      // of the samples
  std::uint64_t element_bytes = sizeof(float);  // of a value, if layers are counted only

  /// Approximate bytes on the host.
  std::uint64_t bytes() const;
};
using SharedBatch = std::shared_ptr<const HybridBatch>;

/// Keeps scratch memory [N], so it serves one thread. The plan must outlive it.
class BatchMaker {
 public:
  explicit BatchMaker(const HybridPlan& plan, bool values);

  /// The `number`-th batch of that size on `rank`. A draw without samples would train nothing, so it is drawn again, up
  /// to eight times. Cost proportional to the batch.
  SharedBatch make(Rank rank, std::size_t action, std::uint64_t number);
  /// The batch of given targets.
  SharedBatch make(const DrawnTargets& targets, std::size_t action);

 private:
  /// For a graph that is known by its shape only.
  SharedBatch make_counted(const BatchWindow& window, std::int64_t targets, std::size_t action) const;
  void add_samples(const std::vector<std::int64_t>& chosen, HybridBatch& batch) const;

  const HybridPlan& plan_;
  bool values_;  // whether anybody reads values of features
  BatchScratch scratch_;
  BatchEncoder encoder_;
};

/// The source of batches: matrices of the whole graph.
LayerSource layer_source(const HybridPlan& plan);

}  // namespace strobe
