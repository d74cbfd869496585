// Distributions of counts (degrees, sequence lengths) in a form that a file can hold and sums can be computed from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fields.hpp"

namespace strobe {

/// Rank, from 1, of the smallest of `count` sorted values that at least this share of them does not exceed:
/// ceil(share count), at least 1. `count` > 0. NumPy calls it inverted_cdf.
std::int64_t nearest_rank(double share, std::int64_t count);

/// A distribution of whole numbers >= 0. Values below 16 have a bin each; above, four bins per doubling. A bin keeps
/// the number of its values and their sum. So totals and means are exact, and a concave function of the values is known
/// to a fraction of a percent.
struct Histogram {
  struct Bin {
    std::int64_t low = 0;  // smallest value the bin may hold
    std::int64_t count = 0;
    std::int64_t sum = 0;
    friend bool operator==(const Bin&, const Bin&) = default;
  };
  std::vector<Bin> bins;  // by `low`, without empty ones
  std::int64_t minimum = 0, maximum = 0;
  double sum_of_squares = 0;

  std::int64_t count() const;
  std::int64_t sum() const;
  double mean() const;
  double variance() const;
  /// The mean of the bin in which the value of rank `nearest_rank(share, count)` lies; exact below 16, for the smallest
  /// and for the largest value. `share` within [0, 1]; NaN when empty.
  double quantile(double share) const;
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

/// Counts values one by one.
class HistogramBuilder {
 public:
  void add(std::int64_t value, std::int64_t times = 1);
  Histogram finish() const;

 private:
  std::vector<Histogram::Bin> bins_;  // dense, by bin number
  std::int64_t minimum_ = -1, maximum_ = -1;
  double sum_of_squares_ = 0;
};

/// {"count", "mean", "variance", "min", "p25", "median", "p75", "p90", "p95", "p99", "max", "sum_of_squares",
/// "bins": [[low, count, sum], ...]}.
Json to_json(const Histogram& histogram);

/// Reads what `to_json` writes; InvalidRequest(where + pointer) when bins are unordered, sums impossible, or the
/// summary disagrees with the bins.
Histogram histogram_from_json(const Json& json, const std::string& where);

}  // namespace strobe
