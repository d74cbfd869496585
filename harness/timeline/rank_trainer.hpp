// What one rank of a full-batch schedule keeps from epoch to epoch, and the steps that an epoch is made of.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/exchange/rank_sums.hpp"
#include "harness/files/checkpoint.hpp"
#include "harness/timeline/evaluation.hpp"
#include "harness/timeline/rounding_estimate.hpp"
#include "harness/timeline/timeline.hpp"
#include "models/optimizers/optimizer.hpp"

namespace strobe {

/// All ranks must call the same functions in the same order.
class RankTrainer {
 public:
  RankTrainer(const PlannedCase& plan, Device& device, Communicator& communicator);

  /// One epoch on all cells; returns the embeddings of the evaluated steps, which the weights before its update gave.
  KeptRows epoch(std::int64_t number);

  void update() { optimizer_->step(device_, parameters_); }

  /// The loss summed over ranks; false without values.
  bool loss(double& value) { return device_.move_out(loss_, &value); }

  /// Adds the epoch that was updated last, with its loss, to the estimate of what rounding does; to be called before
  /// its metrics are asked for. Moved out on every rank, with or without values, as the program must be the same.
  void estimate_rounding(double loss);
  const RoundingEstimate& rounding() const { return rounding_; }

  /// Metrics of the weights before the last update from the epoch's own embeddings, `of_epoch`.
  std::map<std::string, double> metrics_before_update(const KeptRows& of_epoch);

  /// Metrics of the weights as they are, from a forward pass that drops nothing.
  std::map<std::string, double> metrics();

  /// Whether the metrics asked for last are of one output for all test samples.
  bool equal_outputs() const { return evaluation_.equal_outputs(); }

  /// All ranks' embeddings of the weights as they are, as [T, N, F], on rank 0; likewise.
  std::vector<double> embeddings();

  std::vector<double> weights() { return host_values(device_, parameters_.values()); }

  /// Weights and optimiser state; the caller adds the epoch and the curves.
  TrainingState state();
  void restore(const TrainingState& state);

 private:
  /// The training samples of one block on one rank.
  struct TrainBlock {
    Exchange halo;
    DeviceSamples samples;
  };

  void start_backward(std::size_t block, Tape& tape, const Var& embeddings);
  KeptRows evaluated_embeddings(const std::vector<Step>& steps);
  std::vector<double> gather(const KeptRows& kept);
  Pass pass(std::int64_t epoch, bool training) const;
  void overwrite(const Tensor& vector, const std::vector<double>& values);
  void catch_up();

  const PlannedCase& plan_;
  Device& device_;
  Communicator& communicator_;
  CommunicatorSums sums_;
  Timeline timeline_;
  Evaluation evaluation_;
  std::vector<TrainBlock> train_;  // [blocks]
  double total_weight_ = 0;        // of all blocks' samples
  Parameters parameters_;
  Parameters evaluated_;  // those that the embeddings at hand were computed with
  std::unique_ptr<Optimizer> optimizer_;
  Tensor loss_;
  RoundingEstimate rounding_;  // on rank 0
};

}  // namespace strobe
