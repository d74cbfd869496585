// Splits by binary search in the sorted times. Invariant: a cut lies between two different times, or at an end.
// Cost: O(log E).
#include "workloads/continuous/time_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "workloads/continuous/time_csr.hpp"

namespace strobe {
namespace {

/// The quantile of the times, interpolated with NumPy's arithmetic (method "linear"). The same rounding puts an event
/// at a border on the same side as numpy.quantile does.
double time_quantile(const EventGraph& events, double share) {
  const double place = share * static_cast<double>(events.events() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double low = events.time[below];
  const double high = events.time[std::min(below + 1, static_cast<std::size_t>(events.events() - 1))];
  const double part = place - static_cast<double>(below), step = high - low;
  return part < 0.5 ? low + step * part : high - step * (1 - part);
}

/// The first event later than the quantile.
EdgeId cut_behind(const EventGraph& events, double share) {
  if (share <= 0 || events.events() == 0) return 0;
  return std::upper_bound(events.time.begin(), events.time.end(), time_quantile(events, std::min(share, 1.0))) -
         events.time.begin();
}

/// 0.7 + 0.1 is a rounding below 0.8, whose quantile was meant.
double sum_of_shares(double train, double validation) {
  return validation == 0 ? train : std::stod(fmt::format("{:.15g}", train + validation));
}

void check_part(EdgeId events, double share, const char* part) {
  if (events == 0 && share > 0)
    throw InvalidRequest("split", fmt::format("the {} part would have no events; its share is {}", part, share));
}

}  // namespace

TimeSplit split_by_shares(const EventGraph& events, double train, double validation) {
  constexpr double rounding = 1e-9;
  if (!(train >= 0) || !(validation >= 0) || train + validation > 1 + rounding)
    throw InvalidRequest(
        "split", fmt::format("the shares {} and {} must be positive and at most 1 together", train, validation));
  const TimeSplit split{cut_behind(events, train), cut_behind(events, sum_of_shares(train, validation))};
  check_part(split.train_end, train, "training");
  check_part(split.validation_end - split.train_end, validation, "validation");
  const double test = 1 - train - validation;
  check_part(events.events() - split.validation_end, test > rounding ? test : 0, "test");
  return split;
}

TimeSplit split_by_times(const EventGraph& events, double validation_begin, double test_begin) {
  if (!(validation_begin <= test_begin))
    throw InvalidRequest("split", fmt::format("validation begins at {}, test at {}; they must be numbers in this order",
                                              validation_begin, test_begin));
  return {events_before(events, validation_begin), events_before(events, test_begin)};
}

}  // namespace strobe
