// A metric of the test samples, over seeds: its mean, and by how much a contender is worse than the best.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "results/row/row.hpp"

namespace strobe {

/// The value of a metric by seed.
using MetricOfSeeds = std::map<std::int64_t, double>;

/// Two-sided 95 % intervals of Student's t are `mean` and `worse` plus or minus their halves. NaN where unknown: the
/// halves with fewer than two seeds.
struct MetricLevel {
  MetricOfSeeds values;  // after the last epoch
  double mean = std::numeric_limits<double>::quiet_NaN(), half95 = mean;
  double worse = mean;         // than the best one, over the seeds that both have; above 0 for larger errors too
  double worse_half95 = mean;  // 0 of the best one
  bool best = false;
  bool same = false;  // as the best one up to a share of 1e-4, as strategies that compute the same are
};

/// The metric to compare by: that of `until` ("auc=0.8"), else that of --tune, else the usual one of those that all
/// rows have. "" when there is none, when rows have other data or tasks, or when no two seeds are there.
std::string metric_to_compare(const std::vector<const Row*>& rows, const std::string& until);

/// The level of a metric in the rows of one contender.
MetricLevel metric_level(const std::vector<const Row*>& rows, const std::string& metric);

/// Marks the one with the best mean, and fills in how much worse all others are. Returns whether one is not the same.
bool place_by_metric(const std::string& metric, const std::vector<MetricLevel*>& all);

/// "0.412 ± 0.01", or "0.412" without an interval; "-" without a value.
std::string metric_text(double value, double half95);

}  // namespace strobe
