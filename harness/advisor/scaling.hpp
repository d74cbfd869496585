// Why the best point of a plan does not get faster with more nodes: where its epoch goes at the node counts around it.
#pragma once

#include "harness/advisor/evaluate.hpp"

namespace strobe {

/// Seconds of one epoch, averaged over ranks; the parts add up to `epoch_seconds`, which all ranks share.
struct ScalingPoint {
  int nodes = 1;
  std::int64_t ranks = 1;
  std::string status = "ok", reason;  // as of an outcome
  bool extrapolated = false;          // more nodes or ranks than the cluster's file and its sources tell of
  double epoch_seconds = 0;
  double compute_seconds = 0;
  double launch_bound_seconds = 0;  // part of compute: operations that last no longer than a launch
  std::array<double, traffic_count> communicate_seconds{};  // exposed: what compute had to wait for, by traffic
  double transfer_seconds = 0;                              // exposed host-to-device copies
  double wait_seconds = 0;  // for slower ranks, at collectives and at the end of the epoch
  double other_seconds = 0;
  double max_over_mean_busy = 1;  // imbalance
  double efficiency = 1;          // against the fewest ranks of the study that fit: (T0 P0) / (T P)
};

/// The node counts of a study, ascending, and what limits scaling from the best point on, in one sentence.
struct ScalingStudy {
  std::vector<ScalingPoint> points;
  std::string summary;
};

/// Simulates `best`, whose data may be in `cache`, on a quarter, half, once, twice and four times its nodes (at least
/// one).
ScalingStudy study_scaling(const PlanPoint& best, const DataCache& cache = {});

}  // namespace strobe
