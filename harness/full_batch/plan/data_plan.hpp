// The data of a snapshot case: its graph, prepared as the model needs it, and the task's samples.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/data_cache.hpp"
#include "harness/full_batch/plan/digested_graph.hpp"
#include "harness/full_batch/plan/model_plan.hpp"
#include "harness/request/shape_case.hpp"

namespace strobe {

struct DataPlan {
  std::shared_ptr<const SnapshotGraph> raw;  // null if the workload is a shape
  std::shared_ptr<const ShapeCase> shape;    // null if the workload is a graph
  std::shared_ptr<const Presence> presence;  // cells of `raw` that exist; null: all
  std::shared_ptr<const PreparedGraph> graph;
  std::vector<std::shared_ptr<const PreparedGraph>> supports;  // of Preparation::supports
  std::vector<std::shared_ptr<const DigestedGraph>> digested;  // graph and supports with their digests
  std::shared_ptr<const TaskData> samples;                     // on cells that exist; empty if the workload is a shape
  std::int64_t trained_steps = 0;  // steps of the graph up to the last one that a training sample reads
  std::vector<std::string> notes;  // assumptions, one sentence each

  /// Edges of the workload in the trained steps. Every model has to process these, whatever it adds.
  double trained_edges = 0;
  /// Replaces `raw` by a graph with its vertices' ids and names alone. After this the plan does not hold the workload's
  /// edges and features.
  void keep_ids_of_raw();
  /// Vertices that exist at each of these steps, summed over the steps.
  double trained_cells() const;
  /// Steps that test samples read, and steps that validation samples read, ascending; empty without such samples.
  std::vector<Step> steps_tested() const;
  std::vector<Step> steps_validated() const;
};

/// Loads the workload, draws the task's samples and preprocesses. The results stay in `cache` for the next case. Throws
/// InvalidRequest and InvalidInput.
DataPlan load_data(const Case& c, const ModelChoice& choice, const DataCache& cache);

}  // namespace strobe
