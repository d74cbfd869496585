// Training in hybrid batches on one rank (DynaHB, VLDB'24, Algorithm 2).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/full_batch/exchange/rank_sums.hpp"
#include "harness/hybrid_batches/adjusters/adjuster.hpp"
#include "harness/hybrid_batches/batch_feed.hpp"
#include "harness/hybrid_batches/single_rank_sums.hpp"
#include "harness/schedule/schedule.hpp"
#include "harness/schedule/trained_weights.hpp"

namespace strobe {

class HybridTrainer final : public Trainer {
 public:
  /// `judges_shapes`: it also evaluates on devices without values, where only memory counts.
  HybridTrainer(const HybridPlan& plan, Device& device, Communicator& communicator, bool judges_shapes = false);

  void note_ranges(RangeLog* log) override { ranges_ = log; }
  /// One update by gradients summed over ranks; or updates of the rank alone, followed by averaging.
  void epoch(std::int64_t number) override;
  EpochValues values(bool metrics_before) override;
  /// On all cells of the graph, block by block. They are on the device only during the call.
  std::map<std::string, double> evaluate(const EvaluationMoment& moment) override;
  TrainingFindings findings() const override { return {0, false, equal_outputs_, evaluation_bytes_}; }
  void gather_state() override;
  TrainingState state() override;
  void restore(const TrainingState& state) override;
  std::vector<double> weights() override;
  OutputContent output(const std::string& name) override;

 private:
  Pass pass() const;
  void choose_size();
  void update_together();
  void update_alone();
  /// Whether the next averaging is due, `updates` after the last one.
  bool reached_interval(std::int64_t updates);
  /// From the first span of the epoch to the end of its last.
  double seconds_of_spans() const;
  void observe(double loss);
  void average_models();
  /// The loss of the fixed batches of all ranks, with the weights that they would train on next, goes to `watched_`.
  void watch_fixed_batch();
  /// Brings a vector of every rank to rank 0's `kept_`.
  void gather(const std::string& name, const Tensor& own);
  /// Brings the device's peak during an evaluation to rank 0.
  void note_evaluation_peak();
  void average(const Tensor& vector, Traffic traffic);
  void scale(const Tensor& vector, double factor);
  /// The weights that are evaluated and kept: the mean over ranks if models are never averaged.
  Tensor common_weights();

  const HybridPlan& plan_;
  Device& device_;
  Communicator& communicator_;
  CommunicatorSums shared_sums_;
  SingleRankSums own_sums_;
  TrainedWeights weights_;
  BatchFeed feed_;
  std::unique_ptr<BatchAdjuster> adjuster_;  // on all ranks, but rank 0's decides; null: nobody chooses
  std::optional<StretchOutcome> outcome_;    // of the previous epoch, the same on all ranks
  std::size_t action_ = 0;                   // the current size
  std::uint64_t iteration_ = 0;              // updates of this rank so far
  std::int64_t updates_ = 1;                 // in the last epoch
  std::size_t first_span_ = 0;               // of the epoch
  Tensor batch_loss_;                        // f64 [1, 1]
  Tensor totals_;                            // f64 [2, 1] of an epoch: the samples' losses, and their weight
  Tensor number_;                            // f64 [1, 1], for one number that ranks share
  Tensor scratch_;                           // [parameter count, 1]
  SharedBatch fixed_batch_;                  // whose loss the adjuster watches; null: that of the epoch's batches
  Tensor watched_;                           // f64 [2, 1] of fixed batches: the samples' losses, and their weight
  double sample_weight_ = 0;                 // of the rank's batches in an epoch
  double last_loss_ = 0;                     // of the last epoch that had samples
  bool equal_outputs_ = false;
  std::vector<std::uint64_t> evaluation_bytes_;  // [ranks] on rank 0: the most of all evaluations
  bool judges_shapes_ = false;
  std::map<std::string, std::vector<double>> kept_;  // on rank 0: each rank's own data, as gathered last
  RangeLog* ranges_ = nullptr;
};

}  // namespace strobe
