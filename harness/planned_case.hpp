// A planned case: everything that is decided before ranks start, shared by all of them and immutable. `--dry-run`
// prints it, the run loop walks it.
#pragma once

#include <array>
#include <memory>

#include "harness/case.hpp"
#include "harness/exchange_plan.hpp"
#include "harness/placed_samples.hpp"
#include "harness/state_handover.hpp"
#include "harness/step_supports.hpp"
#include "harness/strategy.hpp"
#include "models/model.hpp"
#include "models/task.hpp"

namespace strobe {

struct PlannedCase {
  Case request;
  std::shared_ptr<const SnapshotGraph> raw;
  std::shared_ptr<const PreparedGraph> graph;
  std::shared_ptr<const TaskData> task_data;
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Task> task;
  std::vector<LayerShape> layers;
  std::vector<ParameterShape> parameters;
  std::int64_t parameter_count = 0;
  std::vector<double> start_values;  // [parameter_count] from a loaded model, or empty
  StrategyPlan strategy;
  HaloNeeds spatial_needs;
  ExchangePlan spatial_halo, to_temporal, to_spatial;
  std::vector<TemporalSegment> segments;          // of the temporal placement
  std::vector<TemporalSegment> spatial_segments;  // of the spatial placement, for layers that go step by step
  std::vector<StateHandover> handover;            // [layers]; without plans for layers that remember nothing
  StepSupports supports;                          // of layers that go step by step
  PlacedSamples train, test;
  bool fp64 = false;
  /// Bytes that all ranks together send in one epoch, by traffic, in order of `traffic_names`.
  std::array<std::uint64_t, traffic_count> planned_bytes{};

  int ranks() const { return static_cast<int>(request.ranks); }
  bool any_layer_reads_neighbours() const;
};

/// Loads, preprocesses, draws samples, asks the strategy and derives the exchanges. Graphs are kept for the next case
/// of the same workload. Throws InvalidRequest or InvalidInput; nothing is measured.
std::shared_ptr<const PlannedCase> make_plan(const Case& request);

/// Fills `planned_bytes` from the plan's exchanges.
void count_planned_bytes(PlannedCase& plan);

/// Bytes from rank to rank of one pass of an exchange of rows of `row_bytes`: [P][P].
std::vector<std::vector<std::uint64_t>> byte_matrix(const ExchangePlan& plan, std::uint64_t row_bytes);

}  // namespace strobe
