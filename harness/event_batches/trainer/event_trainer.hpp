// Trains an event model on one rank, with batches in time order. Each batch is drawn while the one before is computed.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/event_batches/trainer/evaluation_pass.hpp"
#include "harness/event_batches/trainer/event_weights.hpp"
#include "harness/schedule/schedule.hpp"

namespace strobe {

class EventTrainer final : public Trainer {
 public:
  EventTrainer(const EventCase& c, Device& device, Communicator& communicator);

  void note_ranges(RangeLog* log) override { ranges_ = log; }
  void keep(const std::set<std::string>& names) override { replay_.keep(names); }
  void epoch(std::int64_t number) override;
  EpochValues values(bool metrics_before) override;
  std::map<std::string, double> evaluate(const EvaluationMoment& moment) override;
  TrainingFindings findings() const override { return {0, false, replay_.equal_outputs()}; }
  TrainingState state() override { return weights_.state(); }
  void restore(const TrainingState& state) override { weights_.restore(state); }
  std::vector<double> weights() override { return weights_.values(); }
  OutputContent output(const std::string& name) override { return replay_.hand_over(name, weights_.parameters()); }

 private:
  PendingDraw draw(std::int64_t epoch, std::int64_t batch);
  /// Trains on a batch while the host draws the next one.
  void train(std::int64_t epoch, std::int64_t batch);

  const EventCase& case_;
  Device& device_;
  EventWalk walk_;
  EvaluationPass replay_;
  EventWeights weights_;
  PendingDraw next_;
  Tensor batch_loss_, epoch_loss_;
  RangeLog* ranges_ = nullptr;
};

}  // namespace strobe
