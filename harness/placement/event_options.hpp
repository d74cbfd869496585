// Parameters of strategies that train models of events, in batches in time order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

struct EventBatchOptions {
  std::int64_t batch = 600;        // events of one update on one rank
  std::string memory_on = "host";  // host | device
  std::string learning_rate_scaling = "linear";
  std::int64_t learning_rate_batch = 600;
  // Of strategies of several ranks.
  bool grouped = false;
  std::int64_t i = 0, j = 0, k = 0;  // 0 = derived (TrainingGroups)
  bool pipeline = true;
};

/// Adds the parameters above to a table of `S`, which has them as members of its own.
template <class S>
FieldTable event_batch_fields() {
  return make_fields<S>()
      .integer("batch", &S::batch, "", "models of events: events of one update on one rank", 1, 1 << 30)
      .choice("memory_on", &S::memory_on, {"host", "device"}, "models of events: where node memory lies")
      .choice("learning_rate_scaling", &S::learning_rate_scaling, {"linear", "none"},
              "models of events: learning rate times global batch / learning_rate_batch, or as it is")
      .integer("learning_rate_batch", &S::learning_rate_batch, "",
               "models of events: global batch at which the learning rate is the optimiser's own", 1, 1 << 30);
}

/// Adds i, j, k and pipeline to the parameters above.
template <class S>
FieldTable event_group_fields() {
  return make_fields<S>()
      .integer("i", &S::i, "", "ranks that share a batch (mini-batch parallelism); 0 = 1", 0, 1 << 20)
      .integer("j", &S::j, "",
               "batches of a memory in training at a time, each for j iterations with other negatives (epoch "
               "parallelism); 0 = 1",
               0, 1 << 20)
      .integer("k", &S::k, "",
               "copies of the memory, each in another part of the events (memory parallelism); 0 = ranks / (i j)", 0,
               1 << 20)
      .boolean("pipeline", &S::pipeline, "what a batch needs beside memory is made ready during the one before");
}

/// Names of the parameters of `event_group_fields`.
inline const std::vector<std::string>& event_group_names() {
  static const std::vector<std::string> names = event_group_fields<EventBatchOptions>().names();
  return names;
}

/// Names of the parameters of `event_batch_fields`.
inline const std::vector<std::string>& event_batch_names() {
  static const std::vector<std::string> names = event_batch_fields<EventBatchOptions>().names();
  return names;
}

}  // namespace strobe
