// The plan of training in hybrid batches: who owns which vertices, the sizes of batches, and the data they are cut from
// (DynaHB, VLDB'24).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/full_batch/plan/full_batch_plan.hpp"
#include "harness/hybrid_batches/encoding/frontier.hpp"
#include "harness/hybrid_batches/sampling/batch_sampler.hpp"
#include "harness/hybrid_batches/sampling/batch_samples.hpp"
#include "harness/hybrid_batches/sampling/batch_sizes.hpp"
#include "harness/hybrid_batches/strategies/hybrid_options.hpp"
#include "workloads/partitioners/load_aware.hpp"

namespace strobe {

/// One size that batches may have: the shares, and their numbers on each rank.
struct BatchAction {
  BatchShare vertices, snapshots;
  std::vector<BatchSize> of_rank;    // [P]
  std::vector<double> target_cells;  // [P] of a batch, on average over windows
};

/// Means over a few batches of one size, drawn while planning.
struct TypicalBatch {
  double cells = 0;         // computed cells, all layers together
  double needed_cells = 0;  // computed cells on which the targets depend
  double target_cells = 0;
  double entries = 0;  // of all matrices
  double bytes = 0;    // on the device
};

/// The part of the graph that ranks keep for their batches: bytes of matrices and features of all training steps.
struct CacheSizes {
  std::vector<std::uint64_t> own_bytes, cached_bytes;  // [P]; `cached_bytes` are those of other ranks' vertices
  std::int64_t cached_vertices = 0;                    // over all ranks
  double duplication = 0;  // kept vertices (or steps) of other ranks, over those of the graph (or of training)
};

struct HybridPlan {
  HybridOptions options;
  /// Data, model and task; and the placement of whole timelines by owner, under which weights are evaluated.
  std::shared_ptr<FullBatchPlan> full;
  std::vector<Rank> owner;  // [N]; [0] in a process that trains one rank
  /// [P] vertices that exist at a training step; empty ones for ranks that this process does not train.
  std::vector<BalancedGroups> groups;
  std::shared_ptr<const VertexLoads> loads;
  std::vector<BatchAction> actions;    // at least 1; several if an adjuster chooses
  std::size_t first_action = 0;        // used until one is chosen
  AveragingInterval interval;          // of models, if ranks update alone
  BatchSource source;                  // of the graph's matrices
  Column<double> degrees;              // LayerSource::degrees, if degrees are counted inside a batch; else empty
  SampleIndex samples;                 // of training, on the ranks that this process trains
  std::vector<TypicalBatch> typical;   // [actions]
  std::vector<double> update_seconds;  // [actions] by a cost model, if an adjuster uses it; else empty
  std::optional<CacheSizes> caches;    // empty if there are too many entries and ranks to count
  bool exact = false;                  // whether an update covers all samples
  std::vector<std::string> notes;      // assumptions, one sentence each

  const PreparedGraph& graph() const { return *full->data.graph; }
  const std::vector<LayerShape>& layers() const { return full->model.layers; }
  std::int64_t trained_steps() const { return full->data.trained_steps; }
  int ranks() const { return full->ranks(); }
  std::uint64_t seed() const { return static_cast<std::uint64_t>(full->request.seed); }
  bool sync() const { return options.averaging == "sync"; }
  bool adjusts() const { return options.adjuster != "none"; }
  /// Whether ranks divide windows of steps instead of vertices.
  bool cuts_steps() const { return options.cut == "steps"; }
  /// Updates of an epoch, which lasts from one averaging to the next. That is one update if gradients are summed. 0: as
  /// many as the interval's seconds allow.
  std::int64_t iterations() const { return sync() ? 1 : interval.iterations; }
};

/// Throws InvalidRequest and InvalidInput.
std::shared_ptr<const HybridPlan> plan_hybrid(const Case& request, PlanUse use, const DataCache& cache = {});

}  // namespace strobe
