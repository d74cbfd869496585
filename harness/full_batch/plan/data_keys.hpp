// Data of snapshot cases that DataCache keeps. The members of a key are all that its value depends on.
#pragma once

#include <memory>
#include <string>

#include "core/data_cache.hpp"
#include "harness/full_batch/plan/digested_graph.hpp"
#include "harness/request/key_options.hpp"
#include "models/tasks/task.hpp"
#include "workloads/graph/presence.hpp"
#include "workloads/preparation/feature_scale.hpp"

namespace strobe {

/// The graph as the workload returns it.
struct GraphKey {
  using Value = SnapshotGraph;
  static constexpr std::size_t kept = 3;

  KeyOptions workload;
  std::int64_t seed = 0;

  bool operator==(const GraphKey&) const = default;
  SnapshotGraph make(const DataCache& cache) const;
};

/// The cells of the graph that exist; null: all.
struct PresenceKey {
  using Value = std::shared_ptr<const Presence>;
  static constexpr std::size_t kept = 3;

  GraphKey graph;
  std::string presence;

  bool operator==(const PresenceKey&) const = default;
  Value make(const DataCache& cache) const;
};

/// The task's samples. In fp32, values to predict are rounded to fp32, also for the metrics.
struct SamplesKey {
  using Value = TaskData;
  static constexpr std::size_t kept = 3;

  GraphKey graph;
  std::string presence;
  KeyOptions task;
  bool fp64 = false;

  bool operator==(const SamplesKey&) const = default;
  TaskData make(const DataCache& cache) const;
  /// The samples in memory of this process.
  TaskData draw(const DataCache& cache) const;
};

/// Mean and deviation of the features over the existing cells of the first `trained_steps` steps.
struct MeasuresKey {
  using Value = FeatureMeasures;
  static constexpr std::size_t kept = 3;

  GraphKey graph;
  std::string presence;
  std::int64_t trained_steps = 0;
  bool fp64 = false;

  bool operator==(const MeasuresKey&) const = default;
  FeatureMeasures make(const DataCache& cache) const;
};

/// The graph preprocessed as a model needs it.
struct PreparedKey {
  using Value = std::shared_ptr<const DigestedGraph>;
  static constexpr std::size_t kept = 3;

  GraphKey graph;
  std::string presence;
  Preprocessing what;              // `feature_scale` comes from the case, else from the model
  std::int64_t steps = 0;          // of the samples
  std::int64_t trained_steps = 0;  // steps up to the last one that training samples read; features are measured there
  bool fp64 = false;

  bool operator==(const PreparedKey&) const = default;
  Value make(const DataCache& cache) const;
};

}  // namespace strobe
