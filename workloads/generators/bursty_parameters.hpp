// The parameters of `bursty_events`.
#pragma once

#include <cstdint>
#include <string>

#include "core/fields.hpp"
#include "workloads/graph/generated_data.hpp"

namespace strobe {

struct BurstyParameters {
  std::string like = "none";
  std::int64_t vertices = 1000;
  std::int64_t sources = 0;
  std::int64_t events = 10000;
  std::int64_t sides = 2;
  double span = 1e6;
  double repeat = 0.6;
  double burst = 0.5;
  double burst_decay = 0;
  double drift = 4;
  double skew = 1;
  double labels = 0;
  std::int64_t edge_features = 0;
  std::int64_t vertex_features = 0;
  std::int64_t classes = 0;
  std::int64_t classes_per_event = 0;

  /// Vertices that are sources: [0, source_count()).
  std::int64_t source_count() const { return sides == 1 ? vertices : sources > 0 ? sources : vertices / 2; }
  /// The first target; targets are [first_target(), vertices).
  std::int64_t first_target() const { return sides == 1 ? 0 : source_count(); }
  std::int64_t target_count() const { return vertices - first_target(); }
  double decay() const { return burst_decay > 0 ? burst_decay : span / 1000; }
  /// Events that wait to be set off by earlier ones, on average.
  double waiting() const { return static_cast<double>(events) / span * burst * decay(); }
  /// Topics of about 32 targets, at most 32.
  EventTopics topics(std::uint64_t seed) const;
};

/// Events whose targets a source may choose again, counted back from its newest.
inline constexpr std::int64_t history_depth = 8;

const FieldTable& bursty_fields();

/// Adds to `given` the parameters that its `like` implies and that it leaves open.
Json bursty_preset(const Json& given);

/// Bytes that generating takes at its peak, the finished columns among them.
double bursty_bytes(const BurstyParameters& parameters);

/// Throws InvalidRequest("/NAME", ...) for parameters that contradict each other or need more memory than there is.
void check_bursty(const BurstyParameters& parameters);

}  // namespace strobe
