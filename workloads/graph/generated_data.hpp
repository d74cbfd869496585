// Data of events that are computed on request and stored nowhere: features from an event's number, classes from the
// topics of its source and target. A generated graph of hundreds of millions of events has both without memory for
// them.
#pragma once

#include <cstdint>

#include "core/ids.hpp"

namespace strobe {

/// Features of events made from the seed and the event's number alone: row e is the same for every caller, at any time.
struct GeneratedFeatures {
  std::uint64_t seed = 0;
  std::int64_t width = 0;  // F_e; 0 = events have none

  /// Writes the features of `event` [width] to `to`: uniform in [-1, 1), multiples of 2^-23. O(width).
  void row(EdgeId event, float* to) const;
  friend bool operator==(const GeneratedFeatures&, const GeneratedFeatures&) = default;
};

/// The topic of each target, and the topic that each source looks for, one of `topics`. A target keeps its topic. A
/// source changes its topic `drift` times within `span` seconds, each source at moments of its own; it begins anywhere
/// between two changes. Functions of the seed: nothing is stored.
struct EventTopics {
  std::uint64_t seed = 0;
  std::int64_t topics = 1;
  double drift = 0, span = 1;

  std::int64_t of_target(VertexId target) const;
  std::int64_t of_source(VertexId source, double time) const;
  friend bool operator==(const EventTopics&, const EventTopics&) = default;
};

/// Several classes of an event. Each topic has `per_event` classes. An event's classes are taken in turn from those of
/// its source's topic at the event's time and from those of its target's topic. Each is replaced by any class with
/// probability `noise`. A class that the event already has is replaced by the next one, so an event has exactly
/// `per_event`.
struct GeneratedClasses {
  static constexpr std::int64_t most_classes = 64;

  std::uint64_t seed = 0;
  std::int64_t classes = 0;    // 0 = events have none; at most `most_classes`
  std::int64_t per_event = 0;  // at most `classes`
  double noise = 0.1;
  EventTopics topics;

  /// Bit c is set when the event source -> target at `time` is of class c. O(per_event).
  std::uint64_t of(EdgeId event, VertexId source, VertexId target, double time) const;
  friend bool operator==(const GeneratedClasses&, const GeneratedClasses&) = default;
};

}  // namespace strobe
