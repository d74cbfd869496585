// The data of an event in addition to its ends and its time, from any source.
#pragma once

#include <cstdint>

#include "workloads/graph/graph.hpp"

namespace strobe {

/// Writes the features of `event` [edge_feature_width] to `to`, stored or generated. Does nothing when events have
/// none.
void edge_feature_row(const EventGraph& events, EdgeId event, float* to);

/// Sets `bits` to the classes of `event`, bit c for class c of `events.event_class_source.classes`. False, and `bits`
/// 0, when events have no classes.
bool event_classes(const EventGraph& events, EdgeId event, std::uint64_t& bits);

}  // namespace strobe
