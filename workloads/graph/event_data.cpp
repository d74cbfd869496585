// One way to features and classes, for stored and generated ones. Cost: O(F_e), and O(classes of an event).
#include "workloads/graph/event_data.hpp"

#include <algorithm>

#include "workloads/graph/planted_features.hpp"

namespace strobe {

void edge_feature_row(const EventGraph& events, EdgeId event, float* to) {
  if (events.edge_feature_source.width > 0) {
    events.edge_feature_source.row(event, to);
    if (events.planted.communities > 0)
      mix_with_community(events.planted, events.target[event], events.edge_feature_source, to);
    return;
  }
  std::copy_n(events.edge_features.data() + event * events.edge_feature_width, events.edge_feature_width, to);
}

bool event_classes(const EventGraph& events, EdgeId event, std::uint64_t& bits) {
  const std::size_t e = event;
  bits = 0;
  if (events.event_class_source.classes == 0) return false;
  bits = events.event_class_source.of(event, events.source[e], events.target[e], events.time[e]);
  return true;
}

}  // namespace strobe
