// Events of `bursty_events` for its tests.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/workloads/support.hpp"
#include "workloads/workload.hpp"

namespace strobe::test {

inline EventGraph bursty(const Json& parameters, std::uint64_t seed = 1) {
  return load_events("bursty_events", parameters, seed).value();
}

inline void expect_equal_events(const EventGraph& a, const EventGraph& b) {
  EXPECT_EQ(a.vertices, b.vertices);
  EXPECT_EQ(a.source, b.source);
  EXPECT_EQ(a.target, b.target);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.event_label, b.event_label);
  EXPECT_EQ(a.vertex_features, b.vertex_features);
  EXPECT_EQ(a.edge_feature_source, b.edge_feature_source);
  EXPECT_EQ(a.event_class_source, b.event_class_source);
}

inline const Json full_bursty = {{"vertices", 300},       {"events", 20000},      {"labels", 0.1},
                                 {"edge_features", 5},    {"vertex_features", 3}, {"classes", 20},
                                 {"classes_per_event", 4}};

}  // namespace strobe::test
