// DistTGL's three ways to train an event model on many ranks, and every mix of them.
#include <nlohmann/json.hpp>

#include "core/joined_fields.hpp"
#include "core/names_elsewhere.hpp"
#include "harness/event_batches/strategies/event_options.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

/// Whether the parameter is unset (0) or equals `value`.
bool allows(const Json& parameters, const char* name, std::int64_t value) {
  const std::int64_t given = parameters.value(name, std::int64_t{0});
  return given == 0 || given == value;
}

/// Every i x j x k = ranks with groups of i x j ranks within a node each; k follows from i and j. If the user's
/// parameters fit none of these, they are tried as they are, and their refusal says which would fit.
std::vector<StrategyTag::Searched> groups_within_nodes(const Json& parameters, std::int64_t ranks,
                                                       std::int64_t ranks_of_node) {
  std::vector<StrategyTag::Searched> all;
  if (parameters.value("memory_layout", "copy") == "distributed") {  // one memory for all nodes
    for (std::int64_t i = 1; i <= ranks; ++i) {
      if (ranks % i == 0 && allows(parameters, "i", i) && allows(parameters, "j", ranks / i))
        all.push_back({{{"i", i}, {"j", ranks / i}}, {{"k", 1}}});
    }
    if (all.empty()) all.push_back({});
    return all;
  }
  const bool alone = parameters.value("memory_on", "host") == "device";  // a copy is its only rank's
  for (std::int64_t i = 1; i <= ranks_of_node; ++i) {
    for (std::int64_t j = 1; i * j <= (alone ? 1 : ranks_of_node); ++j) {
      if (ranks_of_node % (i * j) != 0 || !allows(parameters, "i", i) || !allows(parameters, "j", j) ||
          !allows(parameters, "k", ranks / (i * j)))
        continue;
      all.push_back({{{"i", i}, {"j", j}}, {{"k", ranks / (i * j)}}});
    }
  }
  if (all.empty()) all.push_back({});
  return all;
}

const Register<StrategyTag> event_batch_registered{{
    "event_batch",
    "events in time order: i ranks share a batch, j batches of a memory at a time, k copies of the memory",
    "Zhou et al., DistTGL: distributed memory-based temporal graph neural network training, SC'23, section 3.2",
    joined_fields({event_batch_fields<EventBatchOptions>(), event_group_fields<EventBatchOptions>()}),
    StrategyTag::Value("event_batches").searching(groups_within_nodes),
    {},
}};

const RegisterNames event_batch_elsewhere{
    "strategy",
    {{"disttgl", "event_batch", "i, j and k of it are mini-batch, epoch and memory parallelism"},
     {"tgl", "event_batch", "with i = ranks"},
     {"memory-parallel", "event_batch", "its parameter k"},
     {"memory-parallelism", "event_batch", "its parameter k"},
     {"epoch-parallel", "event_batch", "its parameter j"},
     {"epoch-parallelism", "event_batch", "its parameter j"},
     {"mini-batch-parallel", "event_batch", "its parameter i"},
     {"mini-batch-parallelism", "event_batch", "its parameter i"}}};

}  // namespace
}  // namespace strobe
