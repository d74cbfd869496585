// Training of a model of events on one rank: batches in time order, each drawn while the one before is computed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/events/event_replay.hpp"
#include "harness/plan/schedule.hpp"
#include "models/optimizers/optimizer.hpp"

namespace strobe {

class EventTrainer final : public Trainer {
 public:
  EventTrainer(const EventCase& c, Device& device, Communicator& communicator);

  /// A sweep over the training events from zero memory.
  void epoch(std::int64_t number) override;
  EpochValues values(bool metrics_before) override;
  std::map<std::string, double> evaluate() override { return replay_.metrics(parameters_); }
  TrainingFindings findings() const override { return {0, false, replay_.equal_outputs()}; }
  TrainingState state() override;
  void restore(const TrainingState& state) override;
  std::vector<double> weights() override;
  std::vector<double> embeddings() override { return replay_.embeddings(parameters_); }
  std::vector<SavedMatrix> memory() override { return replay_.memory(parameters_); }

 private:
  PendingDraw draw(std::int64_t epoch, std::int64_t batch);
  /// Trains a batch and, meanwhile, has the next one drawn.
  void train(std::int64_t epoch, std::int64_t batch);
  void overwrite(const Tensor& vector, const std::vector<double>& values);

  const EventCase& case_;
  Device& device_;
  EventWalk walk_;
  EventReplay replay_;
  Parameters parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  PendingDraw next_;
  Tensor batch_loss_, epoch_loss_;
};

}  // namespace strobe
