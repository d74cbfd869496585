// Logarithmic bins with exact counts and sums. Adding a value costs O(1).
#include "workloads/storage/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/or_null.hpp"
#include "workloads/storage/strict_json.hpp"

namespace strobe {
namespace {

constexpr std::int64_t single_values = 16;   // values below have a bin each
constexpr std::int64_t bins_per_double = 4;  // above

std::size_t bin_of(std::int64_t value) {
  if (value < single_values) return static_cast<std::size_t>(value);
  const auto power = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;  // >= 4
  const std::int64_t quarter = (value >> (power - 2)) & 3;
  return static_cast<std::size_t>(single_values + (power - 4) * bins_per_double + quarter);
}

std::int64_t low_of(std::size_t bin) {
  const std::int64_t number = bin;
  if (number < single_values) return number;
  const std::int64_t power = 4 + (number - single_values) / bins_per_double;
  return (4 + (number - single_values) % bins_per_double) << (power - 2);
}

constexpr std::pair<const char*, double> quantile_names[] = {{"p25", 0.25}, {"median", 0.5}, {"p75", 0.75},
                                                             {"p90", 0.9},  {"p95", 0.95},   {"p99", 0.99}};

}  // namespace

std::int64_t nearest_rank(double share, std::int64_t count) {
  // A share such as 0.07 of 100 is 7, which its double exceeds by a rounding.
  const double exact = share * static_cast<double>(count), whole = std::round(exact);
  const double rank = std::abs(exact - whole) <= 1e-12 * exact ? whole : std::ceil(exact);
  return std::clamp(static_cast<std::int64_t>(rank), std::int64_t{1}, count);
}

std::int64_t Histogram::count() const {
  std::int64_t total = 0;
  for (const Bin& bin : bins) total += bin.count;
  return total;
}

std::int64_t Histogram::sum() const {
  std::int64_t total = 0;
  for (const Bin& bin : bins) total += bin.sum;
  return total;
}

double Histogram::mean() const {
  return bins.empty() ? std::numeric_limits<double>::quiet_NaN()
                      : static_cast<double>(sum()) / static_cast<double>(count());
}

double Histogram::variance() const {
  if (bins.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::max(0.0, sum_of_squares / static_cast<double>(count()) - mean() * mean());
}

double Histogram::quantile(double share) const {
  if (bins.empty()) return std::numeric_limits<double>::quiet_NaN();
  const std::int64_t rank = nearest_rank(share, count());
  if (rank == 1) return static_cast<double>(minimum);
  std::int64_t seen = 0;
  for (const Bin& bin : bins) {
    if (rank == count()) break;
    seen += bin.count;
    if (rank <= seen) return static_cast<double>(bin.sum) / static_cast<double>(bin.count);
  }
  return static_cast<double>(maximum);
}

void HistogramBuilder::add(std::int64_t value, std::int64_t times) {
  if (times == 0) return;
  const std::size_t number = bin_of(value);
  if (bins_.size() <= number) bins_.resize(number + 1);
  bins_[number].count += times;
  bins_[number].sum += value * times;
  minimum_ = minimum_ < 0 ? value : std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
  sum_of_squares_ += static_cast<double>(value) * static_cast<double>(value) * static_cast<double>(times);
}

Histogram HistogramBuilder::finish() const {
  Histogram result;
  result.minimum = std::max<std::int64_t>(0, minimum_);
  result.maximum = std::max<std::int64_t>(0, maximum_);
  result.sum_of_squares = sum_of_squares_;
  for (std::size_t i = 0; i < bins_.size(); ++i) {
    if (bins_[i].count > 0) result.bins.push_back({low_of(i), bins_[i].count, bins_[i].sum});
  }
  return result;
}

Json to_json(const Histogram& histogram) {
  Json json{{"count", histogram.count()}};
  const auto number = [&](const char* key, double value) { json[key] = or_null(value); };
  number("mean", histogram.mean());
  number("variance", histogram.variance());
  json["min"] = histogram.minimum;
  for (const auto& [name, share] : quantile_names) number(name, histogram.quantile(share));
  json["max"] = histogram.maximum;
  json["sum_of_squares"] = histogram.sum_of_squares;
  json["bins"] = Json::array();
  for (const Histogram::Bin& bin : histogram.bins) json["bins"].push_back({bin.low, bin.count, bin.sum});
  return json;
}

Histogram histogram_from_json(const Json& json, const std::string& where) {
  expect_keys(json, {"count", "min", "max", "sum_of_squares", "bins"},
              {"mean", "variance", "p25", "median", "p75", "p90", "p95", "p99"}, where);
  Histogram result;
  const Json& bins = list_at(json, "bins", where);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const std::string here = fmt::format("{}/bins/{}", where, i);
    if (!bins[i].is_array() || bins[i].size() != 3) throw InvalidRequest(here, "expected [low, count, sum]");
    const Histogram::Bin bin{whole_number(bins[i][0], here + "/0"), whole_number(bins[i][1], here + "/1", 1),
                             whole_number(bins[i][2], here + "/2")};
    const std::size_t number = bin_of(bin.low);
    if (low_of(number) != bin.low) throw InvalidRequest(here + "/0", fmt::format("no bin begins at {}", bin.low));
    if (i > 0 && bin.low <= result.bins.back().low) throw InvalidRequest(here + "/0", "bins must ascend");
    const auto count = static_cast<double>(bin.count), sum = static_cast<double>(bin.sum);
    if (sum < count * static_cast<double>(bin.low) || sum > count * static_cast<double>(low_of(number + 1) - 1))
      throw InvalidRequest(here + "/2", fmt::format("{} values of this bin cannot sum to {}", bin.count, bin.sum));
    result.bins.push_back(bin);
  }
  result.minimum = whole_at(json, "min", where);
  result.maximum = whole_at(json, "max", where, result.minimum);
  result.sum_of_squares = number_at(json, "sum_of_squares", where);
  if (whole_at(json, "count", where) != result.count())
    throw InvalidRequest(where + "/count", fmt::format("the bins hold {} values", result.count()));
  if (!result.bins.empty() && bin_of(result.minimum) != bin_of(result.bins.front().low))
    throw InvalidRequest(where + "/min", "it is not in the first bin");
  if (!result.bins.empty() && bin_of(result.maximum) != bin_of(result.bins.back().low))
    throw InvalidRequest(where + "/max", "it is not in the last bin");
  return result;
}

}  // namespace strobe
