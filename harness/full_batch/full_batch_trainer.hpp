// The data that one rank of a full-batch schedule keeps from epoch to epoch, and the steps of an epoch.
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

  /// Has later epochs leave the cost of each unit of chunks in `meter`, which must outlive them.
  void measure_units(UnitMeter& meter) { timeline_.measure_units(&meter); }
  void note_ranges(RangeLog* log) override { ranges_ = log; }
  void epoch(std::int64_t number) override;
  EpochValues values(bool metrics_before) override;
  std::map<std::string, double> evaluate(const EvaluationMoment&) override;
  TrainingFindings findings() const override;
  void gather_state() override { kept_ = timeline_.gather_kept(); }
  TrainingState state() override;
  void restore(const TrainingState& state) override;
  /// Takes over weights [parameter count, 1] from another training. Evaluations use them from now on.
  void take_weights(const Tensor& weights);
  std::vector<double> weights() override { return host_values(device_, parameters_.values()); }
  /// All ranks' embeddings for the current weights, as [T * N * F], on rank 0. Ranks hold those of one block and step.
  Column<double> embeddings();
  OutputContent output(const std::string& name) override;

 private:
  /// The training samples of one block on one rank.
  struct TrainBlock {
    Exchange halo;
    DeviceSamples samples;
  };

  void start_backward(std::size_t block, Tape& tape, const Var& embeddings);
  /// Adds the last epoch and its loss to the rounding estimate. Must run before the epoch's metrics are computed. Every
  /// rank moves its values out, even without values, because the program must be the same.
  void estimate_rounding(double loss);
  KeptRows evaluated_embeddings(const std::vector<Step>& steps);
  /// Gathers the embeddings of step `t`, as [N * F], at `by_vertex` of rank 0.
  void gather(const KeptRows& kept, Step t, double* by_vertex);
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
  Parameters evaluated_;  // the weights for which the current embeddings were computed
  std::unique_ptr<Optimizer> optimizer_;
  Tensor loss_;
  std::map<std::string, std::vector<double>>
      kept_;                          // on rank 0: the rows that ranks held of each other at the last gather_state
  std::optional<KeptRows> of_epoch_;  // embeddings of the evaluated steps, until values() returns
  RoundingEstimate rounding_;         // on rank 0
  std::optional<bool> dead_start_;    // on rank 0
  RangeLog* ranges_ = nullptr;
};

}  // namespace strobe
