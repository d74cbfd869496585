// Weights of a case's model and task on one rank, with the learning rate for batches of events.
#pragma once

#include "harness/event_batches/batches/event_case.hpp"
#include "harness/schedule/trained_weights.hpp"

namespace strobe {

class EventWeights : public TrainedWeights {
 public:
  /// An update trains on `global_batch` events; the learning rate is scaled accordingly.
  EventWeights(const EventCase& c, std::int64_t global_batch, Device& device);
};

}  // namespace strobe
