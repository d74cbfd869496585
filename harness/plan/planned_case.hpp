// A planned case: everything that is decided before ranks start, shared by all of them and immutable. `--dry-run`
// prints it, the run loop walks it.
#pragma once

#include <array>
#include <memory>

#include "harness/placement/strategy.hpp"
#include "harness/plan/block_plan.hpp"
#include "harness/request/case.hpp"
#include "harness/request/shape_case.hpp"
#include "models/snapshots/model.hpp"
#include "models/tasks/task.hpp"

namespace strobe {

/// What a plan is made for. A `report` names every exchange and its bytes; it holds no index lists and asks for no
/// world, so that a run on 64 processes is planned by one.
enum class PlanUse { run, report };

struct PlannedCase {
  Case request;
  PlanUse use = PlanUse::run;
  std::shared_ptr<const SnapshotGraph> raw;  // null when the workload is a shape
  std::shared_ptr<const ShapeCase> shape;    // null when it is a graph
  std::shared_ptr<const PreparedGraph> graph;
  std::shared_ptr<const TaskData> task_data;
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Task> task;
  std::vector<LayerShape> layers;
  std::vector<ParameterShape> parameters;
  std::int64_t parameter_count = 0;
  std::int64_t trained_steps = 0;    // of the graph's steps, up to the last one that a training sample reads
  std::vector<double> start_values;  // [parameter_count] from a loaded model, or empty
  StrategyPlan strategy;
  std::vector<std::shared_ptr<const PreparedGraph>> support_graphs;  // of Model::supports
  std::vector<BlockPlan> blocks;                                     // of the schedule, in order
  std::vector<Step> test_steps;                                      // that test samples read, ascending
  PlacedSamples test;                                                // under the spatial placement of these steps
  std::vector<Step> validation_steps;                                // likewise; empty where the task has none
  PlacedSamples validation;
  std::vector<std::string> notes;  // what was assumed, one sentence each
  bool fp64 = false;
  /// Bytes that all ranks together send in one epoch, by traffic, in order of `traffic_names`.
  std::array<std::uint64_t, traffic_count> planned_bytes{};

  int ranks() const { return static_cast<int>(request.ranks); }
  /// Whether the last block keeps its records from the first forward pass, so that it is not computed again.
  bool keeps_last_block() const { return blocks.size() == 1 || !request.rerun_last; }
  bool any_layer_reads_neighbours() const;
  /// Features of a vertex, of which `graph` may hold several terms.
  std::int64_t feature_width() const;
};

/// Loads, preprocesses, draws samples, asks the strategy and derives the exchanges. Graphs are kept for the next case
/// of the same workload. Throws InvalidRequest or InvalidInput, and Unavailable where a plan to run meets a world of
/// another size; nothing is measured. Memory grows with ranks squared: InvalidRequest("/ranks", ...) before it is taken
/// when the machine, or the process's limit, does not have it.
std::shared_ptr<const PlannedCase> make_plan(const Case& request, PlanUse use = PlanUse::run);

/// Steps of the largest block at a number of blocks fall as that number grows; the smallest numbers of blocks for each
/// size of block, ascending from 1 to `steps`.
std::vector<std::int64_t> useful_block_counts(std::int64_t steps);

/// Fills `planned_bytes` from the plan's exchanges.
void count_planned_bytes(PlannedCase& plan);

/// Bytes from rank to rank of one pass of an exchange of rows of `row_bytes`: [P][P].
std::vector<std::vector<std::uint64_t>> byte_matrix(const ExchangePlan& plan, std::uint64_t row_bytes);

}  // namespace strobe
