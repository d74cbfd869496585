// Two run directories side by side: per case the ratio of median epoch times with its confidence interval, and a
// verdict. What cannot be compared is refused, never silently passed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "results/row.hpp"

namespace strobe {

struct CompareOptions {
  double threshold = 0.05;            // smallest relative change of the median that counts
  bool allow_different_host = false;  // compare wall times of different machines all the same
  int resamples = 2000;               // of the bootstrap
};

/// One case of either run. `ratio` is new median over base median; below 1 is faster. NaN where absent.
struct Comparison {
  std::string case_id;
  std::string verdict;  // FASTER | SLOWER | SAME | UNSURE | MISSING | NEW
  double base_seconds = std::numeric_limits<double>::quiet_NaN();
  double new_seconds = base_seconds;
  double ratio = base_seconds;
  double ci95_low = base_seconds, ci95_high = base_seconds;  // percentile bootstrap of the ratio of medians
  std::string note;                                          // why it is UNSURE, or what else differs
};

struct CompareReport {
  std::vector<Comparison> cases;                                           // in the order of base, then the new ones
  double geometric_mean_ratio = std::numeric_limits<double>::quiet_NaN();  // over cases with a ratio
  bool regression = false;  // a case is SLOWER, or MISSING, or no longer ends ok
};

/// Compares the runs in two folders (or their summary.json files). Verdicts:
///   FASTER / SLOWER  the interval excludes 1 and the ratio is further than `threshold` from 1
///   SAME             the interval lies within 1 +- threshold
///   UNSURE           anything else: too few epochs, too wide an interval, no samples
///   MISSING / NEW    the case is in the base run only / in the new run only
/// Virtual times are deterministic: their ratio is exact and needs no interval. Throws NotComparable when the machines'
/// host classes differ (wall times only, unless allowed), when no case is in both runs, or when a case of one id names
/// different workloads or models, or read files of other content by the digests of plan.json (where a plan has none, a
/// note says that this is not known); InvalidInput and SystemError like `read_summary`.
CompareReport compare_runs(const std::string& base, const std::string& changed, const CompareOptions& options = {});

/// The report as JSON, and as a text table that ends with the geometric mean.
Json compare_to_json(const CompareReport& report);
std::string compare_table(const CompareReport& report);

}  // namespace strobe
