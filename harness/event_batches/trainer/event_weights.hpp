// Weights of a case's model and task on one rank, with the learning rate that batches of events ask for.
#pragma once

#include "harness/event_batches/batches/event_case.hpp"
#include "harness/schedule/trained_weights.hpp"

namespace strobe {

class EventWeights : public TrainedWeights {
 public:
  /// `global_batch` events are trained on in an update: the learning rate is scaled by it (decisions 7.5).
  EventWeights(const EventCase& c, std::int64_t global_batch, Device& device);
};

}  // namespace strobe
