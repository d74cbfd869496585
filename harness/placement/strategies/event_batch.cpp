// DistTGL's three ways to train a model of events on many ranks, and every mix of them.
#include "core/joined_fields.hpp"
#include "harness/placement/event_options.hpp"
#include "harness/placement/strategy.hpp"

namespace strobe {
namespace {

const Register<StrategyTag> event_batch_registered{{
    "event_batch",
    "events in time order: i ranks share a batch, j batches of a memory at a time, k copies of the memory",
    "Zhou et al., DistTGL: distributed memory-based temporal graph neural network training, SC'23, section 3.2",
    joined_fields({event_batch_fields<EventBatchOptions>(), event_group_fields<EventBatchOptions>()}),
    StrategyTag::Value("event_batches"),
    {},
}};

}  // namespace
}  // namespace strobe
