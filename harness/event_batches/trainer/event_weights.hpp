// Weights of a case's model and task on one rank, with the learning rate for batches of events.
#pragma once

#include <string>

#include "harness/event_batches/batches/event_case.hpp"
#include "harness/schedule/trained_weights.hpp"

namespace strobe {

/// Why losses on other rank counts, which add in another order, may differ visibly. "" if an update turns no time
/// encoding of the training events by 0.1 radians, or none is trained. A trained frequency is multiplied by seconds, so
/// it multiplies its rounding by the same angle with each update (docs/explanation/event_models.md).
std::string note_on_rounding(const EventCase& c, std::int64_t global_batch);

class EventWeights : public TrainedWeights {
 public:
  /// An update trains on `global_batch` events; the learning rate is scaled accordingly.
  EventWeights(const EventCase& c, std::int64_t global_batch, Device& device);
};

}  // namespace strobe
