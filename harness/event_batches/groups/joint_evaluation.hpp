// An evaluation that all ranks make together, where the events and the memory lie by node. Ranks take the steps of the
// evaluation in turn. So each step computes what one rank alone computes, on the same rows, and metrics keep their
// bits. The ranks of a round first read and write memory in the order of the steps. Then all score at the same time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/safetensors.hpp"
#include "harness/event_batches/groups/distributed_memory.hpp"
#include "harness/event_batches/groups/group_plan.hpp"
#include "harness/event_batches/groups/remote_neighbours.hpp"
#include "harness/event_batches/trainer/batch_pass.hpp"
#include "harness/event_batches/trainer/evaluation_pass.hpp"

namespace strobe {

/// The results on rank 0; empty on other ranks and without values.
struct JointResults {
  std::map<std::string, double> metrics;
  std::vector<double> ranks;        // as in EventViews
  std::vector<SavedMatrix> scores;  // as in EventViews, where they are kept
  bool equal_outputs = false;       // whether the last part's outputs are all equal
};

/// A rank that evaluates.
struct EvaluatingRank {
  Device& device;
  Communicator& all;
  /// This rank and its agents, by node (RemoteRows::columns). One for all evaluations, because backends keep what they
  /// make for a group until the launch ends.
  std::shared_ptr<Communicator> column;
  bool keeps_scores = false;
};

/// One evaluation. All ranks construct it and call `run`.
class JointEvaluation {
 public:
  /// `rows` has the draws of `order`. The plan must have nodes.
  JointEvaluation(const GroupPlan& plan, const EvaluationOrder& order, std::shared_ptr<const RemoteRows> rows,
                  const EvaluatingRank& rank);
  /// Scores all steps. Adds the metrics of the weights to `results`.
  void run(const Parameters& parameters, JointResults& results);

 private:
  /// The step that this rank takes in a round.
  struct OwnStep {
    EvaluationStep step;
    std::vector<SharedDraw> draws;
    DeviceEvent drawn;
    std::vector<ComingRows> rows;
  };

  void draw(std::int64_t first, std::int64_t end);
  void draw_alone(std::int64_t number);
  void pass_memory(const Parameters& parameters, std::int64_t number);
  /// The outputs of the own step, event by event: how many count, and all columns. Empty if it scores nothing.
  std::vector<double> score(const Parameters& parameters);
  /// Sends the outputs of the steps [first, end) to rank 0.
  void gather(const std::vector<double>& own, std::int64_t first, std::int64_t end);
  void keep_outputs(const EvaluationStep& step, const double* values, std::int64_t count);
  void judge(JointResults& results) const;
  PassOutput compute(const Parameters& parameters, Tape& tape, std::size_t set);

  const EventCase& case_;
  const EvaluationOrder& order_;
  Device& device_;
  Communicator& communicator_;
  std::shared_ptr<EvaluationState> state_;  // of ranks that draw from all events
  BatchLoader loader_;
  std::unique_ptr<RemoteNeighbours> neighbours_;  // null: each rank draws from all events
  std::unique_ptr<DistributedMemory> memory_;     // null: the model has none
  OwnStep own_;
  std::vector<ComingOutputs> outputs_;  // of each part; on rank 0
  bool keeps_scores_;
};

/// Evaluates the plan's whole order. With `some` > 0, that number of batches of each part, chosen by `number`.
JointResults evaluate_jointly(const GroupPlan& plan, const Parameters& parameters, const EvaluatingRank& rank,
                              std::int64_t some = 0, std::int64_t number = 0);

}  // namespace strobe
