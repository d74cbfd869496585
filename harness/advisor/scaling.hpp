// Explains why the best point of a plan does not get faster with more nodes, by the parts of its epoch at other node
// counts.
#pragma once

#include "harness/advisor/evaluate.hpp"

namespace strobe {

/// Seconds of one epoch, averaged over ranks; the parts add up to `epoch_seconds`, which all ranks share.
struct ScalingPoint {
  int nodes = 1;
  std::int64_t ranks = 1;
  std::string status = "ok", reason;  // like those of an outcome
  bool extrapolated = false;          // more nodes or ranks than the cluster's file and its sources describe
  double epoch_seconds = 0;
  double compute_seconds = 0;
  double launch_bound_seconds = 0;           // part of compute: operations no longer than a launch
  PerTraffic<double> communicate_seconds{};  // exposed waits of compute, by traffic
  double transfer_seconds = 0;               // exposed host-to-device copies
  double wait_seconds = 0;                   // for slower ranks, at collectives and at the end of the epoch
  double other_seconds = 0;
  double max_over_mean_busy = 1;  // imbalance
  double efficiency = 1;          // relative to the fewest ranks of the study that fit: (T0 P0) / (T P)
};

/// The node counts of a study, ascending, and one sentence on the limit of scaling beyond the best point.
struct ScalingStudy {
  std::vector<ScalingPoint> points;
  std::string summary;
};

/// Simulates `best` on a quarter, half, once, twice and four times its nodes (at least one). Its data may be in
/// `cache`.
ScalingStudy study_scaling(const PlanPoint& best, const DataCache& cache = {});

/// Why an epoch of `many` is no shorter in proportion to its ranks than one of `few`: both times, and the part that
/// scales least. Simulates both points. Their data may be in `cache`.
std::string step_between(const PlanPoint& few, const PlanPoint& many, const DataCache& cache = {});

}  // namespace strobe
