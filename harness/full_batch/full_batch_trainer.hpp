// What one rank of a full-batch schedule keeps from epoch to epoch, and the steps that an epoch is made of.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/full_batch/evaluation.hpp"
#include "harness/full_batch/exchange/rank_sums.hpp"
#include "harness/full_batch/rounding_estimate.hpp"
#include "harness/full_batch/timeline.hpp"
#include "harness/schedule/schedule.hpp"
#include "models/optimizers/optimizer.hpp"

namespace strobe {

class FullBatchTrainer final : public Trainer {
 public:
  FullBatchTrainer(const FullBatchPlan& plan, Device& device, Communicator& communicator);

  /// What each unit of chunks takes in epochs from now on is left in `meter`, which must outlive them.
  void measure_units(UnitMeter& meter) { timeline_.measure_units(&meter); }
  /// A pass over all cells and one update.
  void note_ranges(RangeLog* log) override { ranges_ = log; }
  void epoch(std::int64_t number) override;
  EpochValues values(bool metrics_before) override;
  std::map<std::string, double> evaluate(const EvaluationMoment&) override;
  TrainingFindings findings() const override;
  void gather_state() override { kept_ = timeline_.gather_kept(); }
  TrainingState state() override;
  void restore(const TrainingState& state) override;
  /// Evaluates these weights [parameter count, 1] of another training from now on.
  void take_weights(const Tensor& weights);
  std::vector<double> weights() override { return host_values(device_, parameters_.values()); }
  /// All ranks' embeddings of the weights as they are, as [T, N, F], on rank 0.
  /// [T * N * F] that the weights give, on rank 0.
  std::vector<double> embeddings();
  OutputContent output(const std::string& name) override;

 private:
  /// The training samples of one block on one rank.
  struct TrainBlock {
    Exchange halo;
    DeviceSamples samples;
  };

  void start_backward(std::size_t block, Tape& tape, const Var& embeddings);
  /// Adds the epoch that was updated last, with its loss, to the estimate of what rounding does; before its metrics are
  /// asked for. Moved out on every rank, with or without values, as the program must be the same.
  void estimate_rounding(double loss);
  KeptRows evaluated_embeddings(const std::vector<Step>& steps);
  std::vector<double> gather(const KeptRows& kept);
  Pass pass(std::int64_t epoch, bool training) const;
  void overwrite(const Tensor& vector, const std::vector<double>& values);
  void catch_up();

  const FullBatchPlan& plan_;
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
  std::map<std::string, std::vector<double>>
      kept_;                          // on rank 0: what ranks hold of each other, as it was gathered last
  std::optional<KeptRows> of_epoch_;  // embeddings of the evaluated steps, until the epoch's values were asked for
  RoundingEstimate rounding_;         // on rank 0
  std::optional<bool> dead_start_;    // likewise
  RangeLog* ranges_ = nullptr;
};

}  // namespace strobe
