// Parameters of strategies that train event models in batches in time order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

struct EventBatchOptions {
  std::int64_t batch = 600;        // events per update and rank
  std::string memory_on = "host";  // host | device
  std::string learning_rate_scaling = "linear";
  std::int64_t learning_rate_batch = 600;
  std::int64_t evaluate_every = 1;    // epochs
  std::int64_t evaluate_batches = 0;  // 0 = all
  // For strategies with several ranks.
  bool grouped = false;
  std::int64_t i = 0, j = 0, k = 0;  // 0 = derived (TrainingGroups)
  bool pipeline = true;
  std::int64_t prefetch = 0;           // iterations; 0 = derived
  std::string presample = "none";      // none | memory | disk
  std::string memory_layout = "copy";  // copy | distributed
  std::int64_t nodes = 0;              // that share a distributed memory; 0 = derived
  std::string evaluate = "replay";     // replay | copy0
};

/// DistTGL's smallest batch, a third of it, and three times it.
inline std::vector<std::string> searched_event_batches(bool /*sizes_only*/) { return {"600", "200", "1800"}; }

/// Adds the parameters above to a table of `S`, which must have members with these names.
template <class S>
FieldTable event_batch_fields() {
  return make_fields<S>()
      .integer("batch", &S::batch, "", "models of events: events of one update on one rank", 1, 1 << 30)
      .searched(searched_event_batches)
      .choice("memory_on", &S::memory_on, {"host", "device"}, "models of events: where node memory lies")
      .choice("learning_rate_scaling", &S::learning_rate_scaling, {"linear", "none"},
              "models of events: scale the learning rate by global batch / learning_rate_batch, or leave it as it is")
      .integer("learning_rate_batch", &S::learning_rate_batch, "",
               "models of events: global batch at which the learning rate is the optimiser's own", 1, 1 << 30)
      .integer("evaluate_every", &S::evaluate_every, "",
               "models of events: epochs between two evaluations; the last weights are always evaluated", 1, 1 << 30)
      .integer("evaluate_batches", &S::evaluate_batches, "",
               "models of events: consecutive batches in evaluations before the last, from a random one on, with "
               "empty memory; 0 = all",
               0, 1 << 30);
}

/// The parameters above, and those of training in groups of ranks.
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
      .boolean("pipeline", &S::pipeline, "memory of the next batch is read while gradients of this one are computed")
      .integer("prefetch", &S::prefetch, "",
               "iterations that batches are drawn ahead; 0 = j with pipeline (some more with "
               "memory_layout=distributed), none "
               "without",
               0, 1 << 20)
      .choice("presample", &S::presample, {"none", "memory", "disk"},
              "where batches lie that are drawn before training; none = drawn while training")
      .choice("memory_layout", &S::memory_layout, {"copy", "distributed"},
              "each copy of the memory on one node; or vertex v's memory, neighbours and features on node v mod nodes "
              "(k = 1)")
      .integer("nodes", &S::nodes, "",
               "over how many nodes vertices lie with memory_layout=distributed; 0 = those of the cluster that the "
               "ranks need, 1 without",
               0, 1 << 20)
      .choice("evaluate", &S::evaluate, {"replay", "copy0"},
              "memory for evaluations before the last: made by a new pass over all events, or copy 0 of the memory as "
              "training left it");
}

inline const std::vector<std::string>& event_group_names() {
  static const std::vector<std::string> names = event_group_fields<EventBatchOptions>().names();
  return names;
}

inline const std::vector<std::string>& event_batch_names() {
  static const std::vector<std::string> names = event_batch_fields<EventBatchOptions>().names();
  return names;
}

}  // namespace strobe
